/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/pair_theory.h"

#include "analysis/capped_geometric.h"
#include "analysis/modulated.h"
#include "analysis/stationary.h"
#include "base/int_math.h"
#include "experiments/measures/measures.h"
#include "models/model_kinds.h"
#include "models/row.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is(const char *name, const char *other)
{
    return strcmp(name, other) == 0;
}

/* Reads the overlap that a perturb draft was built to have; NaN for other drafts. A transformed
 * draft is of a different kind. */
static int prescribed_overlap(double *ret, const spec_model *draft, spec_error *error)
{
    spec_settings settings = {0};
    *ret = NAN;
    if (!is(draft->kind->name, spec_model_perturb.name)) return GSL_SUCCESS;
    const int status = spec_settings_init(&settings, draft->spec, error);
    if (status != GSL_SUCCESS) return status;
    const char *text = spec_settings_text(&settings, "alpha");
    if (text == NULL || !spec_settings_parse_double(ret, text)) *ret = NAN;
    spec_settings_free(&settings);
    return status;
}

/* Finds the order of a pair and its number of contexts. Returns false unless the contexts form a
 * chain that we can solve. Such a chain does not describe texts that end and begin again. */
static bool contexts_of(int *ret_order, int *ret_size, const spec_decoder_config *config)
{
    const spec_model *target = config->target, *draft = config->opt_draft,
                     *inner = config->opt_inner != NULL ? config->opt_inner : draft;
    const int order = spec_int_max(target->order, spec_int_max(draft->order, inner->order));
    *ret_order = order;
    *ret_size = 1;
    if (target->order < 0 || draft->order < 0 || inner->order < 0 ||
        (spec_model_has_ends(target) && order > 0))
        return false;
    for (int i = 0; i < order; i++) {
        if (*ret_size > SPEC_PAIR_CONTEXTS_MAX / target->vocab) return false;
        *ret_size *= target->vocab;
    }
    return true;
}

/* Fills the tokens of a context; the last one is its least significant digit. */
static void fill_tokens(int *token, int context, int order, int vocab)
{
    for (int i = order - 1; i >= 0; i--, context /= vocab) token[i] = context % vocab;
}

/* Long-run means: n_emitted, and the share of rounds that find their chain drafted ahead. */
typedef struct {
    double emitted, hit;
} long_run;

/* ---- by formula: token and match on chains --------------------------------------------------- */

/* The formula that describes a config's rounds, if one does. */
typedef enum {
    NO_FORMULA,
    TOKEN_SAMPLED, /* rule token, draft tokens drawn */
    TOKEN_GREEDY,  /* rule token, the draft's most probable tokens */
    MATCH_SAMPLED,
    MATCH_GREEDY
} formula;

static formula formula_of(const spec_decoder_config *config)
{
    const bool token = is(config->rule, spec_verify_token.name),
               match = is(config->rule, spec_verify_match.name),
               sampled = is(config->drafting, spec_draft_chain.name),
               greedy = is(config->drafting, spec_draft_greedy.name);
    if (!is(config->policy, spec_policy_fixed.name) || !(token || match) || !(sampled || greedy))
        return NO_FORMULA;
    if (token) return sampled ? TOKEN_SAMPLED : TOKEN_GREEDY;
    return sampled ? MATCH_SAMPLED : MATCH_GREEDY;
}

typedef struct {
    const spec_decoder_config *config;
    spec_session target, draft;
    int order, size;
    double *target_row, *draft_row;  /* (V) */
    double *accept, *reject, *bonus; /* (size, size) */
    double *start;   /* (2, size) law of the context at a round's start, and workspace */
    double *guessed; /* (size) chance that the bonus is the draft's most probable token */
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
    free(p->start);
    free(p->guessed);
}

