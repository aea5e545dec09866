/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/mutants/reference_sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- chance ---------------------------------------------------------------------------------- */

void spec_reference_sampler_reseed(spec_reference_sampler *s, uint64_t seed, uint64_t offset)
{
    s->chance = spec_rng_stream_state(seed, offset);
}

double spec_reference_sampler_fresh(spec_reference_sampler *s)
{
    if (s->step != NULL && s->n_coins < s->step->n_coins)
        return (double)s->step->coin[s->n_coins++];
    return spec_rng_next_double(&s->chance);
}

double spec_reference_sampler_uniform(spec_reference_sampler *s, spec_reference_sampler_use use)
{
    s->use = use;
    return s->hook->uniform != NULL ? s->hook->uniform(s, use) : spec_reference_sampler_fresh(s);
}

int spec_reference_sampler_pick(spec_reference_sampler *s, const double *weight,
                                spec_reference_sampler_use use)
{
    return s->hook->pick != NULL ? s->hook->pick(s, weight, use)
                                 : spec_reference_sampler_scan(s, weight, use);
}

int spec_reference_sampler_scan(spec_reference_sampler *s, const double *weight,
                                spec_reference_sampler_use use)
{
    double sum = 0.0, below = 0.0;
    int last = s->vocab - 1;
    for (int i = 0; i < s->vocab; i++) sum += weight[i];
    const double u = spec_reference_sampler_uniform(s, use) * sum;
    for (int i = 0; i < s->vocab; i++) {
        below += weight[i] > 0.0 ? weight[i] : 0.0;
        if (u < below) return i;
    }
    while (last > 0 && !(weight[last] > 0.0)) last--;
    return last;
}

/* ---- rows ------------------------------------------------------------------------------------ */

int spec_reference_sampler_argmax(const double *row, int vocab)
{
    int best = 0;
    for (int i = 1; i < vocab; i++)
        if (row[i] > row[best]) best = i;
    return best;
}

bool spec_reference_sampler_normalise(double *row, int vocab)
{
    double sum = 0.0;
    for (int i = 0; i < vocab; i++) sum += row[i];
    if (!(sum > 0.0)) return false;
    for (int i = 0; i < vocab; i++) row[i] /= sum;
    return true;
}

const float *spec_reference_sampler_given(spec_reference_sampler *s, int side, int place)
{
    if (s->step == NULL)
        return (side == SPEC_REFERENCE_TARGET ? s->models->target : s->models->draft)(
            s->models->self, s->text, s->n_text + place);
    return (side == SPEC_REFERENCE_TARGET ? s->step->target : s->step->draft) +
           (size_t)place * (size_t)s->vocab;
}

/* Turns logits into probabilities. */
static void exponentiate(double *row, int vocab)
{
    double most = -INFINITY;
    for (int i = 0; i < vocab; i++) most = fmax(most, row[i]);
    for (int i = 0; i < vocab; i++) row[i] = exp(row[i] - most);
    (void)spec_reference_sampler_normalise(row, vocab);
}

void spec_reference_sampler_load(spec_reference_sampler *s, int side, int place, double *row)
{
    const float *given = s->hook->given != NULL ? s->hook->given(s, side, place)
                                                : spec_reference_sampler_given(s, side, place);
    spec_transform transform = spec_fixture_parameters(&s->sampling);
    s->failed = s->failed || given == NULL;
    for (int i = 0; i < s->vocab; i++) row[i] = given != NULL ? (double)given[i] : 1.0;
    if (s->hook->logits && given != NULL) exponentiate(row, s->vocab);
    if (s->hook->raw != NULL) s->hook->raw(s, side, place, row);
    if (s->hook->parameters != NULL) s->hook->parameters(s, side, place, &transform);
    spec_filter_order_apply(&s->filters, row, s->vocab, &transform, s->order);
    if (s->hook->shape != NULL) s->hook->shape(s, side, place, row);
}

/* ---- a round --------------------------------------------------------------------------------- */

