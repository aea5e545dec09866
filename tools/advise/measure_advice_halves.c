/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/stop_flag.h"
#include "experiments/measures/coverage.h"
#include "experiments/measures/measures.h"
#include "speclab/no_memory.h"

#include "analysis/acceptance/cluster_ratio.h"
#include "analysis/statistics/moments.h"
#include "sim/chance/rng.h"
#include "sim/serving/requests/accepted_lengths.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>

enum { DIVISIONS = 1000, K_MOST = 64 };

/* Counts of requests at one draft length. */
typedef struct {
    int n;
    double *rounds, *emitted, *accepted, *tested; /* (n) */
} request_counts;

static int count_requests(request_counts *ret, const spec_accepted_lengths *lengths, int K)
{
    ret->n = lengths->n;
    ret->rounds = malloc(4 * (size_t)ret->n * sizeof *ret->rounds);
    if (ret->rounds == NULL) return GSL_ENOMEM;
    ret->emitted = ret->rounds + ret->n;
    ret->accepted = ret->emitted + ret->n;
    ret->tested = ret->accepted + ret->n;
    for (int r = 0; r < ret->n; r++) {
        const spec_accepted_count c = spec_accepted_lengths_count(lengths, r, K);
        ret->rounds[r] = (double)c.rounds;
        ret->emitted[r] = (double)(c.rounds + c.accepted);
        ret->accepted[r] = (double)c.accepted;
        ret->tested[r] = (double)c.tested;
    }
    return GSL_SUCCESS;
}

/* Returns the ratio for the requests from..from + n of `order`, one half of all. */
static spec_cluster_ratio half(const double *passed, const double *tested, const int *order, int n,
                               int proportion, double *work)
{
    for (int i = 0; i < n; i++) {
        work[i] = passed[order[i]];
        work[n + i] = tested[order[i]];
    }
    return spec_cluster_ratio_of(work, work + n, (size_t)n, proportion, SPEC_COVERAGE_ERROR);
}

/* Returns whether two ratios differ by no more than their standard errors explain at 95 %. */
static double agree(double a, double b, double se_a, double se_b, double df)
{
    const double t = gsl_cdf_tdist_Qinv(0.5 * SPEC_COVERAGE_ERROR, df);
    return spec_coverage_holds(-t * hypot(se_a, se_b), t * hypot(se_a, se_b), a - b);
}

static double binomial_se(double alpha, const double *tested, const int *order, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += tested[order[i]];
    return sqrt(alpha * (1.0 - alpha) / sum);
}

typedef struct {
    double alpha_held, alpha_independent, tokens_held, design_effect; /* sums over divisions */
} tally;

static void divide(tally *sum, const request_counts *c, const int *order, double *work)
{
    const int n = c->n / 2;
    const spec_cluster_ratio a = half(c->accepted, c->tested, order, n, 1, work),
                             b = half(c->accepted, c->tested, order + n, n, 1, work),
                             tokens_a = half(c->emitted, c->rounds, order, n, 0, work),
                             tokens_b = half(c->emitted, c->rounds, order + n, n, 0, work);
    sum->alpha_held +=
        agree(a.value, b.value, a.se, b.se, spec_moments_welch_df(a.se, a.df, b.se, b.df));
    sum->alpha_independent += agree(a.value, b.value, binomial_se(a.value, c->tested, order, n),
                                    binomial_se(b.value, c->tested, order + n, n), 1e9);
    sum->tokens_held +=
        agree(tokens_a.value, tokens_b.value, tokens_a.se, tokens_b.se,
              spec_moments_welch_df(tokens_a.se, tokens_a.df, tokens_b.se, tokens_b.df));
    sum->design_effect += a.design_effect;
}

static void fill(spec_table *table, const request_counts *c, const tally *sum, double n)
{
    const spec_cluster_ratio alpha = spec_cluster_ratio_of(c->accepted, c->tested, (size_t)c->n, 1,
                                                           SPEC_COVERAGE_ERROR),
                             tokens = spec_cluster_ratio_of(c->emitted, c->rounds, (size_t)c->n, 0,
                                                            SPEC_COVERAGE_ERROR);
    spec_table_integer(table, "requests", c->n);
    spec_table_number(table, "alpha_tested", alpha.value);
    spec_table_number(table, "emitted", tokens.value);
    spec_table_number(table, "alpha_held", sum->alpha_held / n);
    spec_table_number(table, "alpha_independent", sum->alpha_independent / n);
    spec_table_number(table, "tokens_held", sum->tokens_held / n);
    spec_table_number(table, "design_effect", sum->design_effect / n);
    spec_table_number(table, "alpha_held_z", spec_coverage_z(sum->alpha_held / n, false, n));
    spec_table_number(table, "tokens_held_z", spec_coverage_z(sum->tokens_held / n, false, n));
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    spec_accepted_lengths lengths = {0};
    request_counts counts = {0};
    tally sum = {0};
    int *order = NULL;
    double *work = NULL;
    gsl_rng *rng = spec_rng_alloc();
    const uint64_t n = point->rounds > 0 ? point->rounds : DIVISIONS;
    int K, status = GSL_SUCCESS;
    SPEC_TRY(spec_point_int(&K, point, measure, "K", 1, K_MOST, error));
    SPEC_TRY(spec_point_read(point));
    SPEC_TRY(spec_point_blame(
        spec_accepted_lengths_load(&lengths, spec_point_text(point, measure, "accepted"), error),
        "accepted", error));
    if (lengths.n < 4)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "accepted: %d requests; halves need 4", lengths.n));
    order = malloc((size_t)lengths.n * sizeof *order);
    work = malloc((size_t)lengths.n * sizeof *work);
    if (rng == NULL || order == NULL || work == NULL ||
        count_requests(&counts, &lengths, K) != GSL_SUCCESS)
        SPEC_TRY(spec_no_memory(error));
    for (int i = 0; i < lengths.n; i++) order[i] = i;
    spec_rng_stream(rng, point->seed, 0);
    for (uint64_t i = 0; i < n; i++) {
        SPEC_TRY(spec_stop_check(point->stop, error));
        gsl_ran_shuffle(rng, order, (size_t)lengths.n, sizeof *order);
        divide(&sum, &counts, order, work);
    }
    fill(table, &counts, &sum, (double)n);
done:
    free(counts.rounds);
    free(order);
    free(work);
    if (rng != NULL) gsl_rng_free(rng);
    spec_accepted_lengths_free(&lengths);
    return status;
}

static const char *const parameters[] = {"accepted", "K=4", NULL};
static const char *const columns[] = {
    "requests",    "alpha_tested",  "emitted",      "alpha_held",    "alpha_independent",
    "tokens_held", "design_effect", "alpha_held_z", "tokens_held_z", NULL};
static const spec_headline headlines[] = {
    {.column = "alpha_held"}, {.column = "alpha_independent"}, {.column = "tokens_held"}, {0}};
static const char *const checked[] = {"alpha_held_z", "tokens_held_z", NULL};

const spec_measure spec_measure_advice_halves = {
    .name = "advice_halves",
    .summary = "how often half of the measured requests predict the other half within 95 % "
               "intervals, compared with intervals that assume independent tokens",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .checked = checked,
    .simulates = true,
    .run = run,
};
