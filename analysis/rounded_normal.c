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