bool spec_reference_sampler_accept(spec_reference_sampler *s, int child)
{
    const int token = s->token[child];
    const double chance = s->target[token],
                 of = s->drawn == SPEC_DRAWN_FIXED ? 1.0 : s->draft[token];
    return spec_reference_sampler_uniform(s, SPEC_REFERENCE_ACCEPTS) * of < chance;
}

/* Removes the tokens of earlier siblings from the draft's row; if no mass is left, all other tokens
 * are equally probable. */
static void take_out(spec_reference_sampler *s, int child)
{
    s->draft[s->token[child]] = 0.0;
    if (spec_reference_sampler_normalise(s->draft, s->vocab)) return;
    for (int i = 0; i < s->vocab; i++) s->draft[i] = 1.0;
    for (int i = 0; i <= child; i++)
        if (s->parent[i] == s->parent[child]) s->draft[s->token[i]] = 0.0;
    (void)spec_reference_sampler_normalise(s->draft, s->vocab);
}

static double above(double target, double draft)
{
    const double more = target - draft;
    return more > 0.0 ? more : 0.0;
}

void spec_reference_sampler_residual(spec_reference_sampler *s, int child)
{
    double sum = 0.0;
    if (s->drawn == SPEC_DRAWN_FIXED) {
        s->target[s->token[child]] = 0.0;
        (void)spec_reference_sampler_normalise(s->target, s->vocab);
        return;
    }
    for (int i = 0; i < s->vocab; i++) sum += above(s->target[i], s->draft[i]);
    for (int i = 0; sum > 0.0 && i < s->vocab; i++)
        s->target[i] = above(s->target[i], s->draft[i]) / sum;
    if (s->drawn == SPEC_DRAWN_WITHOUT) take_out(s, child);
}

int spec_reference_sampler_children(const spec_reference_sampler *s, int place, int *ret_child)
{
    int n = 0;
    for (int i = place; i < s->n_nodes; i++)
        if (s->parent[i] == place - 1) ret_child[n++] = i;
    return n;
}

void spec_reference_sampler_emit(spec_reference_sampler *s, int token)
{
    s->emitted[s->n_emitted++] = token;
}

void spec_reference_sampler_walk(spec_reference_sampler *s)
{
    const spec_reference_sampler_hooks *hook = s->hook;
    int child[SPEC_FIXTURE_NODES_MAX], accepted = -1;
    for (s->place = 0;; s->place = accepted + 1) {
        const int n = spec_reference_sampler_children(s, s->place, child);
        accepted = -1;
        spec_reference_sampler_load(s, SPEC_REFERENCE_TARGET, s->place, s->target);
        if (n > 0 && s->drawn != SPEC_DRAWN_FIXED)
            spec_reference_sampler_load(s, SPEC_REFERENCE_DRAFT, s->place, s->draft);
        if (hook->order != NULL) hook->order(s, child, n);
        for (int i = 0; i < n && accepted < 0; i++) {
            if (hook->accept != NULL ? hook->accept(s, child[i])
                                     : spec_reference_sampler_accept(s, child[i]))
                accepted = child[i];
            else if (hook->residual != NULL) hook->residual(s, child[i]);
            else spec_reference_sampler_residual(s, child[i]);
        }
        if (accepted >= 0) {
            spec_reference_sampler_emit(s, s->token[accepted]);
            continue;
        }
        int (*const last)(spec_reference_sampler *) = n > 0 ? hook->correct : hook->bonus;
        const spec_reference_sampler_use use =
            n > 0 ? SPEC_REFERENCE_CORRECTS : SPEC_REFERENCE_CLOSES;
        spec_reference_sampler_emit(
            s, last != NULL ? last(s) : spec_reference_sampler_pick(s, s->target, use));
        return;
    }
}

/* Drafts a chain of n tokens; in scope S, appends them to the text as context for the next ones. */
static void draw_draft(spec_reference_sampler *s, int n)
{
    for (s->n_nodes = 0; s->n_nodes < n; s->n_nodes++) {
        const int k = s->n_nodes;
        s->place = k;
        spec_reference_sampler_load(s, SPEC_REFERENCE_DRAFT, k, s->draft);
        s->token[k] = s->hook->draw != NULL
                          ? s->hook->draw(s, s->draft)
                          : spec_reference_sampler_pick(s, s->draft, SPEC_REFERENCE_DRAFTS);
        s->parent[k] = k - 1;
        if (s->text != NULL) s->text[s->n_text + k] = s->token[k];
    }
}

