/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/rank_acceptance.h"

#include "analysis/rules/rrsw.h"
#include "base/parallel.h"
#include "base/stop_flag.h"
#include "models/row.h"
#include "sim/chance/rng.h"
#include "sim/sources.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Batches of positions with their own random streams; positions skipped per batch; positions
 * between two calls of the listener. */
enum { BATCHES = 32, BURN_IN = 32, SHOWN_EVERY = 8 };

/* Maximum tuples of the closed form without replacement. */
#define TUPLES_MAX 1e7

static const char *const rules[] = {"match", "greedy", "naive-tree", "rrs", "rrsw", NULL};

int spec_rank_acceptance_check(const char *rule, spec_error *error)
{
    for (int i = 0; rules[i] != NULL; i++)
        if (strcmp(rules[i], rule) == 0) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL,
                     "rule '%.60s' has no acceptance by rank; match, greedy, naive-tree, rrs and "
                     "rrsw have one",
                     rule);
}

/* ---- closed form ----------------------------------------------------------------------------- */

typedef double closed_form(const spec_ratio_order *order, int n);

/* Returns the closed form for the probability that one of n such siblings is accepted, or NULL. */
static closed_form *form_of(const char *rule, spec_siblings siblings, int V, int width)
{
    if (width > SPEC_DRAFTS_MAX) return NULL;
    /* one-hot drafts: under any rule, the target's probability of their tokens */
    if (siblings == SPEC_SIBLINGS_TOP)
        return strcmp(rule, "greedy") == 0 ? NULL : spec_multi_draft_match_top;
    if (siblings == SPEC_SIBLINGS_WITHOUT)
        return strcmp(rule, "rrsw") == 0 && pow(V, width - 1) <= TUPLES_MAX ? spec_rrsw_acceptance
                                                                            : NULL;
    if (siblings != SPEC_SIBLINGS_IID) return NULL;
    if (strcmp(rule, "match") == 0) return spec_multi_draft_match;
    if (strcmp(rule, "naive-tree") == 0) return spec_multi_draft_naive_tree;
    return strcmp(rule, "rrs") == 0 ? spec_multi_draft_rrs : NULL;
}

