#include "experiments/measures/pair_theory.h"

#include "analysis/capped_geometric.h"
#include "analysis/modulated.h"
#include "analysis/stationary.h"
#include "experiments/measures/measures.h"
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

/* What is known of the long run. */
typedef struct {
    double emitted, hit;
} long_run;

/* ---- by formula: token and match on chains ----------------------------------------------------------------------- */

typedef struct {
    const spec_decoder_config *config;
    spec_session target, draft;
    int order, size;
    double *target_row, *draft_row;  /* (V) */
    double *accept, *reject, *bonus; /* (size, size) */
    double *start, *guessed;         /* (size) law of the context at a round's start; chance that a bonus is guessed */
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
    p->start = calloc(2 * (size_t)size, sizeof *p->start);
    p->guessed = calloc((size_t)size, sizeof *p->guessed);
    if (p->target_row == NULL || p->draft_row == NULL || p->accept == NULL || p->reject == NULL || p->bonus == NULL ||
        p->start == NULL || p->guessed == NULL)
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
    p->guessed[from] = target[favourite];
    return GSL_SUCCESS;
}

/* start accept^K guessed. */
static double chance_of_hit(pair *p, int K)
{
    double *at = p->start, *next = p->start + p->size, hit = 0.0;
    for (int k = 0; k < K; k++) {
        memset(next, 0, (size_t)p->size * sizeof *next);
        for (int s = 0; s < p->size; s++)
            for (int t = 0; t < p->size; t++) next[t] += at[s] * p->accept[(size_t)s * (size_t)p->size + (size_t)t];
        double *was = at;
        at = next;
        next = was;
    }
    for (int s = 0; s < p->size; s++) hit += at[s] * p->guessed[s];
    return K > 0 ? hit : 0.0;
}

static int solve_chain(long_run *ret, const spec_decoder_config *config, int order, int size, spec_error *error)
{
    pair p = {0};
    double variance;
    int status = GSL_SUCCESS;
    SPEC_TRY(pair_init(&p, config, order, size, error));
    for (int s = 0; s < size; s++) SPEC_TRY(fill_context(&p, s, error));
    /* GSL_ESING: texts may settle in one of several sets of contexts, and there is no one mean. */
    *ret = (long_run){NAN, NAN};
    if (spec_pair_chain(&ret->emitted, &variance, p.start, p.accept, p.reject, p.bonus, size, config->K) == GSL_SUCCESS)
        ret->hit = chance_of_hit(&p, config->K);
    else ret->emitted = NAN;
done:
    pair_free(&p);
    return status;
}

/* ---- by enumeration: any rule and draft that keep nothing from round to round ------------------------------------ */

typedef struct {
    spec_decoder decoder;
    int order, size;
    int *favourite;           /* (size) the draft's most probable token after each context */
    double *next;             /* (size, size) */
    double *emitted, *hit;    /* (size) of a round that starts there */
    double *start;            /* (size) */
    uint64_t limit;           /* branches that are left */
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
    if (p->favourite == NULL || p->next == NULL || p->emitted == NULL || p->hit == NULL || p->start == NULL)
        return spec_fail(error, GSL_ENOMEM, "out of memory for %d contexts", p->size);
    for (int s = 0; s < p->size; s++) {
        int context[SPEC_ORDER_MAX];
        fill_tokens(context, s, p->order, p->decoder.config.target->vocab);
        const double *row = spec_session_row(&p->decoder.drafter.session, context, (size_t)p->order, p->decoder.weight,
                                             error);
        if (row == NULL) return GSL_EFAILED;
        p->favourite[s] = spec_row_argmax(row, p->decoder.config.target->vocab);
    }
    return GSL_SUCCESS;
}

/* The context that the first n tokens of the text end in. */
static int context_at(const walked_pair *p, size_t n)
{
    int context = 0;
    for (int i = p->order; i > 0; i--)
        context = context * p->decoder.config.target->vocab + p->decoder.context[n - (size_t)i];
    return context;
}

