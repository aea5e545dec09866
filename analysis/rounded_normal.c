/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/rounded_normal.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

double spec_rounded_normal_tail(double length, int K, int k)
{
    if (!isfinite(length) || K < 0) return NAN;
    if (k <= 0) return 1.0;
    return k <= K ? gsl_cdf_ugaussian_Q(k + 0.5 - length) : 0.0;
}

double spec_rounded_normal_mean(double length, int K)
{
    double mean = 1.0;
    if (!isfinite(length) || K < 0) return NAN;
    for (int k = K; k >= 1; k--) mean += spec_rounded_normal_tail(length, K, k);
    return mean;
}

/* We sum squared distances from the mean, so that nothing cancels. */
double spec_rounded_normal_variance(double length, int K)
{
    const double mean = spec_rounded_normal_mean(length, K) - 1.0;
    double variance = 0.0;
    for (int k = 0; k <= K; k++) {
        const double mass =
            spec_rounded_normal_tail(length, K, k) - spec_rounded_normal_tail(length, K, k + 1);
        variance += mass * (k - mean) * (k - mean);
    }
    return K >= 0 ? variance : NAN;
}
