/* SPDX-License-Identifier: GPL-3.0-or-later */
/* moments: running means and variances that do not cancel.
 * [Welford62; Chan83]. A zeroed spec_moments is empty and ready. Merging in any order agrees up to
 * rounding; merge in index order for identical bytes. */
#ifndef SPECLAB_MOMENTS_H
#define SPECLAB_MOMENTS_H

#include <stdint.h>

typedef struct {
    uint64_t n;
    double mean; /* 0 for n = 0 */
    double m2;   /* sum of squared differences from the mean */
} spec_moments;

/* Adds one observation, by Welford's update. */
void spec_moments_add(spec_moments *moments, double x);

/* Merges `from` into `into`, which becomes the moments of both samples together [Chan83]. Either
 * may be empty. */
void spec_moments_merge(spec_moments *into, const spec_moments *from);

/* Returns the unbiased sample variance, n - 1 in the denominator; NaN for n < 2. */
double spec_moments_variance(const spec_moments *moments);

/* Returns the standard error of the mean, sqrt(variance / n); NaN for n < 2. */
double spec_moments_standard_error(const spec_moments *moments);

/* Returns the deviation of an estimate from theory, as a number that is standard normal if they
 * agree.
 *
 *     t = (estimate - theory) / se,     z: P(|N| > |z|) = P(|T| > |t|), with the sign of t
 *
 * N is standard normal, and T is Student's with df degrees of freedom, the law of t if se comes
 * from df + 1 normal values. So |z| > 5 has chance 6e-7 for every df, while at df = 63 |t| > 5 is
 * 8.5 times as likely.
 *   df      degrees of freedom of se: values (batches, rounds) minus one; inf if se is known: z = t
 *   returns z; if P underflows, sqrt(df log(1 + t^2/df)), its limit. At se = 0: 0 if both are equal
 *           to 1 part in 2^40, which allows for rounding in the theory, else +inf or -inf. NaN if
 *           an argument is NaN, se < 0 or df <= 0 */
double spec_moments_z(double estimate, double theory, double se, double df);

/* A row fails its check if |z| exceeds this; by chance, 6e-7 of correct rows do. */
#define SPEC_CHECK_Z 5.0

/* Returns the degrees of freedom of hypot(se_a, se_b), for independent standard errors; either may
 * be 0 [Welch47]. */
double spec_moments_welch_df(double se_a, double df_a, double se_b, double df_b);

#endif
