/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/log_histogram.h"

#include <math.h>

static double lower_end(int bucket)
{
    const uint32_t bits = (uint32_t)(bucket + SPEC_LOG_HISTOGRAM_FIRST) << SPEC_LOG_HISTOGRAM_CUT;
    float x;
    memcpy(&x, &bits, sizeof x);
    return bucket == 0 ? 0.0 : (double)x;
}

static uint64_t count_of(spec_log_histogram *const *histogram, int n, int bucket)
{
    uint64_t count = 0;
    for (int i = 0; i < n; i++) count += histogram[i]->count[bucket];
    return count;
}

double spec_log_histogram_quantile(spec_log_histogram *const *histogram, int n, double q)
{
    uint64_t all = 0, below = 0;
    for (int b = 0; b < SPEC_LOG_HISTOGRAM_BUCKETS; b++) all += count_of(histogram, n, b);
    for (int b = 0; b < SPEC_LOG_HISTOGRAM_BUCKETS; b++) {
        below += count_of(histogram, n, b);
        if (below > 0 && (double)below >= q * (double)all) return lower_end(b);
    }
    return NAN;
}
