/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/serving/claim_runs.h"

#include "analysis/statistics/moments.h"
#include "experiments/serving/claim_formulas.h"
#include "experiments/serving/paired_latency.h"
#include "sim/serving/requests/requests.h"
#include "speclab/no_memory.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPLICATIONS = 8, MEASURED = 20000, WARM = 6000 };

static int fixed_K(spec_length_choice **ret, int K, const spec_claim *claim, spec_error *error)
{
    char spec[32];
    snprintf(spec, sizeof spec, "fixed?K=%d", K);
    return spec_length_choice_create(ret, spec, claim->cost, error);
}

static int requests_of(spec_requests *ret, const spec_claim *claim, bool open, spec_error *error)
{
    int status = GSL_SUCCESS;
    char number[2][32];
    *ret = (spec_requests){.speed = 1.0};
    snprintf(number[0], sizeof number[0], "%.0f", open ? claim->prompt : 0.0);
    snprintf(number[1], sizeof number[1], "%.0f", claim->output);
    if (open) SPEC_TRY(spec_arrivals_init(&ret->arrivals, "poisson", claim->rate, error));
    SPEC_TRY(spec_length_law_init(&ret->prompt, number[0], 0, error));
    SPEC_TRY(spec_length_law_init(&ret->output, number[1], 1, error));
    SPEC_TRY(spec_alpha_law_init(&ret->alpha, claim->spread, claim->alpha, error));
done:
    return status;
}

static spec_replications_plan how(const spec_claim *claim)
{
    return (spec_replications_plan){.n = REPLICATIONS,
                                    .seed = claim->seed,
                                    .opt_pool = claim->opt_pool,
                                    .opt_stop = claim->opt_stop};
}

