/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/statistics/permutation.h"

#include "base/wide_rng.h"

#include <math.h>
#include <string.h>

static double ratio_of(const double *passed, const double *tested, size_t n)
{
    double all_passed = 0.0, all_tested = 0.0;
    for (size_t i = 0; i < n; i++) {
        all_passed += passed[i];
        all_tested += tested[i];
    }
    return all_passed / all_tested;
}

/* Returns the variance of a ratio over n clusters. */
static double variance_of(const double *passed, const double *tested, size_t n, double ratio)
{
    double square = 0.0, all_tested = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double u = passed[i] - ratio * tested[i];
        square += u * u;
        all_tested += tested[i];
    }
    return (double)n / (double)(n - 1) * square / (all_tested * all_tested);
}

/* Returns the absolute studentised difference; inf if there is a difference but no spread, NaN for
 * a side without trials. */
static double statistic(const double *passed, const double *tested, size_t n_before, size_t n)
{
    const double before = ratio_of(passed, tested, n_before),
                 after = ratio_of(passed + n_before, tested + n_before, n - n_before);
    const double difference = fabs(after - before);
    if (difference <= 0x1p-40 * fabs(before)) return 0.0;
    return difference /
           sqrt(variance_of(passed, tested, n_before, before) +
                variance_of(passed + n_before, tested + n_before, n - n_before, after));
}

static void swap(double *x, size_t i, size_t j)
{
    const double kept = x[i];
    x[i] = x[j];
    x[j] = kept;
}

spec_permutation spec_permutation_ratio(const double *passed, const double *tested, size_t n_before,
                                        size_t n_after, int permutations, double *work,
                                        gsl_rng *rng)
{
    const size_t n = n_before + n_after;
    double *drawn_passed = work, *drawn_tested = work + n;
    spec_permutation ret = {ratio_of(passed, tested, n_before),
                            ratio_of(passed + n_before, tested + n_before, n_after), 1.0};
    if (n_before < 2 || n_after < 2) return ret;
    const double own = statistic(passed, tested, n_before, n);
    memcpy(drawn_passed, passed, n * sizeof *work);
    memcpy(drawn_tested, tested, n * sizeof *work);
    int extreme = 0;
    for (int r = 0; r < permutations; r++) {
        for (size_t i = 0; i < n_before; i++) {
            const size_t j = i + spec_wide_rng_below(rng, n - i);
            swap(drawn_passed, i, j);
            swap(drawn_tested, i, j);
        }
        /* Rounding must not break ties. A division with NaN, because a side has no trials, counts
         * as extreme. */
        extreme += !(statistic(drawn_passed, drawn_tested, n_before, n) < own * (1.0 - 1e-10));
    }
    ret.p = (1.0 + extreme) / (1.0 + fmax(permutations, 0));
    return ret;
}
