#include "conformance/mutants/plain.h"

#include <stdlib.h>
#include <string.h>

/* ---- chance ------------------------------------------------------------------------------------------------------ */

void spec_plain_reseed(spec_plain *s, uint64_t seed, uint64_t offset)
{
    s->chance = spec_rng_stream_state(seed, offset);
}

double spec_plain_fresh(spec_plain *s)
{
    if (s->step != NULL && s->n_coins < s->step->n_coins) return (double)s->step->coin[s->n_coins++];
    return spec_rng_next_double(&s->chance);
}

double spec_plain_uniform(spec_plain *s, spec_plain_use use)
{
    s->use = use;
    return s->hook->uniform != NULL ? s->hook->uniform(s, use) : spec_plain_fresh(s);
}

int spec_plain_pick(spec_plain *s, const double *weight, spec_plain_use use)
{
    double sum = 0.0, below = 0.0;
    int last = 0;
    for (int i = 0; i < s->vocab; i++) sum += weight[i];
    const double u = spec_plain_uniform(s, use) * sum;
    for (int i = 0; i < s->vocab; i++) {
        if (!(weight[i] > 0.0)) continue;
        last = i;
        below += weight[i];
        if (u < below) break;
    }
    return last;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

int spec_plain_argmax(const double *row, int vocab)
{
    int best = 0;
    for (int i = 1; i < vocab; i++)
        if (row[i] > row[best]) best = i;
    return best;
}

bool spec_plain_normalise(double *row, int vocab)
{
    double sum = 0.0;
    for (int i = 0; i < vocab; i++) sum += row[i];
    if (!(sum > 0.0)) return false;
    for (int i = 0; i < vocab; i++) row[i] /= sum;
    return true;
}

const float *spec_plain_given(spec_plain *s, int side, int place)
{
    if (s->step == NULL)
        return (side == SPEC_PLAIN_TARGET ? s->models->target : s->models->draft)(s->models->self, s->text,
                                                                                  s->n_text + place);
    return (side == SPEC_PLAIN_TARGET ? s->step->target : s->step->draft) + (size_t)place * (size_t)s->vocab;
}

void spec_plain_load(spec_plain *s, int side, int place, double *row)
{
    const float *given =
        s->hook->given != NULL ? s->hook->given(s, side, place) : spec_plain_given(s, side, place);
    spec_transform transform = {.temperature = (double)s->sampling.temperature, .top_k = s->sampling.top_k,
                                .top_p = (double)s->sampling.top_p, .min_p = (double)s->sampling.min_p};
    s->failed = s->failed || given == NULL;
    for (int i = 0; i < s->vocab; i++) row[i] = given != NULL ? (double)given[i] : 1.0;
    if (s->hook->parameters != NULL) s->hook->parameters(s, side, place, &transform);
    if (!spec_transform_is_none(&transform)) spec_transform_apply(row, s->vocab, &transform, s->order);
    if (s->hook->shape != NULL) s->hook->shape(s, side, place, row);
}

/* ---- a round ----------------------------------------------------------------------------------------------------- */

bool spec_plain_accept(spec_plain *s, int child)
{
    const int token = s->token[child];
    const double chance = s->target[token], of = s->drawn == SPEC_DRAWN_FIXED ? 1.0 : s->draft[token];
    return spec_plain_uniform(s, SPEC_PLAIN_ACCEPTS) * of < chance;
}

/* What elder siblings left of the draft's row; where they left nothing, any other token alike. */
static void take_out(spec_plain *s, int child)
{
    s->draft[s->token[child]] = 0.0;
    if (spec_plain_normalise(s->draft, s->vocab)) return;
    for (int i = 0; i < s->vocab; i++) s->draft[i] = 1.0;
    for (int i = 0; i <= child; i++)
        if (s->parent[i] == s->parent[child]) s->draft[s->token[i]] = 0.0;
    (void)spec_plain_normalise(s->draft, s->vocab);
}

void spec_plain_residual(spec_plain *s, int child)
{
    double sum = 0.0;
    if (s->drawn == SPEC_DRAWN_FIXED) {
        s->target[s->token[child]] = 0.0;
        (void)spec_plain_normalise(s->target, s->vocab);
        return;
    }
    for (int i = 0; i < s->vocab; i++) sum += s->target[i] > s->draft[i] ? s->target[i] - s->draft[i] : 0.0;
    for (int i = 0; i < s->vocab && sum > 0.0; i++)
        s->target[i] = s->target[i] > s->draft[i] ? (s->target[i] - s->draft[i]) / sum : 0.0;
    if (s->drawn == SPEC_DRAWN_WITHOUT) take_out(s, child);
}

int spec_plain_children(const spec_plain *s, int place, int *ret_child)
{
    int n = 0;
    for (int i = place; i < s->n_nodes; i++)
        if (s->parent[i] == place - 1) ret_child[n++] = i;
    return n;
}

void spec_plain_emit(spec_plain *s, int token)
{
    s->emitted[s->n_emitted++] = token;
}

void spec_plain_walk(spec_plain *s)
{
    const spec_plain_hooks *hook = s->hook;
    int child[SPEC_FIXTURE_NODES_MAX], accepted = -1;
    for (s->place = 0;; s->place = accepted + 1) {
        const int n = spec_plain_children(s, s->place, child);
        accepted = -1;
        spec_plain_load(s, SPEC_PLAIN_TARGET, s->place, s->target);
        if (n > 0 && s->drawn != SPEC_DRAWN_FIXED) spec_plain_load(s, SPEC_PLAIN_DRAFT, s->place, s->draft);
        if (hook->order != NULL) hook->order(s, child, n);
        for (int i = 0; i < n && accepted < 0; i++) {
            if (hook->accept != NULL ? hook->accept(s, child[i]) : spec_plain_accept(s, child[i])) accepted = child[i];
            else if (hook->residual != NULL) hook->residual(s, child[i]);
            else spec_plain_residual(s, child[i]);
        }
        if (accepted >= 0) {
            spec_plain_emit(s, s->token[accepted]);
            continue;
        }
        int (*const last)(spec_plain *) = n > 0 ? hook->correct : hook->bonus;
        const spec_plain_use use = n > 0 ? SPEC_PLAIN_CORRECTS : SPEC_PLAIN_CLOSES;
        spec_plain_emit(s, last != NULL ? last(s) : spec_plain_pick(s, s->target, use));
        return;
    }
}

/* A chain of n tokens; in scope S they stand behind the text, as the next ones' context. */
static void draw_draft(spec_plain *s, int n)
{
    for (s->n_nodes = 0; s->n_nodes < n; s->n_nodes++) {
        const int k = s->n_nodes;
        s->place = k;
        spec_plain_load(s, SPEC_PLAIN_DRAFT, k, s->draft);
        s->token[k] = s->hook->draw != NULL ? s->hook->draw(s, s->draft)
                                            : spec_plain_pick(s, s->draft, SPEC_PLAIN_DRAFTS);
        s->parent[k] = k - 1;
        if (s->text != NULL) s->text[s->n_text + k] = s->token[k];
    }
}

static void verify(spec_plain *s)
{
    s->n_emitted = 0;
    if (s->hook->round != NULL) s->hook->round(s);
    else spec_plain_walk(s);
}

/* ---- what is called ---------------------------------------------------------------------------------------------- */

int spec_plain_open(void **ret_self, const spec_plain_hooks *hooks)
{
    spec_plain *s = calloc(1, sizeof *s);
    *ret_self = s;
    if (s == NULL) return GSL_ENOMEM;
    s->hook = hooks;
    return GSL_SUCCESS;
}

static void forget_rows(spec_plain *s)
{
    free(s->target);
    free(s->draft);
    free(s->spare);
    free(s->order);
    s->target = s->draft = s->spare = NULL;
    s->order = NULL;
    s->vocab = 0;
}

void spec_plain_close(void *self)
{
    spec_plain *s = self;
    if (s == NULL) return;
    forget_rows(s);
    free(s);
}

static int fit_rows(spec_plain *s, int vocab)
{
    const size_t V = (size_t)vocab;
    if (s->vocab == vocab) return GSL_SUCCESS;
    forget_rows(s);
    s->target = malloc(V * sizeof *s->target);
    s->draft = malloc(V * sizeof *s->draft);
    s->spare = malloc(V * sizeof *s->spare);
    s->order = malloc(V * sizeof *s->order);
    if (s->target == NULL || s->draft == NULL || s->spare == NULL || s->order == NULL) {
        forget_rows(s);
        return GSL_ENOMEM;
    }
    s->vocab = vocab;
    return GSL_SUCCESS;
}

static void take_draft(spec_plain *s, const spec_step *step)
{
    s->drawn = step->draft == NULL ? SPEC_DRAWN_FIXED : step->drawn;
    s->n_nodes = 0;
    for (int i = 0; i < step->n_nodes && step->token[i] >= 0; i++, s->n_nodes++) {
        s->token[i] = step->token[i];
        s->parent[i] = step->parent != NULL ? step->parent[i] : i - 1;
    }
}

static void run_step(spec_plain *s, spec_step *step)
{
    s->step = step;
    s->n_coins = 0;
    s->sampling = step->sampling;
    spec_plain_reseed(s, step->seed, step->offset);
    if (step->token != NULL) take_draft(s, step);
    else {
        s->drawn = SPEC_DRAWN_IID;
        draw_draft(s, step->n_nodes);
        memcpy(step->ret_draft, s->token, (size_t)s->n_nodes * sizeof *s->token);
    }
    verify(s);
    memcpy(step->ret_token, s->emitted, (size_t)s->n_emitted * sizeof *s->emitted);
    *step->ret_n_emitted = s->n_emitted;
    *step->ret_n_accepted = s->n_emitted - 1;
    if (s->hook->answer != NULL) s->hook->answer(s, step);
}

static void begin_call(spec_plain *s)
{
    memset(s->number, 0, sizeof s->number);
    memset(s->memory, 0, sizeof s->memory);
    s->failed = false;
}

int spec_plain_step(void *self, spec_step *steps, int32_t n_steps)
{
    spec_plain *s = self;
    s->steps = steps;
    s->text = NULL;
    begin_call(s);
    for (s->at = 0; s->at < n_steps; s->at++) {
        const int status = fit_rows(s, steps[s->at].vocab);
        if (status != GSL_SUCCESS || steps[s->at].n_nodes > SPEC_FIXTURE_NODES_MAX) return GSL_EFAILED;
        run_step(s, &steps[s->at]);
    }
    return GSL_SUCCESS;
}

int spec_plain_generate(void *self, const spec_models *models, const int32_t *context, int64_t n_context, int32_t K,
                        spec_sampling sampling, uint64_t seed, int32_t *ret_token, int64_t n_tokens)
{
    spec_plain *s = self;
    if (K > SPEC_FIXTURE_NODES_MAX || fit_rows(s, models->vocab) != GSL_SUCCESS) return GSL_EFAILED;
    s->text = malloc((size_t)(n_context + n_tokens + K + 1) * sizeof *s->text);
    if (s->text == NULL) return GSL_ENOMEM;
    if (n_context > 0) memcpy(s->text, context, (size_t)n_context * sizeof *s->text);
    s->steps = s->step = NULL;
    s->models = models;
    s->sampling = sampling;
    s->drawn = SPEC_DRAWN_IID;
    s->n_text = n_context;
    begin_call(s);
    spec_plain_reseed(s, seed, 0);
    while (s->n_text < n_context + n_tokens && !s->failed) {
        draw_draft(s, K);
        verify(s);
        if (s->hook->ended != NULL) s->hook->ended(s);
        memcpy(s->text + s->n_text, s->emitted, (size_t)s->n_emitted * sizeof *s->text);
        s->n_text += s->n_emitted;
    }
    if (!s->failed) memcpy(ret_token, s->text + n_context, (size_t)n_tokens * sizeof *ret_token);
    free(s->text);
    s->text = NULL;
    return s->failed ? GSL_EFAILED : GSL_SUCCESS;
}
