#include "experiments/pair_theory.h"

#include "analysis/capped_geometric.h"
#include "analysis/modulated.h"
#include "analysis/stationary.h"
#include "experiments/measures.h"
#include "models/row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The overlap that a perturb draft was built to have; NaN for other drafts. A draft that is transformed afterwards is
 * another kind. */
static double prescribed_overlap(const spec_model *draft)
{
    double alpha = NAN;
    spec_settings settings = {0};
    if (strcmp(draft->kind->name, "perturb") != 0 || spec_settings_init(&settings, draft->spec, NULL) != GSL_SUCCESS)
        return NAN;
    const char *text = spec_settings_text(&settings, "alpha");
    if (text == NULL || !spec_settings_parse_double(&alpha, text)) alpha = NAN;
    spec_settings_free(&settings);
    return alpha;
}

/* The order of a pair and how many contexts it has; false where these are no finite chain that is solved. A text that
 * ends begins anew, which the chain over contexts does not know. */
static bool contexts_of(int *ret_order, int *ret_size, const spec_model *target, const spec_model *draft)
{
    const int order = target->order > draft->order ? target->order : draft->order;
    *ret_order = order;
    *ret_size = 1;
    if (target->order < 0 || draft->order < 0 || (target->end_of_text >= 0 && order > 0)) return false;
    for (int i = 0; i < order; i++) {
        if (*ret_size > SPEC_PAIR_CONTEXTS_MAX / target->vocab) return false;
        *ret_size *= target->vocab;
    }
    return true;
}

/* The tokens of a context, whose last is its least significant digit. */
static void fill_tokens(int *token, int context, int order, int vocab)
{
    for (int i = order - 1; i >= 0; i--, context /= vocab) token[i] = context % vocab;
}

/* ---- by formula: token and match on chains ----------------------------------------------------------------------- */

typedef struct {
    const spec_decoder_config *config;
    spec_session target, draft;
    int order, size;
    double *target_row, *draft_row;  /* (V) */
    double *accept, *reject, *bonus; /* (size, size) */
} pair;

static void pair_free(pair *p)
{
    spec_session_free(&p->target);
    spec_session_free(&p->draft);
    free(p->target_row);
    free(p->draft_row);
    free(p->accept);
    free(p->reject);
    free(p->bonus);
}

static int pair_init(pair *p, const spec_decoder_config *config, int order, int size, spec_error *error)
{
    const size_t row = (size_t)config->target->vocab * sizeof(double), n = (size_t)size * (size_t)size;
    int status = GSL_SUCCESS;
    *p = (pair){.config = config, .order = order, .size = size};
    p->target_row = malloc(row);
    p->draft_row = malloc(row);
    p->accept = calloc(n, sizeof *p->accept);
    p->reject = calloc(n, sizeof *p->reject);
    p->bonus = calloc(n, sizeof *p->bonus);
    if (p->target_row == NULL || p->draft_row == NULL || p->accept == NULL || p->reject == NULL || p->bonus == NULL)
        return spec_fail(error, GSL_ENOMEM, "out of memory");
    SPEC_TRY(spec_session_init(&p->target, config->target, error));
    SPEC_TRY(spec_session_init(&p->draft, config->opt_draft, error));
done:
    return status;
}

/* Fill the row of context `from`. Read off the rules' definitions, not their code. */
static int fill_context(pair *p, int from, spec_error *error)
{
    const int vocab = p->config->target->vocab;
    int context[SPEC_ORDER_MAX];
    fill_tokens(context, from, p->order, vocab);
    const double *target = spec_session_row(&p->target, context, (size_t)p->order, p->target_row, error);
    if (target == NULL) return GSL_EFAILED;
    const double *draft = spec_session_row(&p->draft, context, (size_t)p->order, p->draft_row, error);
    if (draft == NULL) return GSL_EFAILED;
    const bool match = strcmp(p->config->rule, "match") == 0, greedy = strcmp(p->config->drafting, "greedy") == 0;
    const int favourite = spec_row_argmax(draft, vocab);
    for (int x = 0; x < vocab; x++) {
        const double law = !greedy ? draft[x] : x == favourite ? 1.0 : 0.0; /* of the draft token */
        const double taken = match ? target[x] * law : fmin(target[x], law);
        const size_t to = (size_t)from * (size_t)p->size + (size_t)((from * vocab + x) % p->size);
        p->accept[to] += taken;
        p->reject[to] += match ? target[x] - taken : fmax(target[x] - law, 0.0);
        p->bonus[to] += target[x];
    }
    return GSL_SUCCESS;
}

static int solve_chain(double *ret_mean, const spec_decoder_config *config, int order, int size, spec_error *error)
{
    pair p = {0};
    double variance;
    int status = GSL_SUCCESS;
    SPEC_TRY(pair_init(&p, config, order, size, error));
    for (int s = 0; s < size; s++) SPEC_TRY(fill_context(&p, s, error));
    /* GSL_ESING: texts may settle in one of several sets of contexts, and there is no one mean. */
    if (spec_pair_chain(ret_mean, &variance, NULL, p.accept, p.reject, p.bonus, size, config->K) != GSL_SUCCESS)
        *ret_mean = NAN;
done:
    pair_free(&p);
    return status;
}

/* ---- by enumeration: any rule and draft that keep nothing from round to round ------------------------------------ */

