/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/statistics/block_bootstrap.h"

#include "analysis/statistics/moments.h"
#include "base/wide_rng.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <string.h>

void spec_block_bootstrap_sums(double *ret_sum, const double *block, int n, int m, int resamples,
                               gsl_rng *rng)
{
    const size_t width = (size_t)m;
    memset(ret_sum, 0, ((size_t)resamples + 1) * width * sizeof *ret_sum);
    for (int r = 0; r <= resamples; r++) {
        double *sum = ret_sum + (size_t)r * width;
        for (int i = 0; i < n; i++) {
            const size_t drawn = r == 0 ? (size_t)i : spec_wide_rng_below(rng, (uint64_t)n);
            for (size_t k = 0; k < width; k++) sum[k] += block[drawn * width + k];
        }
    }
}

spec_block_interval spec_block_bootstrap_interval(double *value, int resamples, int n, double error)
{
    spec_block_interval interval = {value[0], NAN, NAN, NAN};
    if (n < 2 || resamples < 2 || !(error > 0.0 && error < 1.0)) return interval;
    spec_moments moments = {0};
    for (int r = 0; r <= resamples; r++) {
        if (isnan(value[r])) return interval;
        if (r > 0) spec_moments_add(&moments, value[r]);
    }
    const double widening = sqrt((double)n / (n - 1));
    const double tail = gsl_cdf_ugaussian_P(widening * gsl_cdf_tdist_Pinv(0.5 * error, n - 1));
    gsl_sort(value + 1, 1, (size_t)resamples);
    interval.se = widening * sqrt(spec_moments_variance(&moments));
    interval.low = gsl_stats_quantile_from_sorted_data(value + 1, 1, (size_t)resamples, tail);
    interval.high =
        gsl_stats_quantile_from_sorted_data(value + 1, 1, (size_t)resamples, 1.0 - tail);
    return interval;
}

/* Returns the standard deviation of a row's logarithms; returns false if a value is not a positive
 * number. */
static bool log_deviation(double *ret_sd, const double *value, int resamples)
{
    spec_moments moments = {0};
    for (int r = 0; r <= resamples; r++) {
        if (!(value[r] > 0.0) || isinf(value[r])) return false;
        if (r > 0) spec_moments_add(&moments, log(value[r]));
    }
    *ret_sd = sqrt(spec_moments_variance(&moments));
    return true;
}

static double standard_error(const double *value, int resamples, double widening)
{
    spec_moments moments = {0};
    for (int r = 1; r <= resamples; r++) spec_moments_add(&moments, value[r]);
    return widening * sqrt(spec_moments_variance(&moments));
}

void spec_block_bootstrap_joint(spec_block_interval *ret, const double *value, int m, int resamples,
                                int n, double error, double *work)
{
    const size_t row = (size_t)resamples + 1;
    const bool possible = n >= 2 && resamples >= 2 && error > 0.0 && error < 1.0;
    double sd;
    for (int r = 0; r < resamples; r++) work[r] = 0.0;
    for (int k = 0; k < m; k++) {
        const double *own = value + (size_t)k * row;
        ret[k] = (spec_block_interval){own[0], NAN, NAN, NAN};
        if (!possible || !log_deviation(&sd, own, resamples) || sd == 0.0) continue;
        for (int r = 0; r < resamples; r++)
            work[r] = fmax(work[r], fabs(log(own[r + 1] / own[0])) / sd);
    }
    if (!possible) return;
    gsl_sort(work, 1, (size_t)resamples);
    const double z =
        fmax(gsl_stats_quantile_from_sorted_data(work, 1, (size_t)resamples, 1.0 - error),
             gsl_cdf_ugaussian_Qinv(0.5 * error));
    const double widening = sqrt((double)n / (n - 1)),
                 t = gsl_cdf_tdist_Qinv(gsl_cdf_ugaussian_Q(z), n - 1);
    for (int k = 0; k < m; k++) {
        const double *own = value + (size_t)k * row;
        if (!log_deviation(&sd, own, resamples)) continue;
        ret[k].se = standard_error(own, resamples, widening);
        ret[k].low = own[0] * exp(-widening * t * sd);
        ret[k].high = own[0] * exp(widening * t * sd);
    }
}

void spec_block_bootstrap_largest(bool *ret, const double *value, int m, int resamples, int n,
                                  double error, spec_block_interval *interval, double *work)
{
    const size_t row = (size_t)resamples + 1;
    double *ratio = work + row;
    for (int k = 0; k < m; k++) {
        const double *own = value + (size_t)k * row;
        int others = 0;
        ret[k] = !isnan(own[0]);
        for (int i = 0; i < m && ret[k]; i++) {
            if (i == k) continue;
            for (size_t r = 0; r < row; r++)
                ratio[(size_t)others * row + r] = value[(size_t)i * row + r] / own[r];
            others++;
        }
        spec_block_bootstrap_joint(interval, ratio, others, resamples, n, error, work);
        for (int i = 0; i < others; i++) ret[k] = ret[k] && !(interval[i].low > 1.0);
    }
}