static void verify(spec_reference_sampler *s)
{
    s->n_emitted = 0;
    if (s->hook->round != NULL) s->hook->round(s);
    else spec_reference_sampler_walk(s);
}

/* ---- what is called -------------------------------------------------------------------------- */

int spec_reference_sampler_open(void **ret_self, const spec_reference_sampler_hooks *hooks)
{
    spec_reference_sampler *s = calloc(1, sizeof *s);
    *ret_self = s;
    if (s == NULL) return GSL_ENOMEM;
    s->hook = hooks;
    return spec_filter_order_parse(&s->filters, hooks->filters != NULL ? hooks->filters : "", NULL);
}

void spec_reference_sampler_promise(void *self, const spec_filter_order *order)
{
    spec_reference_sampler *s = self;
    if (s->hook->filters == NULL) s->filters = *order;
}

static void forget_rows(spec_reference_sampler *s)
{
    free(s->target);
    free(s->draft);
    free(s->spare);
    free(s->order);
    s->target = s->draft = s->spare = NULL;
    s->order = NULL;
    s->vocab = 0;
}

void spec_reference_sampler_close(void *self)
{
    spec_reference_sampler *s = self;
    if (s == NULL) return;
    forget_rows(s);
    free(s);
}

static int fit_rows(spec_reference_sampler *s, int vocab)
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

static void take_draft(spec_reference_sampler *s, const spec_step *step)
{
    s->drawn = step->draft == NULL ? SPEC_DRAWN_FIXED : step->drawn;
    s->n_nodes = 0;
    for (int i = 0; i < step->n_nodes && step->token[i] >= 0; i++, s->n_nodes++) {
        s->token[i] = step->token[i];
        s->parent[i] = step->parent != NULL ? step->parent[i] : i - 1;
    }
}

static void begin_numbers(spec_reference_sampler *s, uint64_t seed, uint64_t offset)
{
    spec_reference_sampler_reseed(s, s->hook->seed != NULL ? s->hook->seed(s, seed) : seed, offset);
}

static void run_step(spec_reference_sampler *s, spec_step *step)
{
    s->step = step;
    s->n_coins = 0;
    s->sampling = step->sampling;
    s->length = step->n_nodes;
    s->applies = s->hook->applies != NULL && s->hook->applies(s);
    begin_numbers(s, step->seed, step->offset);
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

static void begin_call(spec_reference_sampler *s)
{
    memset(s->number, 0, sizeof s->number);
    memset(s->memory, 0, sizeof s->memory);
    memset(s->coin, 0, sizeof s->coin);
    s->failed = false;
}

int spec_reference_sampler_step(void *self, spec_step *steps, int32_t n_steps)
{
    spec_reference_sampler *s = self;
    s->steps = steps;
    s->n_steps = n_steps;
    s->text = NULL;
    begin_call(s);
    for (s->at = 0; s->at < n_steps; s->at++) {
        const int status = fit_rows(s, steps[s->at].vocab);
        if (status != GSL_SUCCESS || steps[s->at].n_nodes > SPEC_FIXTURE_NODES_MAX)
            return GSL_EFAILED;
        run_step(s, &steps[s->at]);
    }
    return GSL_SUCCESS;
}

int spec_reference_sampler_generate(void *self, const spec_models *models, const int32_t *context,
                                    int64_t n_context, int32_t K, spec_sampling sampling,
                                    uint64_t seed, int32_t *ret_token, int64_t n_tokens)
{
    spec_reference_sampler *s = self;
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
    s->missing = n_tokens;
    s->length = K;
    s->applies = s->hook->applies != NULL && s->hook->applies(s);
    begin_numbers(s, seed, 0);
    while (s->n_text < n_context + n_tokens && !s->failed) {
        s->missing = n_context + n_tokens - s->n_text;
        s->applies = s->hook->applies != NULL && s->hook->applies(s);
        draw_draft(s, s->hook->length != NULL ? s->hook->length(s, K) : K);
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