int spec_claim_latency_speedup(spec_claim_value *ret, const spec_claim *claim, spec_error *error)
{
    int status = GSL_SUCCESS, best;
    spec_length_choice *choice[2] = {NULL, NULL};
    spec_replications *runs = calloc(2, sizeof *runs);
    spec_paired_plan paired[2];
    spec_requests requests;
    const spec_replications_plan replicated = how(claim);
    if (runs == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(requests_of(&requests, claim, true, error));
    for (int i = 0; i < 2; i++) {
        SPEC_TRY(fixed_K(&choice[i], i * claim->K, claim, error));
        const spec_serving_plan plan = {.requests = spec_requests_source(&requests),
                                        .cost = claim->cost,
                                        .lengths = choice[i],
                                        .slots = 1 << 20,
                                        .block = 16,
                                        .warm = WARM,
                                        .measured = MEASURED};
        SPEC_TRY(spec_replications_run(&runs[i], &plan, &replicated, error));
        if (runs[i].grew)
            SPEC_TRY(spec_fail(error, GSL_EINVAL,
                               "rate: %g requests/s are at or above the capacity at K = %d",
                               claim->rate, i * claim->K));
    }
    SPEC_TRY(spec_paired_latency(paired, &best, (const spec_replications *[]){&runs[0], &runs[1]},
                                 NULL, 2, 0, claim->seed, error));
    *ret =
        (spec_claim_value){paired[1].speedup.value, paired[1].speedup.low, paired[1].speedup.high};
done:
    for (int i = 0; i < 2; i++) spec_length_choice_free(choice[i]);
    for (int i = 0; runs != NULL && i < 2; i++) spec_replications_free(&runs[i]);
    free(runs);
    return status;
}

static double rounds_per_request(const void *self, const spec_serving_sums *sums)
{
    (void)self;
    return (double)sums->rounds / (double)sums->requests;
}

int spec_claim_continuous_rounds(spec_claim_value *ret, const spec_claim *claim, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_length_choice *choice = NULL;
    spec_replications *runs = calloc(1, sizeof *runs);
    spec_rounds_law law = {0};
    spec_requests requests;
    const spec_replications_plan replicated = how(claim);
    if (runs == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(requests_of(&requests, claim, false, error));
    SPEC_TRY(spec_claim_rounds_law(&law, claim, error));
    SPEC_TRY(fixed_K(&choice, claim->K, claim, error));
    const spec_serving_plan plan = {.requests = spec_requests_source(&requests),
                                    .cost = claim->cost,
                                    .lengths = choice,
                                    .closed = true,
                                    .slots = (int)claim->batch,
                                    .block = 16,
                                    .warm = WARM,
                                    .measured = MEASURED};
    SPEC_TRY(spec_replications_run(runs, &plan, &replicated, error));
    const spec_estimate e = spec_replications_estimate(runs, rounds_per_request, NULL);
    const double half = gsl_cdf_tdist_Pinv(0.975, e.df) * e.se, alone = spec_rounds_law_mean(&law);
    *ret = (spec_claim_value){e.mean / alone, (e.mean - half) / alone, (e.mean + half) / alone};
done:
    spec_length_choice_free(choice);
    spec_rounds_law_free(&law);
    if (runs != NULL) spec_replications_free(runs);
    free(runs);
    return status;
}

/* ---- replays --------------------------------------------------------------------------------- */

/* A source of copies of one request, which all arrive at time 0. */
typedef struct {
    spec_request request;
    int copies;
} copies;

typedef struct {
    const copies *of;
    int given;
} copies_cursor;

static void *copies_begin(const void *self, uint64_t seed, uint64_t stream)
{
    copies_cursor *cursor = calloc(1, sizeof *cursor);
    (void)seed;
    (void)stream;
    if (cursor != NULL) cursor->of = self;
    return cursor;
}

static bool copies_next(void *self, spec_request *ret_request)
{
    copies_cursor *cursor = self;
    if (cursor->given == cursor->of->copies) return false;
    cursor->given++;
    *ret_request = cursor->of->request;
    return true;
}

/* Computes the tokens per second of a batch of copies of request r. */
static int replay(double *ret_rate, const spec_claim *claim, int32_t r,
                  const spec_length_choice *choice, spec_error *error)
{
    const spec_accepted_lengths *lengths = claim->opt_accepted;
    const copies batch = {.request = {.prompt = lengths->prompt[r],
                                      .output = lengths->output[r],
                                      .alpha = lengths->alpha[r],
                                      .replay = r},
                          .copies = (int)claim->batch};
    const spec_serving_plan plan = {.requests = {&batch, copies_begin, copies_next, free},
                                    .cost = claim->cost,
                                    .lengths = choice,
                                    .opt_accepted = lengths,
                                    .slots = batch.copies,
                                    .block = 16,
                                    .measured = UINT64_MAX};
    spec_serving_result result = {0};
    const int status = spec_serving_run(&result, &plan, 0, 0, claim->opt_stop, error);
    *ret_rate = (double)result.sums.output_tokens / result.sums.seconds;
    spec_serving_result_free(&result);
    return status;
}

int spec_claim_replayed_speedup(spec_claim_value *ret, const spec_claim *claim, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_length_choice *choice[2] = {NULL, NULL};
    const spec_accepted_lengths *lengths = claim->opt_accepted;
    double plain = 0.0, with = 0.0, square = 0.0;
    double(*rate)[2] = NULL;
    if (lengths == NULL || lengths->prompt == NULL || lengths->output == NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "accepted: give a file of accepted lengths with prompts and outputs"));
    if ((rate = malloc((size_t)lengths->n * sizeof *rate)) == NULL) SPEC_TRY(spec_no_memory(error));
    for (int i = 0; i < 2; i++) SPEC_TRY(fixed_K(&choice[i], i * claim->K, claim, error));
    for (int32_t r = 0; r < lengths->n; r++) {
        for (int i = 0; i < 2; i++) SPEC_TRY(replay(&rate[r][i], claim, r, choice[i], error));
        plain += rate[r][0];
        with += rate[r][1];
    }
    /* Linearises the ratio of means to find its variance. */
    const double n = lengths->n, value = with / plain;
    for (int32_t r = 0; r < lengths->n; r++)
        square += pow((rate[r][1] - value * rate[r][0]) / (plain / n), 2.0);
    const double half = 1.96 * sqrt(square / (n - 1.0) / n);
    *ret = (spec_claim_value){value, value - half, value + half};
done:
    for (int i = 0; i < 2; i++) spec_length_choice_free(choice[i]);
    free(rate);
    return status;
}
