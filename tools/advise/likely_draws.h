/* SPDX-License-Identifier: GPL-3.0-or-later */
/* likely_draws: draws from ranges, and by weight. Headers only. */
#ifndef SPECLAB_LIKELY_DRAWS_H
#define SPECLAB_LIKELY_DRAWS_H

#include <gsl/gsl_rng.h>
#include <math.h>

/* Draws a number of a uniform distribution, low <= high. */
static inline double spec_likely_between(gsl_rng *rng, double low, double high)
{
    return low + (high - low) * gsl_rng_uniform(rng);
}

/* Draws a number whose logarithm is uniform, 0 < low <= high. */
static inline double spec_likely_log_between(gsl_rng *rng, double low, double high)
{
    return low * pow(high / low, gsl_rng_uniform(rng));
}

/* Draws i with probability (sum[i] - sum[i - 1]) / sum[n - 1]; the sums are `stride` doubles
 * apart. */
static inline int spec_likely_place(gsl_rng *rng, const double *sum, size_t stride, int n)
{
    const double mark = sum[(size_t)(n - 1) * stride] * gsl_rng_uniform(rng);
    int low = 0, high = n - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (sum[(size_t)middle * stride] > mark)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

#endif
