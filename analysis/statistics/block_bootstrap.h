/* SPDX-License-Identifier: GPL-3.0-or-later */
/* block_bootstrap: bootstrap intervals for functions of sums over independent blocks.
 * An example is a ratio of sums [Efron79]. A block holds all measurements of one text, which may be
 * dependent. Whole blocks are resampled, so all columns keep their dependence. The caller owns the
 * arrays. docs/formulas/statistics.md#bootstrap. */
#ifndef SPECLAB_BLOCK_BOOTSTRAP_H
#define SPECLAB_BLOCK_BOOTSTRAP_H

#include <gsl/gsl_rng.h>
#include <stdbool.h>

/* Fills the column sums of the sample and of its resamples.
 *
 *   ret_sum   (resamples+1, m): row 0 has the sample's own sums, each further row those of n blocks
 *             drawn with replacement
 *   block     (n, m)
 *   n         blocks, >= 1
 *   m         columns, >= 1
 *   resamples >= 0
 *
 * Takes n random numbers per resample. */
void spec_block_bootstrap_sums(double *ret_sum, const double *block, int n, int m, int resamples,
                               gsl_rng *rng);

/* A statistic, its standard error, and the ends of its interval. */
typedef struct {
    double value, se, low, high;
} spec_block_interval;

/* Returns the interval from a statistic's values on these rows: value[0] on the sample,
 * value[1..resamples] on the resamples, which it sorts.
 *
 *     se = sqrt(n / (n-1)) sd(resamples)
 *     low, high: quantiles error'/2 and 1 - error'/2 of them,
 *                z(error'/2) = sqrt(n / (n-1)) t_{n-1}(error/2)
 *
 * This is the expanded percentile interval [Hesterberg15]. It is wider because the variance of
 * resamples of n blocks is too small by (n-1)/n, and because a few blocks do not determine the
 * variance well. The result does not depend on the
 * scale on which the statistic is measured.
 *   error     1 - confidence, in (0,1)
 *   returns NaN except for the value if n < 2, resamples < 2, error is outside (0,1) or a value is
 *           NaN. With 2 to 5 blocks the ends are those of the resamples, and the confidence is
 *           lower than requested
 * Assumes iid blocks. Checked by: coverage on known laws. */
spec_block_interval spec_block_bootstrap_interval(double *value, int resamples, int n,
                                                  double error);

/* Computes intervals of m positive statistics that hold simultaneously with chance 1 - error, so
 * that you may pick one of them afterwards. They come from the largest studentised logarithm
 * [Westfall93].
 *
 *     z: quantile 1 - error over resamples of max_k |log(value_k[r] / value_k[0])| / sd_k,
 *        at least the normal quantile
 *     low, high = value_k[0] exp(-+ sqrt(n / (n-1)) t sd_k)
 *        with P(|Student_{n-1}| > t) = P(|normal| > z)
 *
 *   ret       (m): value and se as above
 *   value     (m, resamples+1): row k a statistic's values, as above
 *   work      (resamples)
 *   returns NaN except for the value if n < 2, resamples < 2 or error is outside (0,1), and for a
 *           row with a value that is not a positive number; the maximum ignores such rows
 * Assumes iid blocks. Checked by: coverage of several correlated ratios. */
void spec_block_bootstrap_joint(spec_block_interval *ret, const double *value, int m, int resamples,
                                int n, double error, double *work);

/* Finds the statistics that may be the largest: those for which no joint interval, of the ratios of
 * the others to it, lies entirely above 1.
 *
 *   ret       (m) false for a row of NaN, which is ignored
 *   value     (m, resamples+1) as above
 *   interval  (m) workspace
 *   work      (m+1, resamples+1) workspace
 * Without intervals (n < 2) every statistic may be the largest. Checked by: how often the truly
 * largest is among them. */
void spec_block_bootstrap_largest(bool *ret, const double *value, int m, int resamples, int n,
                                  double error, spec_block_interval *interval, double *work);

#endif
