/* SPDX-License-Identifier: GPL-3.0-or-later */
/* log_histogram: counts of positive numbers in buckets of one relative width, for their quantiles.
 * A bucket is 1/1024 of the power of two below it, so whole numbers up to 2048 have their own. */
#ifndef SPECLAB_LOG_HISTOGRAM_H
#define SPECLAB_LOG_HISTOGRAM_H

#include <stdint.h>
#include <string.h>

/* Bits of a float: those of the mantissa that a bucket keeps, and its exponents, from 2^-20 (about
 * 1e-6) up to 2^28. */
enum {
    SPEC_LOG_HISTOGRAM_CUT = 13,
    SPEC_LOG_HISTOGRAM_FIRST = (127 - 20) << 10,
    SPEC_LOG_HISTOGRAM_BUCKETS = 48 << 10
};

/* Zeroed: empty. Bucket 0 has all that is smaller, 0 too, and the last one all that is larger. */
typedef struct {
    uint32_t count[SPEC_LOG_HISTOGRAM_BUCKETS];
} spec_log_histogram;

/* Counts a number >= 0. */
static inline void spec_log_histogram_add(spec_log_histogram *histogram, float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    int32_t i = (int32_t)(bits >> SPEC_LOG_HISTOGRAM_CUT) - SPEC_LOG_HISTOGRAM_FIRST;
    i = i < 0 ? 0 : i >= SPEC_LOG_HISTOGRAM_BUCKETS ? SPEC_LOG_HISTOGRAM_BUCKETS - 1 : i;
    histogram->count[i]++;
}

/* Returns the q-quantile of the numbers in all n histograms: the lower end of the bucket of the
 * order statistic of rank ceil(q N) among all N numbers, which is at most .1 % below it; 0 for
 * bucket 0; NaN if the histograms are empty. q is in (0,1]. */
double spec_log_histogram_quantile(spec_log_histogram *const *histogram, int n, double q);

#endif
