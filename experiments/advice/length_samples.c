/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/length_samples.h"

#include "base/wide_rng.h"
#include "sim/chance/rng.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_minmax.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Adds n clusters of the run, drawn with replacement (or each once, without a generator). */
static void add_clusters(double *sum, const spec_observed_run *run, gsl_rng *opt_rng)
{
    const int used = SPEC_SUM_PASSED + run->depths;
    for (size_t i = 0; i < run->n; i++) {
        const size_t drawn = opt_rng == NULL ? i : spec_wide_rng_below(opt_rng, run->n);
        const double *cluster = run->column + drawn * SPEC_SUM_COLUMNS;
        for (int c = 0; c < used; c++) sum[c] += cluster[c];
    }
}

/* Sums of all runs. A length's run over all batches comes first, and is the sum of the others. */
static void draw(double *sum, const spec_observed_runs *runs, gsl_rng *opt_rng)
{
    double *all = sum;
    memset(sum, 0, runs->n * SPEC_SUM_COLUMNS * sizeof *sum);
    for (size_t i = 0; i < runs->n; i++) {
        double *own = sum + i * SPEC_SUM_COLUMNS;
        if (runs->run[i].batch < 0) {
            all = own;
            continue;
        }
        add_clusters(own, &runs->run[i], opt_rng);
        for (int c = 0; c < SPEC_SUM_COLUMNS; c++) all[c] += own[c];
    }
}

int spec_length_samples_init(spec_length_samples *samples, const spec_length_plan *plan)
{
    const size_t rows = SPEC_LENGTH_RESAMPLES + 1, runs = plan->runs->n;
    gsl_rng *rng = spec_rng_alloc();
    double *sum = malloc(runs * SPEC_SUM_COLUMNS * sizeof *sum);
    *samples = (spec_length_samples){.plan = plan};
    samples->speed = malloc(rows * SPEC_ADVICE_K * sizeof *samples->speed);
    samples->work = malloc(rows * sizeof *samples->work);
    const bool whole =
        rng != NULL && sum != NULL && samples->speed != NULL && samples->work != NULL;
    for (size_t r = 0; r < rows && whole; r++) {
        spec_rng_stream(rng, plan->question->seed, r);
        draw(sum, plan->runs, r > 0 ? rng : NULL);
        spec_length_speeds(samples->speed + r * SPEC_ADVICE_K, plan, sum);
    }
    free(sum);
    if (rng != NULL) gsl_rng_free(rng);
    if (!whole) spec_length_samples_free(samples);
    return whole ? GSL_SUCCESS : GSL_ENOMEM;
}

void spec_length_samples_free(spec_length_samples *samples)
{
    free(samples->speed);
    free(samples->work);
    *samples = (spec_length_samples){0};
}

/* ---- intervals ------------------------------------------------------------------------------- */

/* Clusters of the run that says most of K. The user's number for plain decoding has none, and is
 * exact. */
static int clusters_of(const spec_length_plan *plan, int K)
{
    const spec_observed_run *run =
        K > 0 ? spec_length_plan_base(plan, K) : spec_observed_runs_find(plan->runs, 0, -1);
    return run != NULL ? (int)run->n : INT_MAX;
}

/* The fewest clusters of the runs behind a comparison of K and another length. */
static int clusters(const spec_length_plan *plan, int K, int other)
{
    const int n = GSL_MIN(clusters_of(plan, K), clusters_of(plan, other));
    const bool both_drafted = K > 0 && other > 0;
    return plan->reference == 0 && both_drafted ? GSL_MIN(n, clusters_of(plan, 0)) : n;
}

/* One end of an interval from the values in work. Resamples of few clusters vary less than the ends
 * of their interval: there it is Student's, on the scale of logarithms. */
static double end_of(spec_length_samples *samples, int n, bool high)
{
    enum { FEW = 16 };
    const double error = samples->plan->question->error;
    const spec_block_interval interval =
        spec_block_bootstrap_interval(samples->work, SPEC_LENGTH_RESAMPLES, n, error);
    if (n < 2 || n >= FEW || !(interval.value > 0.0)) return high ? interval.high : interval.low;
    const double distance = gsl_cdf_tdist_Qinv(0.5 * error, n - 1) * interval.se / interval.value;
    return interval.value * exp(high ? distance : -distance);
}

spec_block_interval spec_length_samples_interval(spec_length_samples *samples, int K)
{
    const spec_length_speed *at = samples->speed + K;
    const int n = clusters(samples->plan, K, K);
    spec_block_interval ret = {at->speed.point, NAN, NAN, NAN};
    for (int r = 0; r <= SPEC_LENGTH_RESAMPLES; r++)
        samples->work[r] = at[r * SPEC_ADVICE_K].speed.low;
    ret.low = end_of(samples, n, false);
    for (int r = 0; r <= SPEC_LENGTH_RESAMPLES; r++)
        samples->work[r] = at[r * SPEC_ADVICE_K].speed.high;
    ret.high = end_of(samples, n, true);
    return ret;
}

spec_block_interval spec_length_samples_ratio(spec_length_samples *samples, int K, int other)
{
    const spec_length_speed *a = samples->speed + K, *b = samples->speed + other;
    const int n = clusters(samples->plan, K, other);
    spec_block_interval ret = {a->speed.point / b->speed.point, NAN, NAN, NAN};
    for (int r = 0; r <= SPEC_LENGTH_RESAMPLES; r++)
        samples->work[r] = a[r * SPEC_ADVICE_K].speed.low / b[r * SPEC_ADVICE_K].speed.high;
    ret.low = end_of(samples, n, false);
    for (int r = 0; r <= SPEC_LENGTH_RESAMPLES; r++)
        samples->work[r] = a[r * SPEC_ADVICE_K].speed.high / b[r * SPEC_ADVICE_K].speed.low;
    ret.high = end_of(samples, n, true);
    return ret;
}