/* Walk one round from context `from`. GSL_EMAXITER where the walk's limit does not suffice. */
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

static int enumerate(long_run *ret, const spec_decoder_config *config, uint64_t limit, spec_error *error)
{
    walked_pair p = {.limit = limit};
    spec_decoder_config plain = *config;
    int status = GSL_SUCCESS;
    *ret = (long_run){NAN, NAN};
    plain.ahead = false;
    if (config->opt_draft == NULL || !contexts_of(&p.order, &p.size, config->target, config->opt_draft))
        return GSL_SUCCESS;
    SPEC_TRY(spec_decoder_init(&p.decoder, &plain, error));
    if (!keeps_nothing(&p.decoder)) goto done;
    SPEC_TRY(walked_pair_init(&p, error));
    for (int s = 0; s < p.size; s++) SPEC_TRY(walk_round(&p, s, error));
    /* GSL_ESING: texts may settle in one of several sets of contexts, and there is no one mean. */
    if (spec_stationary_law(p.start, p.next, p.size) != GSL_SUCCESS) goto done;
    *ret = (long_run){0.0, 0.0};
    for (int s = 0; s < p.size; s++) {
        ret->emitted += p.start[s] * p.emitted[s];
        ret->hit += p.start[s] * p.hit[s];
    }
done:
    walked_pair_free(&p);
    return status == GSL_EMAXITER ? GSL_SUCCESS : status;
}

int spec_pair_theory_enumerated(double *ret_mean, const spec_decoder_config *config, uint64_t limit, spec_error *error)
{
    long_run run;
    const int status = enumerate(&run, config, limit, error);
    *ret_mean = run.emitted;
    return status;
}

/* ---- whichever reaches it ---------------------------------------------------------------------------------------- */

/* Token and match on chains of a fixed length. */
static bool has_formula(const spec_decoder_config *config)
{
    return strcmp(config->policy, "fixed") == 0 &&
           (strcmp(config->rule, "token") == 0 || strcmp(config->rule, "match") == 0) &&
           (strcmp(config->drafting, "chain") == 0 || strcmp(config->drafting, "greedy") == 0);
}

static int solve(long_run *ret, const spec_decoder_config *config, spec_error *error)
{
    int order, size;
    *ret = (long_run){NAN, NAN};
    if (!has_formula(config))
        return enumerate(ret, config, 1 + (uint64_t)(SPEC_PAIR_STEPS_MAX / config->target->vocab), error);
    if (!contexts_of(&order, &size, config->target, config->opt_draft)) return GSL_SUCCESS;
    return solve_chain(ret, config, order, size, error);
}

int spec_pair_theory_emitted(double *ret_mean, const spec_decoder_config *config, spec_error *error)
{
    const bool by_overlap = has_formula(config) && strcmp(config->rule, "token") == 0 &&
                            strcmp(config->drafting, "chain") == 0;
    long_run run;
    *ret_mean = NAN;
    if (config->opt_draft == NULL) return GSL_SUCCESS;
    const double overlap = by_overlap ? prescribed_overlap(config->opt_draft) : NAN;
    if (!isnan(overlap)) {
        *ret_mean = spec_capped_geometric_mean(overlap, config->K);
        return GSL_SUCCESS;
    }
    const int status = solve(&run, config, error);
    *ret_mean = run.emitted;
    return status;
}

int spec_pair_theory_hit(double *ret_hit, const spec_decoder_config *config, spec_error *error)
{
    const spec_model *target = config->target, *draft = config->opt_draft;
    long_run run;
    *ret_hit = NAN;
    if (draft == NULL || strcmp(config->policy, "fixed") != 0 || target->end_of_text >= 0 || draft->end_of_text >= 0)
        return GSL_SUCCESS;
    const int status = solve(&run, config, error);
    *ret_hit = run.hit;
    return status;
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