static int pair_init(pair *p, const spec_decoder_config *config, int order, int size,
                     spec_error *error)
{
    const size_t row = (size_t)config->target->vocab * sizeof(double),
                 n = (size_t)size * (size_t)size;
    int status = GSL_SUCCESS;
    *p = (pair){.config = config, .order = order, .size = size};
    p->target_row = malloc(row);
    p->draft_row = malloc(row);
    p->accept = calloc(n, sizeof *p->accept);
    p->reject = calloc(n, sizeof *p->reject);
    p->bonus = calloc(n, sizeof *p->bonus);
    p->start = calloc(2 * (size_t)size, sizeof *p->start);
    p->guessed = calloc((size_t)size, sizeof *p->guessed);
    if (p->target_row == NULL || p->draft_row == NULL || p->accept == NULL || p->reject == NULL ||
        p->bonus == NULL || p->start == NULL || p->guessed == NULL)
        return spec_no_memory(error);
    SPEC_TRY(spec_session_init(&p->target, config->target, error));
    SPEC_TRY(spec_session_init(&p->draft, config->opt_draft, error));
done:
    return status;
}

/* Fills in the row of context `from`. It follows the definitions of the rules, not their code. */
static int fill_context(pair *p, int from, spec_error *error)
{
    const int vocab = p->config->target->vocab;
    int context[SPEC_ORDER_MAX];
    fill_tokens(context, from, p->order, vocab);
    const double *target =
        spec_session_row(&p->target, context, (size_t)p->order, p->target_row, error);
    if (target == NULL) return GSL_EFAILED;
    const double *draft =
        spec_session_row(&p->draft, context, (size_t)p->order, p->draft_row, error);
    if (draft == NULL) return GSL_EFAILED;
    const formula f = formula_of(p->config);
    const bool match = f == MATCH_SAMPLED || f == MATCH_GREEDY,
               greedy = f == TOKEN_GREEDY || f == MATCH_GREEDY;
    const int favourite = spec_row_argmax(draft, vocab);
    for (int x = 0; x < vocab; x++) {
        const double law = !greedy          ? draft[x]
                           : x == favourite ? 1.0
                                            : 0.0; /* distribution of the draft token */
        const double taken = match ? target[x] * law : fmin(target[x], law);
        const size_t to = (size_t)from * (size_t)p->size + (size_t)((from * vocab + x) % p->size);
        p->accept[to] += taken;
        p->reject[to] += match ? target[x] - taken : fmax(target[x] - law, 0.0);
        p->bonus[to] += target[x];
    }
    p->guessed[from] = target[favourite];
    return GSL_SUCCESS;
}

/* Computes the vector-matrix product start accept^K guessed; 0 at K = 0. Overwrites start. */
static double chance_of_hit(pair *p, int K)
{
    double *at = p->start, *next = p->start + p->size, hit = 0.0;
    for (int k = 0; k < K; k++) {
        memset(next, 0, (size_t)p->size * sizeof *next);
        for (int s = 0; s < p->size; s++)
            for (int t = 0; t < p->size; t++)
                next[t] += at[s] * p->accept[(size_t)s * (size_t)p->size + (size_t)t];
        double *was = at;
        at = next;
        next = was;
    }
    for (int s = 0; s < p->size; s++) hit += at[s] * p->guessed[s];
    return K > 0 ? hit : 0.0;
}

static int solve_chain(long_run *ret, const spec_decoder_config *config, int order, int size,
                       spec_error *error)
{
    pair p = {0};
    double variance;
    int status = GSL_SUCCESS;
    SPEC_TRY(pair_init(&p, config, order, size, error));
    for (int s = 0; s < size; s++) SPEC_TRY(fill_context(&p, s, error));
    /* GSL_ESING: there are several sets of contexts in which texts may settle, each with its own
     * mean. */
    *ret = (long_run){NAN, NAN};
    const int solved = spec_modulated_pair_chain(&ret->emitted, &variance, p.start, p.accept,
                                                 p.reject, p.bonus, size, config->K);
    if (solved == GSL_ENOMEM) status = spec_no_memory(error);
    if (solved == GSL_SUCCESS) ret->hit = chance_of_hit(&p, config->K);
    else ret->emitted = NAN;
done:
    pair_free(&p);
    return status;
}

/* ---- by enumeration: any rule and draft that keep nothing from round to round ---------------- */

