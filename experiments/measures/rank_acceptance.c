#include "experiments/measures/rank_acceptance.h"

#include "analysis/rules/rrsw.h"
#include "models/row.h"
#include "sim/chance/rng.h"
#include "sim/sources.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

/* Batches of positions, with streams of their own, and positions of each that are passed over. */
enum { BATCHES = 32, BURN_IN = 32 };

/* Most tuples that the closed form without replacement goes through. */
#define TUPLES_MAX 1e7

static const char *const rules[] = {"match", "greedy", "naive-tree", "rrs", "rrsw", NULL};

int spec_rank_acceptance_check(const char *rule, spec_error *error)
{
    for (int i = 0; rules[i] != NULL; i++)
        if (strcmp(rules[i], rule) == 0) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL,
                     "how rule '%.60s' judges a child may depend on how many there are; acceptance by rank is of "
                     "match, greedy, naive-tree, rrs and rrsw",
                     rule);
}

/* ---- closed form ------------------------------------------------------------------------------------------------- */

typedef double closed_form(const spec_ratio_order *order, int n);

/* The chance that one of n such siblings is accepted, or NULL. */
static closed_form *form_of(const char *rule, spec_siblings siblings, int V, int width)
{
    if (width > SPEC_DRAFTS_MAX) return NULL;
    if (siblings == SPEC_SIBLINGS_TOP) /* one-hot drafts: whatever the rule, the target's mass of their tokens */
        return strcmp(rule, "greedy") == 0 ? NULL : spec_match_top_acceptance;
    if (siblings == SPEC_SIBLINGS_WITHOUT)
        return strcmp(rule, "rrsw") == 0 && pow(V, width - 1) <= TUPLES_MAX ? spec_rrsw_acceptance : NULL;
    if (siblings != SPEC_SIBLINGS_IID) return NULL;
    if (strcmp(rule, "match") == 0) return spec_match_acceptance;
    if (strcmp(rule, "naive-tree") == 0) return spec_naive_tree_acceptance;
    return strcmp(rule, "rrs") == 0 ? spec_rrs_acceptance : NULL;
}

int spec_rank_acceptance_exact(double *ret_accept, bool *ret_exact, int width, const spec_decoder_config *config,
                               spec_siblings siblings, spec_error *error)
{
    const spec_model *target = config->target, *draft = config->opt_draft;
    const int V = target->vocab;
    closed_form *form = form_of(config->rule, siblings, V, width);
    spec_session reads[2] = {{0}, {0}};
    spec_ratio_order order = {0};
    double *room = NULL;
    int status = GSL_SUCCESS;
    *ret_exact = false;
    if (form == NULL || target->order != 0 || draft->order != 0 || target->end_of_text >= 0 || draft->end_of_text >= 0)
        return GSL_SUCCESS;
    if ((room = malloc(2 * (size_t)V * sizeof *room)) == NULL || spec_ratio_order_init(&order, V) != GSL_SUCCESS) {
        status = spec_fail(error, GSL_ENOMEM, "out of memory for rows of %d probabilities", V);
        goto done;
    }
    SPEC_TRY(spec_session_init(&reads[0], target, error));
    SPEC_TRY(spec_session_init(&reads[1], draft, error));
    const double *target_row = spec_session_row(&reads[0], NULL, 0, room, error);
    const double *draft_row = spec_session_row(&reads[1], NULL, 0, room + V, error);
    SPEC_TRY(target_row == NULL || draft_row == NULL ? GSL_EFAILED : GSL_SUCCESS);
    if (spec_ratio_order_sort(&order, target_row, draft_row) != GSL_SUCCESS)
        SPEC_TRY(spec_fail(error, GSL_EDOM, "a row of the models is no distribution"));
    double before = 0.0;
    for (int r = 0; r < width; r++) {
        const double some = form(&order, r + 1);
        ret_accept[r] = some > before ? some - before : 0.0; /* rounding */
        before = some;
    }
    *ret_exact = true;
done:
    spec_session_free(&reads[0]);
    spec_session_free(&reads[1]);
    spec_ratio_order_free(&order);
    free(room);
    return status;
}

/* ---- measured ---------------------------------------------------------------------------------------------------- */

typedef struct {
    uint64_t *count; /* (width) */
    int status;
    spec_error error;
} batch_result;

static int begin_text(spec_decoder *decoder, unsigned long prompt, int *room, spec_error *error)
{
    const spec_model *target = decoder->config.target;
    size_t n = 0;
    if (target->kind->prompt != NULL) n = target->kind->prompt(target, prompt, room, SPEC_PROMPT_MAX);
    return spec_decoder_reset(decoder, room, n, error);
}

static int run_batch(batch_result *result, const spec_decoder_config *config, int batch, uint64_t positions,
                     uint64_t seed, const volatile int *opt_stop)
{
    spec_error *error = &result->error;
    spec_decoder decoder = {0};
    int prompt[SPEC_PROMPT_MAX], status = GSL_SUCCESS;
    unsigned long number = (unsigned long)batch;
    gsl_rng *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    if (rng == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    spec_rng_stream(rng, seed, (uint64_t)batch);
    spec_chance chance = spec_chance_sampled(rng);
    SPEC_TRY(spec_decoder_init(&decoder, config, error));
    SPEC_TRY(begin_text(&decoder, number, prompt, error));
    for (uint64_t i = 0; i < BURN_IN + positions; i++) {
        int token;
        size_t n;
        if (opt_stop != NULL && *opt_stop != 0) SPEC_TRY(spec_fail(error, GSL_EFAILED, "interrupted"));
        SPEC_TRY(spec_decode(&decoder, 1, &token, &n, &chance, NULL, error));
        if (i >= BURN_IN && decoder.round.n_accepted > 0) result->count[decoder.round.node[0]]++;
        if (token == config->target->end_of_text || decoder.n_context >= SPEC_TEXT_MAX)
            SPEC_TRY(begin_text(&decoder, number += BATCHES, prompt, error));
    }
done:
    spec_decoder_free(&decoder);
    gsl_rng_free(rng);
    return status;
}

int spec_rank_acceptance_measured(double *ret_accept, int width, const spec_decoder_config *config, uint64_t positions,
                                  uint64_t seed, int threads, const volatile int *opt_stop, spec_error *error)
{
    const uint64_t each = (positions + BATCHES - 1) / BATCHES;
    uint64_t *count = calloc((size_t)BATCHES * (size_t)width, sizeof *count);
    batch_result *result = calloc(BATCHES, sizeof *result);
    int status = GSL_SUCCESS;
    if (count == NULL || result == NULL) {
        status = spec_fail(error, GSL_ENOMEM, "out of memory");
        goto done;
    }
    for (int b = 0; b < BATCHES; b++) result[b].count = count + (size_t)b * (size_t)width;
#pragma omp parallel for schedule(dynamic) num_threads(threads > 0 ? threads : omp_get_max_threads())
    for (int b = 0; b < BATCHES; b++) result[b].status = run_batch(&result[b], config, b, each, seed, opt_stop);

    for (int b = 0; b < BATCHES; b++)
        if (result[b].status != GSL_SUCCESS) SPEC_TRY(spec_fail(error, result[b].status, "%s", result[b].error.text));
    for (int r = 0; r < width; r++) {
        uint64_t all = 0;
        for (int b = 0; b < BATCHES; b++) all += result[b].count[r];
        ret_accept[r] = (double)all / (double)(each * BATCHES);
    }
done:
    free(count);
    free(result);
    return status;
}
