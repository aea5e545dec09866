/* block_bootstrap: intervals for functions of sums over independent blocks, such as ratios of sums [Efron79].
 * A block is what must stay together: all that was measured in one text, whatever within it is dependent. Blocks are
 * drawn anew, whole, so that all columns keep what they share. The caller owns the arrays.
 * docs/formulas.md#bootstrap. */
#ifndef SPECLAB_BLOCK_BOOTSTRAP_H
#define SPECLAB_BLOCK_BOOTSTRAP_H

#include <gsl/gsl_rng.h>

/* Column sums of the sample, and of resamples of it.
 *
 *   ret_sum   (resamples+1, m): row 0 the sample's own sums, each further row those of n blocks drawn with replacement
 *   block     (n, m)
 *   n         blocks, >= 1;  m >= 1 columns;  resamples >= 0
 *
 * n numbers of the generator a resample. */
void spec_block_bootstrap_sums(double *ret_sum, const double *block, int n, int m, int resamples, gsl_rng *rng);

/* A statistic, its standard error, and the ends of its interval. */
typedef struct {
    double value, se, low, high;
} spec_block_interval;

/* The interval from a statistic's values on the rows of the above: value[0] on the sample, value[1..resamples] on
 * the resamples; these are sorted here.
 *
 *     se = sqrt(n / (n-1)) sd(resamples)
 *     low, high: quantiles error'/2 and 1 - error'/2 of them,   z(error'/2) = sqrt(n / (n-1)) t_{n-1}(error/2)
 *
 * the expanded percentile interval [Hesterberg15], for resamples of n blocks vary by (n-1)/n of the blocks' own
 * variance, and the variance of few is not known well; it does not depend on how the statistic is scaled.
 *   error     1 - confidence, in (0,1)
 *   returns NaN but for the value where n < 2, resamples < 2, error is outside (0,1) or a value is NaN. With 2 to 5
 *           blocks the ends are those of the resamples, and the confidence is less than asked.
 * Assumes independent blocks of one law. Checked by: coverage on laws that are known. */
spec_block_interval spec_block_bootstrap_interval(double *value, int resamples, int n, double error);

#endif
