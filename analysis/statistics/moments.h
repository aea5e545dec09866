/* moments: running means and variances that do not cancel [Welford62; Chan83], and those of integer counts.
 * A zeroed spec_moments is empty and ready. Merging in any order agrees to rounding; merge in index order for
 * identical bytes. */
#ifndef SPECLAB_MOMENTS_H
#define SPECLAB_MOMENTS_H

#include <stdint.h>

typedef struct {
    uint64_t n;
    double mean; /* 0 for n = 0 */
    double m2;   /* sum of squared differences from the mean */
} spec_moments;

/* One more observation, by Welford's update. */
void spec_moments_add(spec_moments *moments, double x);

/* into becomes the moments of both samples together [Chan83]. Either may be empty. */
void spec_moments_merge(spec_moments *into, const spec_moments *from);

/* The unbiased sample variance, n - 1 in the denominator; NaN for n < 2. */
double spec_moments_variance(const spec_moments *moments);

/* Of the mean: sqrt(variance / n); NaN for n < 2. */
double spec_moments_standard_error(const spec_moments *moments);

/* Mean and variance (n - 1) of k = 0..K, where k was seen counts[k] times. The sums of counts and of k counts[k] are
 * integers, hence exact up to 2^64. Mean NaN without observations, variance NaN with fewer than 2. Checked by: the
 * running moments of the same sample. */
void spec_moments_of_counts(double *ret_mean, double *ret_variance, const uint64_t *counts, int K);

/* (estimate - theory) / se: how many standard errors they are apart.
 * se = 0: 0 where they are equal to 1 part in 2^40, the rounding of a theory, else +inf or -inf. NaN where an argument is NaN or se < 0. */
double spec_z(double estimate, double theory, double se);

#endif