typedef struct {
    spec_decoder decoder;
    int order, size;
    int *favourite;           /* (size) the draft's most probable token after each context */
    double *next;             /* (size, size) */
    double *emitted, *hit;    /* (size) means of a round that starts there */
    double *start;            /* (size) */
    uint64_t limit;           /* branches left before the limit is reached */
} walked_pair;

static void walked_pair_free(walked_pair *p)
{
    spec_decoder_free(&p->decoder);
    free(p->favourite);
    free(p->next);
    free(p->emitted);
    free(p->hit);
    free(p->start);
}

static int walked_pair_init(walked_pair *p, spec_error *error)
{
    const size_t size = (size_t)p->size;
    p->favourite = calloc(size, sizeof *p->favourite);
    p->next = calloc(size * size, sizeof *p->next);
    p->emitted = calloc(size, sizeof *p->emitted);
    p->hit = calloc(size, sizeof *p->hit);
    p->start = calloc(size, sizeof *p->start);
    if (p->favourite == NULL || p->next == NULL || p->emitted == NULL || p->hit == NULL ||
        p->start == NULL)
        return spec_fail(error, GSL_ENOMEM, "out of memory for %d contexts", p->size);
    for (int s = 0; s < p->size; s++) {
        int context[SPEC_ORDER_MAX];
        fill_tokens(context, s, p->order, p->decoder.config.target->vocab);
        const double *row = spec_session_row(&p->decoder.drafter.session, context, (size_t)p->order,
                                             p->decoder.weight, error);
        if (row == NULL) return GSL_EFAILED;
        p->favourite[s] = spec_row_argmax(row, p->decoder.config.target->vocab);
    }
    return GSL_SUCCESS;
}

/* Returns the context after the first n tokens of the text. */
static int context_at(const walked_pair *p, size_t n)
{
    int context = 0;
    for (int i = p->order; i > 0; i--)
        context = context * p->decoder.config.target->vocab + p->decoder.context[n - (size_t)i];
    return context;
}

/* Enumerates one round from context `from`. Returns GSL_EMAXITER if the limit of branches is too
 * low. */
static int walk_round(walked_pair *p, int from, spec_error *error)
{
    spec_decoder *decoder = &p->decoder;
    const spec_round *round = &decoder->round;
    int prompt[SPEC_ORDER_MAX];
    spec_enumeration walk = {0};
    int status = GSL_SUCCESS;
    fill_tokens(prompt, from, p->order, decoder->config.target->vocab);
    SPEC_TRY(spec_enumeration_init(&walk, p->limit));
    do {
        SPEC_TRY(spec_decoder_reset(decoder, prompt, (size_t)p->order, error));
        SPEC_TRY(spec_decoder_round(decoder, &walk.chance, NULL, error));
        const double probability = spec_enumeration_probability(&walk);
        const size_t n = decoder->n_context;
        p->next[(size_t)from * (size_t)p->size + (size_t)context_at(p, n)] += probability;
        p->emitted[from] += probability * round->n_emitted;
        if (round->n_drafted > 0 && round->n_accepted == round->n_drafted &&
            decoder->context[n - 1] == p->favourite[context_at(p, n - 1)])
            p->hit[from] += probability;
    } while (spec_enumeration_next(&walk));
    if (walk.refused || walk.branches >= p->limit) status = GSL_EMAXITER;
    else p->limit -= walk.branches;
done:
    spec_enumeration_free(&walk);
    return status;
}

static bool keeps_nothing(const spec_decoder *decoder)
{
    return decoder->rule.reset == NULL && decoder->rule.noise.kind == SPEC_NOISE_NONE &&
           decoder->policy.kind->observe == NULL && decoder->drafter.kind->needs_model;
}

