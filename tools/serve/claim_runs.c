/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/serve/claim_runs.h"

#include "speclab/no_memory.h"
#include "tools/serve/begun_requests.h"
#include "tools/serve/claim_formulas.h"
#include "tools/serve/serving_rows.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* WARM is a minimum, as in `serve`: a high load needs more. */
enum { REPLICATIONS = 8, MEASURED = 160000, WARM = 32000 };

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

/* Describes an engine without limits to `serve`. */
static int question_of(spec_serving_question *ret, const spec_claim *claim, spec_error *error)
{
    int status = GSL_SUCCESS;
    char K[16];
    *ret = (spec_serving_question){.load = SPEC_SERVING_OPEN,
                                   .rate = claim->rate,
                                   .alpha = claim->alpha,
                                   /* borrowed from the claim */
                                   .cost = (spec_step_cost *)claim->cost,
                                   .measured = MEASURED / SPEC_REPLICATIONS,
                                   .warm = WARM / SPEC_REPLICATIONS};
    snprintf(K, sizeof K, "0,%d", claim->K);
    SPEC_TRY(spec_acceptance_process_init(&ret->process, "iid", claim->alpha, error));
    SPEC_TRY(spec_slo_parse(&ret->slo, "", error));
    SPEC_TRY(requests_of(&ret->requests, claim, true, error));
    SPEC_TRY(spec_serving_choices_init(&ret->choices, claim->K > 0 ? K : "0", "fixed", claim->cost,
                                       error));
    ret->by_length = spec_requests_by_length(&ret->requests);
    ret->plan = (spec_serving_plan){.requests = spec_requests_source(&ret->requests),
                                    .cost = claim->cost,
                                    .slots = 1 << 16,
                                    .block = 16};
done:
    return status;
}

/* Runs the rows of `serve`, which begin with requests under way. */
int spec_claim_latency_speedup(spec_claim_value *ret, const spec_claim *claim, spec_error *error)
{
    const spec_point point = {
        .seed = claim->seed, .opt_context = claim->opt_context, .stop = claim->opt_stop};
    spec_serving_question *question = calloc(1, sizeof *question);
    spec_serving_rows *rows = calloc(1, sizeof *rows);
    int status = GSL_SUCCESS;
    if (question == NULL || rows == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(question_of(question, claim, error));
    SPEC_TRY(spec_serving_rows_run(rows, question, &point, error));
    for (int i = 0; i < rows->n; i++)
        if (!spec_serving_row_counts(&rows->row[i]))
            SPEC_TRY(spec_fail(error, GSL_EINVAL,
                               "rate: %g requests/s are at or above the capacity at K = %d",
                               claim->rate, question->choices.way[i].K));
    const spec_block_interval *speedup = &rows->row[rows->n - 1].paired.speedup;
    *ret = (spec_claim_value){speedup->value, speedup->low, speedup->high};
done:
    if (rows != NULL) spec_serving_rows_free(rows);
    if (question != NULL) {
        question->cost = NULL;
        spec_serving_question_free(question);
    }
    free(question);
    free(rows);
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
    const spec_replications_plan replicated = {.n = REPLICATIONS,
                                               .seed = claim->seed,
                                               .opt_pool = spec_context_pool(claim->opt_context),
                                               .opt_stop = claim->opt_stop};
    if (runs == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(requests_of(&requests, claim, false, error));
    const spec_requests by_length = spec_requests_by_length(&requests);
    const spec_begun_requests begun = {.inner = spec_requests_source(&requests),
                                       .by_length = spec_requests_source(&by_length),
                                       .slots = (int)claim->batch,
                                       .step = 1.0,
                                       .K = claim->K};
    SPEC_TRY(spec_claim_rounds_law(&law, claim, error));
    SPEC_TRY(fixed_K(&choice, claim->K, claim, error));
    const spec_serving_plan plan = {.requests = spec_begun_requests_source(&begun),
                                    .cost = claim->cost,
                                    .lengths = choice,
                                    .closed = true,
                                    .slots = (int)claim->batch,
                                    .block = 16,
                                    .warm = WARM / REPLICATIONS,
                                    .measured = MEASURED / REPLICATIONS};
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