/* Walk one round from context `from`: the law of the context after it (size), and the mean of n_emitted. GSL_EMAXITER
 * where the walk's limit does not suffice; of it `limit` is what is left. */
static int walk_round(double *ret_next, double *ret_emitted, spec_decoder *decoder, int from, int order,
                      uint64_t *limit, spec_error *error)
{
    const int vocab = decoder->config.target->vocab;
    int prompt[SPEC_ORDER_MAX];
    spec_enumeration walk = {0};
    int status = GSL_SUCCESS;
    fill_tokens(prompt, from, order, vocab);
    *ret_emitted = 0.0;
    SPEC_TRY(spec_enumeration_init(&walk, *limit));
    do {
        int to = 0;
        SPEC_TRY(spec_decoder_reset(decoder, prompt, (size_t)order, error));
        SPEC_TRY(spec_decoder_round(decoder, &walk.chance, NULL, error));
        const double probability = spec_enumeration_probability(&walk);
        for (int i = order; i > 0; i--) to = to * vocab + decoder->context[decoder->n_context - (size_t)i];
        ret_next[to] += probability;
        *ret_emitted += probability * decoder->round.n_emitted;
    } while (spec_enumeration_next(&walk));
    if (walk.refused || walk.branches >= *limit) status = GSL_EMAXITER;
    else *limit -= walk.branches;
done:
    spec_enumeration_free(&walk);
    return status;
}

static bool keeps_nothing(const spec_decoder *decoder)
{
    return decoder->rule.reset == NULL && decoder->rule.noise.kind == SPEC_NOISE_NONE &&
           decoder->policy.kind->observe == NULL && decoder->drafter.kind->needs_model;
}

int spec_pair_theory_enumerated(double *ret_mean, const spec_decoder_config *config, uint64_t limit, spec_error *error)
{
    spec_decoder decoder = {0};
    double *next = NULL, *emitted = NULL, *start = NULL;
    int order, size, status = GSL_SUCCESS;
    *ret_mean = NAN;
    if (config->opt_draft == NULL || !contexts_of(&order, &size, config->target, config->opt_draft)) return GSL_SUCCESS;
    SPEC_TRY(spec_decoder_init(&decoder, config, error));
    if (!keeps_nothing(&decoder)) goto done;
    next = calloc((size_t)size * (size_t)size, sizeof *next);
    emitted = calloc((size_t)size, sizeof *emitted);
    start = calloc((size_t)size, sizeof *start);
    if (next == NULL || emitted == NULL || start == NULL) {
        status = spec_fail(error, GSL_ENOMEM, "out of memory for %d contexts", size);
        goto done;
    }
    for (int s = 0; s < size; s++)
        SPEC_TRY(walk_round(next + (size_t)s * (size_t)size, &emitted[s], &decoder, s, order, &limit, error));
    /* GSL_ESING: texts may settle in one of several sets of contexts, and there is no one mean. */
    if (spec_stationary_law(start, next, size) != GSL_SUCCESS) goto done;
    *ret_mean = 0.0;
    for (int s = 0; s < size; s++) *ret_mean += start[s] * emitted[s];
done:
    spec_decoder_free(&decoder);
    free(next);
    free(emitted);
    free(start);
    return status == GSL_EMAXITER ? GSL_SUCCESS : status;
}

/* ---- whichever reaches it ---------------------------------------------------------------------------------------- */

int spec_pair_theory_emitted(double *ret_mean, const spec_decoder_config *config, spec_error *error)
{
    const spec_model *target = config->target, *draft = config->opt_draft;
    const bool token = strcmp(config->rule, "token") == 0, chain = strcmp(config->drafting, "chain") == 0;
    const bool formula = strcmp(config->policy, "fixed") == 0 && (token || strcmp(config->rule, "match") == 0) &&
                         (chain || strcmp(config->drafting, "greedy") == 0);
    int order, size;
    *ret_mean = NAN;
    if (draft == NULL) return GSL_SUCCESS;
    const double overlap = formula && token && chain ? prescribed_overlap(draft) : NAN;
    if (!isnan(overlap)) {
        *ret_mean = spec_capped_geometric_mean(overlap, config->K);
        return GSL_SUCCESS;
    }
    if (!formula)
        return spec_pair_theory_enumerated(ret_mean, config, 1 + (uint64_t)(SPEC_PAIR_STEPS_MAX / target->vocab),
                                           error);
    return contexts_of(&order, &size, target, draft) ? solve_chain(ret_mean, config, order, size, error) : GSL_SUCCESS;
}

int spec_pair_theory_by_chance(spec_decoder_config *ret, const spec_decoder_config *config, spec_error *error)
{
    spec_decoder decoder = {0};
    int status = GSL_SUCCESS;
    *ret = *config;
    SPEC_TRY(spec_decoder_init(&decoder, config, error));
    const spec_shared_noise *rule = &decoder.rule.noise, *drafter = &decoder.drafter.noise;
    if (rule->kind == SPEC_NOISE_NONE || decoder.policy.kind->anticipates) goto done;
    ret->rule = rule->kind == drafter->kind && rule->seed == drafter->seed ? decoder.rule.name : spec_verify_match.name;
    if (drafter->kind != SPEC_NOISE_NONE) ret->drafting = spec_draft_chain.name;
done:
    spec_decoder_free(&decoder);
    return status;
}