static int enumerate(long_run *ret, const spec_decoder_config *config, uint64_t limit,
                     spec_error *error)
{
    walked_pair p = {.limit = limit};
    spec_decoder_config plain = *config;
    int status = GSL_SUCCESS;
    *ret = (long_run){NAN, NAN};
    plain.ahead = false;
    if (config->opt_draft == NULL || !contexts_of(&p.order, &p.size, config)) return GSL_SUCCESS;
    SPEC_TRY(spec_decoder_init(&p.decoder, &plain, error));
    if (!keeps_nothing(&p.decoder)) goto done;
    SPEC_TRY(walked_pair_init(&p, error));
    for (int s = 0; s < p.size; s++) SPEC_TRY(walk_round(&p, s, error));
    /* GSL_ESING: there are several sets of contexts in which texts may settle, each with its own
     * mean. */
    const int solved = spec_stationary_law(p.start, p.next, p.size);
    if (solved == GSL_ENOMEM) SPEC_TRY(spec_no_memory(error));
    if (solved != GSL_SUCCESS) goto done;
    *ret = (long_run){0.0, 0.0};
    for (int s = 0; s < p.size; s++) {
        ret->emitted += p.start[s] * p.emitted[s];
        ret->hit += p.start[s] * p.hit[s];
    }
done:
    walked_pair_free(&p);
    return status == GSL_EMAXITER ? GSL_SUCCESS : status;
}

int spec_pair_theory_enumerated(double *ret_mean, const spec_decoder_config *config, uint64_t limit,
                                spec_error *error)
{
    long_run run;
    const int status = enumerate(&run, config, limit, error);
    *ret_mean = run.emitted;
    return status;
}

/* ---- by formula where there is one, else by enumeration ---------------------------------------
 */

static int solve(long_run *ret, const spec_decoder_config *config, spec_error *error)
{
    int order, size;
    *ret = (long_run){NAN, NAN};
    if (formula_of(config) == NO_FORMULA)
        return enumerate(ret, config, 1 + (uint64_t)(SPEC_PAIR_STEPS_MAX / config->target->vocab),
                         error);
    if (!contexts_of(&order, &size, config)) return GSL_SUCCESS;
    return solve_chain(ret, config, order, size, error);
}

int spec_pair_theory_emitted(double *ret_mean, const spec_decoder_config *config, spec_error *error)
{
    long_run run;
    *ret_mean = NAN;
    if (config->opt_draft == NULL) return GSL_SUCCESS;
    double overlap = NAN;
    int status = GSL_SUCCESS;
    if (formula_of(config) == TOKEN_SAMPLED)
        status = prescribed_overlap(&overlap, config->opt_draft, error);
    if (status != GSL_SUCCESS) return status;
    if (!isnan(overlap)) {
        *ret_mean = spec_capped_geometric_mean(overlap, config->K);
        return GSL_SUCCESS;
    }
    status = solve(&run, config, error);
    *ret_mean = run.emitted;
    return status;
}

int spec_pair_theory_hit(double *ret_hit, const spec_decoder_config *config, spec_error *error)
{
    const spec_model *target = config->target, *draft = config->opt_draft;
    long_run run;
    *ret_hit = NAN;
    if (draft == NULL || !is(config->policy, spec_policy_fixed.name) ||
        spec_model_has_ends(target) || spec_model_has_ends(draft))
        return GSL_SUCCESS;
    const int status = solve(&run, config, error);
    *ret_hit = run.hit;
    return status;
}

int spec_pair_theory_by_chance(spec_decoder_config *ret, const spec_decoder_config *config,
                               spec_error *error)
{
    spec_decoder decoder = {0};
    int status = GSL_SUCCESS;
    *ret = *config;
    SPEC_TRY(spec_decoder_init(&decoder, config, error));
    const spec_shared_noise *rule = &decoder.rule.noise, *drafter = &decoder.drafter.noise;
    const bool tree = drafter->kind != SPEC_NOISE_NONE && decoder.drafter.kind->nodes != NULL;
    if (rule->kind == SPEC_NOISE_NONE || decoder.policy.anticipates || tree) goto done;
    ret->rule = rule->kind == drafter->kind && rule->seed == drafter->seed ? decoder.rule.name
                                                                           : spec_verify_match.name;
    if (drafter->kind != SPEC_NOISE_NONE) ret->drafting = spec_draft_chain.name;
done:
    spec_decoder_free(&decoder);
    return status;
}
