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

enum { BLOCK = 1024 }; /* buckets that are added up together, in the order of memory */

/* Fills in the sums over all histograms of BLOCK buckets from `first` on. */
static void add_block(uint64_t sum[BLOCK], spec_log_histogram *const *histogram, int n, int first)
{
    memset(sum, 0, BLOCK * sizeof *sum);
    for (int i = 0; i < n; i++)
        for (int b = 0; b < BLOCK; b++) sum[b] += histogram[i]->count[first + b];
}

void spec_log_histogram_quantiles(double *ret, const double *q, int n_q,
                                  spec_log_histogram *const *histogram, int n)
{
    uint64_t all = 0, below = 0, sum[BLOCK];
    int k = 0;
    for (int i = 0; i < n; i++)
        for (int b = 0; b < SPEC_LOG_HISTOGRAM_BUCKETS; b++) all += histogram[i]->count[b];
    for (int first = 0; first < SPEC_LOG_HISTOGRAM_BUCKETS && below < all; first += BLOCK) {
        add_block(sum, histogram, n, first);
        for (int b = 0; b < BLOCK; b++) {
            below += sum[b];
            for (; k < n_q && below > 0 && (double)below >= q[k] * (double)all; k++)
                ret[k] = lower_end(first + b);
        }
    }
    for (; k < n_q; k++) ret[k] = NAN;
}
