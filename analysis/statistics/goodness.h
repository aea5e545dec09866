/* SPDX-License-Identifier: GPL-3.0-or-later */
/* goodness: goodness-of-fit tests of counts and of p-values.
 * The degrees of freedom are the number of cells after pooling, minus one, minus the number of
 * fitted parameters. p-values are upper tails. Allocates nothing. [Pearson00; Marsaglia03; Vrbik18;
 * Holm79]. */
#ifndef SPECLAB_GOODNESS_H
#define SPECLAB_GOODNESS_H

#include <gsl/gsl_errno.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    double statistic; /* +inf if something impossible was observed */
    int df;           /* after pooling, >= 0 */
    double p;         /* 1 if df = 0; 0 if something impossible was observed */
    /* sum of 1/expected over the cells after pooling, minus 1/all: for Williams' correction */
    double inverse;
    int pooled; /* cells in the pool; 0 or >= 2, or 1 if there is only one cell */
} spec_goodness;

/* Compute Pearson's chi-square and the likelihood ratio G of counts (n) against probability (n).
 *
 *     chi^2 = sum (observed - expected)^2 / expected,   G = 2 sum observed log(observed / expected)
 *
 * Both are compared with chi-square's upper tail. Cells with an expected count below min_expected
 * (5 is usual; 0 pools nothing) form one pool. If the pool is still below min_expected, it also
 * takes in the smallest of the other expected counts, the first one among ties. Pooling depends
 * only on the expected counts. A cell of probability zero is ignored: it adds no degree of freedom.
 * If anything was counted in it, the impossible happened, and p = 0.
 *
 *   fitted  parameters of the law that were estimated from these counts, >= 0
 *   returns GSL_EDOM, and zeros, for a probability that is negative or NaN, a sum off 1 by more
 *           than 1e-9, or min_expected < 0 or NaN
 * Counts that are all zero, or a law that pools into one cell, give df = 0, p = 1. Checked by:
 * hand-worked tables; uniform p-values under the law. */
int spec_goodness_chi_square(spec_goodness *ret, const uint64_t *counts, const double *probability,
                             size_t n, double min_expected, int fitted);
int spec_goodness_g(spec_goodness *ret, const uint64_t *counts, const double *probability, size_t n,
                    double min_expected, int fitted);

/* Returns how many cells these tests have after pooling, for `draws` draws; 1 means there is
 * nothing to test. *ret_pooled receives the probability of the pool, or 0 if no two cells are
 * pooled. */
int spec_goodness_cells(double *ret_pooled, const double *probability, size_t n, double draws,
                        double min_expected);

/* Returns G with Williams' correction [Williams76], to be compared with chi-square: with few counts
 * G is too large by the factor 1 + inverse/(6 df), so we divide by it. NaN if df = 0. */
double spec_goodness_williams(const spec_goodness *g);

/* Returns the two-sided p-value of a sum of independent terms, from its deviation from the
 * expectation, its variance and its third central moment. It is twice the smaller tail of the
 * shifted gamma distribution with these moments, mirrored if the third moment is negative, or of
 * the normal distribution if it is 0. The caller smooths counts by adding a uniform number in
 * [-1/2,1/2). For events with equal chances the gamma tails are heavier than the true ones, so a
 * small p-value is too large rather than too small. 1 if the deviation or the variance is 0; NaN
 * for a negative variance. docs/formulas/statistics.md#counts. Checked by: exact tails of binomial
 * laws. */
double spec_goodness_sum_p(double deviation, double variance, double third);

/* Computes the Kolmogorov-Smirnov distance of a sorted sample (n) from the uniform law on [0,1],
 * and its two-sided p-value.
 *
 *     d = max_i max(i/n - sorted[i-1], sorted[i-1] - (i-1)/n),  i = 1..n
 *
 * p is exact for n <= 20 [Marsaglia03], to 1e-13 absolute. Above that, it is the limit law at
 * sqrt(n) d + 1/(6 sqrt(n)) + (sqrt(n) d - 1)/(4n) [Vrbik18], within 0.0006 of the exact p. With
 * the argument d (sqrt(n) + 0.12 + 0.11/sqrt(n)) of [Stephens70] it would be off by up to 0.02. n =
 * 0 gives d = 0, p = 1. NaN in the sample gives NaN. Checked by: a recursion over the band's
 * breakpoints, n <= 99. */
void spec_goodness_ks_uniform(double *ret_d, double *ret_p, const double *sorted, size_t n);

/* Computes Holm's step-down adjusted p-values: reject if adjusted <= family error [Holm79].
 *
 *     adjusted of the i-th smallest = max over j <= i of min(1, (n - j + 1) p_(j)),  i = 1..n
 *
 * adjusted (n) may alias p; order (n) is workspace. If any p is NaN, all are NaN, because the
 * family is then unknown. */
void spec_goodness_holm(double *ret_adjusted, const double *p, size_t n, size_t *order);

/* Returns the two-sided p-value of a standard normal z: P(|Z| >= |z|). 0 at +-inf, NaN at NaN. */
double spec_goodness_normal_p(double z);

#endif
