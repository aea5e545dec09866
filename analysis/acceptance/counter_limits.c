/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/counter_limits.h"

#include <gsl/gsl_errno.h>
#include <math.h>
#include <string.h>

/* Fills ret[j], j = 0..K, with the chance that a round accepts at least j tokens. For Beta(a, c -
 * a), the mean of alpha^j is the product of (a + i)/(c + i), i < j. */
static void fill_survival(double *ret, const spec_counted_engine *engine, double alpha)
{
    const double c = engine->over_rounds;
    double moment = 1.0;
    for (int j = 0; j <= engine->K; j++) {
        ret[j] = moment * pow(engine->decay, 0.5 * j * (j - 1));
        moment *= c > 0.0 ? (alpha * c + j) / (c + j) : alpha;
    }
}

/* Returns the chance that the draft was not stopped at random before its token of depth j. */
static double reaches(const spec_counted_engine *engine, int j)
{
    return j <= 1 ? 1.0 : pow(1.0 - engine->stop, j - 1);
}

/* Adds `share` times the mean number of rounds of a request that would accept k tokens, k = 0..K.
 * Such a round emits min(k, draft) + 1 tokens, and each ends the request with chance 1/output. */
static void add_rounds(double *N, const spec_counted_engine *engine, double output, double share,
                       double alpha)
{
    const int K = engine->K;
    const double ends = 1.0 / output, keep = 1.0 - ends, stay = engine->stay;
    double survival[SPEC_COUNTED_K + 1], part[SPEC_COUNTED_K + 1];
    double goes_on = keep, factor = keep, again = 0.0;
    fill_survival(survival, engine, alpha);
    for (int k = 0; k <= K; k++) {
        if (k > 0) goes_on -= ends * factor * reaches(engine, k);
        if (k > 0) factor *= keep;
        const double p = survival[k] - (k < K ? survival[k + 1] : 0.0);
        part[k] = p / (1.0 - stay * goes_on);
        again += (1.0 - stay) * goes_on * part[k];
    }
    for (int k = 0; k <= K; k++) N[k] += share * part[k] / (1.0 - again);
}

static void fill_depths(spec_counter_limits *ret, const spec_counted_engine *engine,
                        const double *N)
{
    double tested = 0.0;
    for (int j = 1; j <= engine->K; j++) {
        double at_least = 0.0;
        for (int k = j; k <= engine->K; k++) at_least += N[k] / ret->rounds;
        const double here = N[j - 1] / ret->rounds, reach = reaches(engine, j);
        ret->passes[j] = reach * at_least;
        ret->tests[j] = j == 1 ? 1.0 : reach * (at_least + here * (1.0 - engine->sees));
        ret->drafts[j] = j == 1 ? 1.0 : reach * (1.0 - engine->sees * (1.0 - at_least));
        ret->drafted += ret->drafts[j];
        ret->accepted += ret->passes[j];
        tested += ret->tests[j];
    }
    ret->alpha = tested > 0.0 ? ret->accepted / tested : NAN;
}

/* Computes the mean time of a step. Slots are independent, so the longest draft follows from the
 * law of one slot's draft. */
static double mean_step(const spec_counter_limits *limits, const spec_counted_engine *engine)
{
    const spec_affine_step *cost = &engine->cost;
    double passes = 0.0;
    for (int j = 1; j <= engine->K; j++)
        passes += 1.0 - pow(fmax(1.0 - limits->drafts[j], 0.0), engine->batch);
    const double tokens = engine->batch * (1.0 + limits->drafted);
    const double plain = cost->step + cost->token * fmax(tokens - engine->free_tokens, 0.0);
    return engine->K == 0 ? plain
                          : plain + cost->draft_round + cost->draft_pass * passes +
                                cost->draft_token * engine->batch * limits->drafted;
}

static int fail(spec_counter_limits *ret)
{
    *ret = (spec_counter_limits){NAN, NAN, NAN, NAN, NAN, {0}, {0}, {0}, NAN, NAN};
    for (int j = 0; j <= SPEC_COUNTED_K; j++) ret->drafts[j] = ret->tests[j] = ret->passes[j] = NAN;
    return GSL_EDOM;
}

int spec_counter_limits_of(spec_counter_limits *ret, const spec_counted_engine *engine,
                           const double *share, const double *alpha, int n)
{
    double N[SPEC_COUNTED_K + 1] = {0.0}, sum = 0.0;
    const double of_long = engine->long_share;
    if (!spec_counted_engine_ok(engine)) return fail(ret);
    for (int i = 0; i < n; i++) {
        if (!(alpha[i] >= 0.0 && alpha[i] <= 1.0 && share[i] >= 0.0)) return fail(ret);
        sum += share[i];
        add_rounds(N, engine, engine->output, share[i] * (1.0 - of_long), alpha[i]);
        if (of_long > 0.0) add_rounds(N, engine, engine->long_output, share[i] * of_long, alpha[i]);
    }
    if (!(fabs(sum - 1.0) < 1e-9)) return fail(ret);
    memset(ret, 0, sizeof *ret);
    for (int k = 0; k <= engine->K; k++) ret->rounds += N[k];
    fill_depths(ret, engine, N);
    const double output = (1.0 - of_long) * engine->output +
                          (of_long > 0.0 ? of_long * engine->long_output : 0.0);
    ret->tokens = output / ret->rounds;
    ret->step = mean_step(ret, engine);
    ret->tokens_per_s = engine->batch * ret->tokens / ret->step;
    return GSL_SUCCESS;
}

void spec_counter_limits_shorter(double *ret_low, double *ret_high, double tokens, double cut,
                                 int K_other)
{
    *ret_low = cut;
    *ret_high = tokens / (1.0 + (tokens - cut) / (K_other + 1.0));
}
