/* moments: running means and variances that do not cancel [Welford62; Chan83], and those of integer counts, exactly. */
#ifndef SPECLAB_MOMENTS_H
#define SPECLAB_MOMENTS_H

#include <stdint.h>

typedef struct {
    uint64_t n;
    double mean, m2;
} spec_moments;

void spec_moments_add(spec_moments *moments, double x);
void spec_moments_merge(spec_moments *into, const spec_moments *from);
double spec_moments_variance(const spec_moments *moments);       /* n - 1 in the denominator; NaN for n < 2 */
double spec_moments_standard_error(const spec_moments *moments);

/* Mean and variance (n - 1) of k weighted by counts[k], k = 0..K. */
void spec_moments_of_counts(double *ret_mean, double *ret_variance, const uint64_t *counts, int K);

/* (estimate - theory) / se; 0 where both differences vanish, +-inf where only se does. */
double spec_z(double estimate, double theory, double se);

#endif
