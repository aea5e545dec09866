/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/serve/claim_lengths.h"

#include "analysis/serving/best_lengths.h"
#include "analysis/statistics/moments.h"
#include "base/wide_rng.h"
#include "sim/chance/rng.h"
#include "sim/serving/length_choice.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdio.h>

enum { CASES = 300, REQUESTS = 4 };

typedef struct {
    double alpha[REQUESTS];
    int n, K_max;
    spec_affine_step cost;
    spec_step_work fixed;
} batch;

static double uniform(gsl_rng *rng, double low, double high)
{
    return low + (high - low) * gsl_rng_uniform(rng);
}

static batch draw(gsl_rng *rng, const spec_affine_step *cost, int K_max)
{
    batch b = {.n = 2 + (int)spec_wide_rng_below(rng, REQUESTS - 1), .K_max = K_max, .cost = *cost};
    for (int r = 0; r < b.n; r++) b.alpha[r] = uniform(rng, 0.1, 0.95);
    b.cost.token *= pow(10.0, uniform(rng, -1.0, 1.0));
    b.cost.draft_pass *= pow(10.0, uniform(rng, -1.0, 1.0));
    b.cost.draft_token *= pow(10.0, uniform(rng, -1.0, 1.0));
    b.fixed = (spec_step_work){.decoding = b.n};
    return b;
}

static double best_rate(const batch *b)
{
    int K[REQUESTS];
    return spec_best_lengths(K, b->alpha, b->n, b->K_max, &b->cost, &b->fixed);
}

/* ---- ways ------------------------------------------------------------------------------------ */

typedef int way(double *ret_rate, const batch *b, spec_error *error);

/* Uses the simulator's own choice of lengths. */
static int stop_at_first(double *ret_rate, const batch *b, spec_error *error)
{
    int status = GSL_SUCCESS;
    char target[128], draft[128], lengths[64];
    float alpha[REQUESTS];
    int32_t slot[REQUESTS], K[REQUESTS];
    spec_step_cost *cost = NULL;
    spec_length_choice *choice = NULL;
    void *state = NULL;
    snprintf(target, sizeof target, "affine?step=%.17gs&token=%.17gs", b->cost.step, b->cost.token);
    snprintf(draft, sizeof draft, "affine?round=%.17gs&pass=%.17gs&token=%.17gs",
             b->cost.draft_round, b->cost.draft_pass, b->cost.draft_token);
    snprintf(lengths, sizeof lengths, "goodput-each?K_max=%d&stop=first", b->K_max);
    SPEC_TRY(spec_step_cost_create(&cost, target, draft, error));
    SPEC_TRY(spec_length_choice_create(&choice, lengths, cost, error));
    if (spec_length_begin(&state, choice, REQUESTS) != GSL_SUCCESS) SPEC_TRY(spec_no_memory(error));
    for (int r = 0; r < b->n; r++) {
        alpha[r] = (float)b->alpha[r];
        slot[r] = r;
        if (spec_length_learns(choice)) spec_length_enter(choice, state, r);
    }
    const spec_step_batch step = {.n = b->n, .alpha = alpha, .slot = slot, .fixed = b->fixed};
    const int common = spec_length_choose(choice, state, &step, K);
    for (int r = 0; common >= 0 && r < b->n; r++) K[r] = common;
    *ret_rate = spec_best_lengths_rate(K, b->alpha, b->n, &b->cost, &b->fixed);
done:
    spec_length_end(state);
    spec_length_choice_free(choice);
    spec_step_cost_free(cost);
    return status;
}

static int common_K(double *ret_rate, const batch *b, spec_error *error)
{
    (void)error;
    *ret_rate = 0.0;
    for (int k = 0; k <= b->K_max; k++) {
        const int K[REQUESTS] = {k, k, k, k};
        *ret_rate = fmax(*ret_rate, spec_best_lengths_rate(K, b->alpha, b->n, &b->cost, &b->fixed));
    }
    return GSL_SUCCESS;
}

/* ---- quantities ------------------------------------------------------------------------------ */

/* Computes the mean over all cases with its interval, and the smallest rate. */
static int over_cases(spec_claim_value *ret_mean, double *ret_worst, const spec_claim *claim,
                      way *choose, spec_error *error)
{
    int status = GSL_SUCCESS;
    const spec_affine_step *cost = spec_step_cost_affine(claim->cost);
    spec_moments moments = {0};
    gsl_rng *rng = spec_rng_alloc();
    *ret_worst = 1.0;
    if (rng == NULL) SPEC_TRY(spec_no_memory(error));
    if (cost == NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "cost: this quantity needs an affine cost"));
    spec_rng_stream(rng, claim->seed, 0);
    for (int i = 0; i < CASES; i++) {
        const batch b = draw(rng, cost, claim->K);
        double rate;
        SPEC_TRY(choose(&rate, &b, error));
        /* The choice adds terms in a different order than the optimum, so rounding may differ. */
        const double share = fmin(1.0, rate / best_rate(&b) * (1.0 + 1e-12));
        spec_moments_add(&moments, share);
        *ret_worst = fmin(*ret_worst, share);
    }
    const double half = 1.96 * spec_moments_standard_error(&moments);
    *ret_mean = (spec_claim_value){moments.mean, moments.mean - half, moments.mean + half};
done:
    gsl_rng_free(rng);
    return status;
}

static int mean_of(spec_claim_value *ret, const spec_claim *claim, way *choose, spec_error *error)
{
    double worst;
    return over_cases(ret, &worst, claim, choose, error);
}

static int worst_of(spec_claim_value *ret, const spec_claim *claim, way *choose, spec_error *error)
{
    double worst;
    const int status = over_cases(ret, &worst, claim, choose, error);
    *ret = (spec_claim_value){worst, worst, worst};
    return status;
}

int spec_claim_stop_mean(spec_claim_value *ret, const spec_claim *claim, spec_error *error)
{
    return mean_of(ret, claim, stop_at_first, error);
}

int spec_claim_stop_worst(spec_claim_value *ret, const spec_claim *claim, spec_error *error)
{
    return worst_of(ret, claim, stop_at_first, error);
}

int spec_claim_common_mean(spec_claim_value *ret, const spec_claim *claim, spec_error *error)
{
    return mean_of(ret, claim, common_K, error);
}

int spec_claim_common_worst(spec_claim_value *ret, const spec_claim *claim, spec_error *error)
{
    return worst_of(ret, claim, common_K, error);
}
