/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/cluster_ratio.h"

#include "analysis/statistics/compensated.h"

#include <assert.h>
#include <float.h>
#include <gsl/gsl_cdf.h>
#include <math.h>

static double logistic(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

/* Returns passed - value * tested, or 0 if the difference is only rounding, so that clusters with
 * the same ratio show no spread. */
static double excess(double passed, double tested, double value)
{
    const double difference = passed - value * tested;
    return fabs(difference) > 4.0 * DBL_EPSILON * passed ? difference : 0.0;
}

/* Computes the interval of a proportion. If all trials have the same outcome, adds half a trial to
 * both outcomes. */
static void interval_of_proportion(spec_cluster_ratio *ratio, double tested, double t)
{
    double odds = ratio->value / (1.0 - ratio->value),
           se = ratio->se / (ratio->value * (1.0 - ratio->value));
    if (ratio->se == 0.0) {
        const double passed = ratio->value * tested + 0.5,
                     failed = (1.0 - ratio->value) * tested + 0.5;
        odds = passed / failed;
        se = sqrt(1.0 / passed + 1.0 / failed);
    }
    ratio->low = ratio->value == 0.0 ? 0.0 : logistic(log(odds) - t * se);
    ratio->high = ratio->value == 1.0 ? 1.0 : logistic(log(odds) + t * se);
}

spec_cluster_ratio spec_cluster_ratio_of(const double *passed, const double *tested, size_t n,
                                         int proportion, double error)
{
    spec_cluster_ratio ratio = {NAN, NAN, NAN, NAN, NAN, NAN};
    spec_compensated all_passed = {0}, all_tested = {0};
    double clusters = 0.0, square = 0.0, fourth = 0.0, share = 0.0;
    for (size_t g = 0; g < n; g++) {
        if (!(passed[g] >= 0.0 && tested[g] >= 0.0) || isinf(passed[g]) || isinf(tested[g]))
            return ratio;
        if (tested[g] == 0.0) continue;
        spec_compensated_add(&all_passed, passed[g]);
        spec_compensated_add(&all_tested, tested[g]);
        clusters++;
    }
    const double total = spec_compensated_value(&all_tested);
    if (clusters == 0.0) return ratio;
    ratio.value = spec_compensated_value(&all_passed) / total;
    if (clusters < 2.0) return ratio;
    for (size_t g = 0; g < n; g++) {
        if (tested[g] == 0.0) continue;
        const double h = tested[g] / total,
                     u = excess(passed[g], tested[g], ratio.value) / total / (1.0 - h);
        share += h * h;
        square += u * u;
        fourth += u * u * u * u;
    }
    ratio.se = sqrt((clusters - 1.0) / clusters * square);
    ratio.df = 1.0 / share - 1.0;
    const double spread = fourth - square * square / clusters;
    if (spread > 0.0) ratio.df = fmin(ratio.df, 2.0 * square * square / spread);
    ratio.df = fmax(ratio.df, 1.0);
    if (proportion)
        ratio.design_effect =
            ratio.value > 0.0 && ratio.value < 1.0
                ? ratio.se * ratio.se / (ratio.value * (1.0 - ratio.value) / total)
                : NAN;
    if (!(error > 0.0 && error < 1.0)) return ratio;
    const double t = gsl_cdf_tdist_Qinv(0.5 * error, ratio.df);
    if (proportion) {
        interval_of_proportion(&ratio, total, t);
    } else {
        const double wide = ratio.se > 0.0 ? exp(t * ratio.se / ratio.value) : 1.0;
        ratio.low = ratio.value / wide;
        ratio.high = ratio.value * wide;
    }
    return ratio;
}

size_t spec_cluster_ratio_join(double *column, size_t n, size_t m, size_t weight, size_t most)
{
    spec_compensated sum = {0}, before = {0};
    size_t joined = 0, current = 0;
    assert(weight < m && most >= 1);
    if (n <= most) return n;
    for (size_t i = 0; i < n; i++) spec_compensated_add(&sum, column[i * m + weight]);
    const double total = spec_compensated_value(&sum);
    for (size_t i = 0; i < n; i++) {
        /* The part of the series that holds this cluster's middle; parts may be empty. */
        const double own = total > 0.0 ? column[i * m + weight] : 1.0,
                     middle = (spec_compensated_value(&before) + 0.5 * own) /
                              (total > 0.0 ? total : (double)n);
        const size_t part = (size_t)fmin(middle * (double)most, (double)(most - 1));
        spec_compensated_add(&before, own);
        const double *row = column + i * m;
        if (i == 0 || part > current) {
            for (size_t k = 0; k < m; k++) column[joined * m + k] = row[k];
            joined++;
        } else {
            for (size_t k = 0; k < m; k++) column[(joined - 1) * m + k] += row[k];
        }
        current = part;
    }
    return joined;
}