int spec_rank_acceptance_exact(double *ret_accept, bool *ret_exact, int width,
                               const spec_decoder_config *config, spec_siblings siblings,
                               spec_error *error)
{
    const spec_model *target = config->target, *draft = config->opt_draft;
    const int V = target->vocab;
    closed_form *form = form_of(config->rule, siblings, V, width);
    spec_session reads[2] = {{0}, {0}};
    spec_ratio_order order = {0};
    double *room = NULL;
    int status = GSL_SUCCESS;
    *ret_exact = false;
    if (form == NULL || target->order != 0 || draft->order != 0 || spec_model_has_ends(target) ||
        spec_model_has_ends(draft))
        return GSL_SUCCESS;
    if ((room = malloc(2 * (size_t)V * sizeof *room)) == NULL ||
        spec_ratio_order_init(&order, V) != GSL_SUCCESS) {
        status = spec_fail(error, GSL_ENOMEM, "out of memory for rows of %d probabilities", V);
        goto done;
    }
    SPEC_TRY(spec_session_init(&reads[0], target, error));
    SPEC_TRY(spec_session_init(&reads[1], draft, error));
    const double *target_row = spec_session_row(&reads[0], NULL, 0, room, error);
    const double *draft_row = spec_session_row(&reads[1], NULL, 0, room + V, error);
    SPEC_TRY(target_row == NULL || draft_row == NULL ? GSL_EFAILED : GSL_SUCCESS);
    if (spec_ratio_order_sort(&order, target_row, draft_row) != GSL_SUCCESS)
        SPEC_TRY(spec_fail(error, GSL_EDOM, "a model gave a row that is not a distribution"));
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

/* ---- measured -------------------------------------------------------------------------------- */

typedef struct {
    uint64_t *count; /* (width) */
    int status;
    spec_error error;
} batch_result;

/* Finds the longest prompt that leaves room in both windows for a draft token and one more
 * token. */
static int longest_prompt(size_t *ret_most, const spec_decoder_config *config, spec_error *error)
{
    const spec_model *const model[] = {config->target, config->opt_draft};
    *ret_most = SPEC_PROMPT_MAX;
    for (int i = 0; i < 2; i++) {
        if (model[i]->window == 0) continue;
        if (model[i]->window < 2)
            return spec_fail(error, GSL_EINVAL, "a window of %d tokens is too small for a draft",
                             model[i]->window);
        if ((size_t)model[i]->window - 2 < *ret_most) *ret_most = (size_t)model[i]->window - 2;
    }
    return GSL_SUCCESS;
}

static int begin_text(spec_decoder *decoder, unsigned long prompt, int *token, size_t most,
                      spec_error *error)
{
    const spec_model *target = decoder->config.target;
    size_t n = 0;
    if (target->kind->prompt != NULL) n = target->kind->prompt(target, prompt, token, most);
    return spec_decoder_reset(decoder, token, n < most ? n : most, error);
}

/* Returns whether the text has ended, or the next draft does not fit a window. */
static bool text_is_over(const spec_decoder *decoder, int token)
{
    return spec_model_ends_text(decoder->config.target, token) ||
           decoder->n_context >= SPEC_TEXT_MAX || spec_decoder_room(decoder) < 1;
}

static int run_batch(batch_result *result, const spec_decoder_config *config, int batch,
                     uint64_t positions, uint64_t seed, const spec_point *point,
                     _Atomic uint64_t *done)
{
    spec_error *error = &result->error;
    spec_decoder decoder = {0};
    int prompt[SPEC_PROMPT_MAX], status = GSL_SUCCESS;
    size_t most;
    unsigned long number = (unsigned long)batch;
    gsl_rng *rng = spec_rng_alloc();
    if (rng == NULL) return spec_no_memory(error);
    spec_rng_stream(rng, seed, (uint64_t)batch);
    spec_chance chance = spec_chance_sampled(rng);
    SPEC_TRY(longest_prompt(&most, config, error));
    SPEC_TRY(spec_decoder_init(&decoder, config, error));
    SPEC_TRY(begin_text(&decoder, number, prompt, most, error));
    for (uint64_t i = 0; i < BURN_IN + positions; i++) {
        int token;
        size_t n;
        SPEC_TRY(spec_stop_check(point->stop, error));
        SPEC_TRY(spec_decode(&decoder, 1, &token, &n, &chance, NULL, error));
        if (i >= BURN_IN && decoder.round.n_accepted > 0) result->count[decoder.round.node[0]]++;
        const uint64_t all = ++*done;
        if (all % SHOWN_EVERY == 0)
            spec_listener_tell(point->opt_listener,
                               (double)all / (double)(BATCHES * (BURN_IN + positions)));
        if (text_is_over(&decoder, token))
            SPEC_TRY(begin_text(&decoder, number += BATCHES, prompt, most, error));
    }
done:
    spec_decoder_free(&decoder);
    gsl_rng_free(rng);
    return status;
}

typedef struct {
    batch_result *result;
    const spec_decoder_config *config;
    uint64_t each, seed;
    const spec_point *point;
    _Atomic uint64_t *done;
} job;

static void run_one(void *self, uint64_t batch, int worker)
{
    const job *j = self;
    (void)worker;
    j->result[batch].status =
        run_batch(&j->result[batch], j->config, (int)batch, j->each, j->seed, j->point, j->done);
}

int spec_rank_acceptance_measured(double *ret_accept, int width, const spec_decoder_config *config,
                                  uint64_t positions, uint64_t seed, const spec_point *point,
                                  spec_error *error)
{
    _Atomic uint64_t done = 0;
    const uint64_t each = (positions + BATCHES - 1) / BATCHES;
    uint64_t *count = calloc((size_t)BATCHES * (size_t)width, sizeof *count);
    batch_result *result = calloc(BATCHES, sizeof *result);
    int status = GSL_SUCCESS;
    if (count == NULL || result == NULL) {
        status = spec_no_memory(error);
        goto done;
    }
    spec_thread_pool *const pool = spec_context_pool(point->opt_context);
    for (int b = 0; b < BATCHES; b++) result[b].count = count + (size_t)b * (size_t)width;
    spec_parallel_run(pool, run_one, &(job){result, config, each, seed, point, &done}, BATCHES,
                      spec_thread_pool_size(pool));
    for (int b = 0; b < BATCHES; b++)
        if (result[b].status != GSL_SUCCESS)
            SPEC_TRY(spec_fail(error, result[b].status, "%s", result[b].error.text));
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
