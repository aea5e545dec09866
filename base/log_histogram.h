/* SPDX-License-Identifier: GPL-3.0-or-later */
/* log_histogram: counts positive numbers in buckets of equal relative width, to find quantiles.
 * The buckets from one power of two to the next are 1/1024 of it wide, so each whole number up to
 * 2048 has its own bucket. */
#ifndef SPECLAB_LOG_HISTOGRAM_H
#define SPECLAB_LOG_HISTOGRAM_H

#include <stdint.h>
#include <string.h>

/* A bucket is given by the leading bits of a float: we cut off the last bits of the mantissa, and
 * cover the exponents from 2^-20 (about 1e-6) up to 2^28. */
enum {
    SPEC_LOG_HISTOGRAM_CUT = 13,
    SPEC_LOG_HISTOGRAM_FIRST = (127 - 20) << 10,
    SPEC_LOG_HISTOGRAM_BUCKETS = 48 << 10
};

/* A zeroed histogram is empty. Bucket 0 also counts all smaller numbers, including 0, and the last
 * bucket all larger ones. */
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

/* Fills in the q[0], ..., q[n_q-1]-quantiles of the numbers in all n histograms. For q, that is the
 * number of rank ceil(q N) among all N numbers, rounded down to the lower end of its bucket, so
 * that it is at most .1 % too low: 0 for bucket 0, and NaN if the histograms are empty. All q are
 * in (0,1], and ascend. */
void spec_log_histogram_quantiles(double *ret, const double *q, int n_q,
                                  spec_log_histogram *const *histogram, int n);

#endif
