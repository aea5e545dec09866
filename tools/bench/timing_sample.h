/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timing_sample: sums a measurement over its texts and over resamples, and forms ratios.
 * Ratios have bootstrap intervals, docs/formulas/statistics.md#bootstrap. Borrows the measurement
 * and owns the sums. */
#ifndef SPECLAB_TIMING_SAMPLE_H
#define SPECLAB_TIMING_SAMPLE_H

#include "analysis/statistics/bounded_ratio.h"
#include "tools/bench/timing_decoding.h"

typedef struct {
    const spec_timing *timed;
    int resamples;
    double error;  /* of intervals: 1 - confidence */
    double *sum;   /* (resamples+1, n_columns); row 0 is for the texts themselves */
    double *value; /* (resamples+1) for a statistic */
    double *work;  /* (resamples) */
} spec_timing_sample;

/* Computes the sums. Returns GSL_ENOMEM if out of memory. A zeroed sample may be freed. */
int spec_timing_sample_init(spec_timing_sample *sample, const spec_timing *timed, double error,
                            int resamples, spec_error *message);
void spec_timing_sample_free(spec_timing_sample *sample);

/* Fills value (resamples+1) with a product of n quotients of columns, sum[over[i]] / sum[under[i]],
 * for every row. */
void spec_timing_sample_quotient(double *value, const spec_timing_sample *sample, const int *over,
                                 const int *under, int n);

/* Returns the percentile interval of such a product. */
spec_block_interval spec_timing_sample_ratio(const spec_timing_sample *sample, const int *over,
                                             const int *under, int n);

/* Returns the interval of a positive value, computed on its logarithm and then cut by
 * spec_bounded_ratio; `least` is the lower bound of the value, 0 if there is none. */
spec_block_interval spec_timing_sample_reported(const spec_timing_sample *sample, const int *over,
                                                const int *under, int n, double least);

/* Returns whether a positive quotient is below a bound by more than noise. */
bool spec_timing_sample_below(const spec_timing_sample *sample, const int *over, const int *under,
                              int n, double bound);

#endif
