/* goodness: do these counts, or these p-values, come from that law?
 * Degrees of freedom are honest: cells after pooling, less one, less fitted parameters. p-values are upper tails.
 * Nothing is allocated. [Pearson00; Marsaglia03; Vrbik18; Holm79]. */
#ifndef SPECLAB_GOODNESS_H
#define SPECLAB_GOODNESS_H

#include <gsl/gsl_errno.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    double statistic; /* +inf where something impossible was seen */
    int df;           /* after pooling, >= 0 */
    double p;         /* 1 where df = 0; 0 where something impossible was seen */
    double inverse;   /* sum of 1/expected over the cells after pooling, less 1/all: for Williams' correction */
    int pooled;       /* cells that went into the pool; 0 or >= 2, or 1 where there is only one cell */
} spec_goodness;

/* Pearson's chi-square and the likelihood ratio G of counts (n) against probability (n).
 *
 *     chi^2 = sum (observed - expected)^2 / expected,     G = 2 sum observed log(observed / expected)
 *
 * Both are compared with chi-square's upper tail. Cells expected to hold fewer than min_expected (5 is usual; 0
 * pools nothing) become one pool; a pool that still holds less takes in the cell that expects the fewest of the
 * others, the first of equals. Which cells are pooled depends on the expected counts alone. A cell of probability
 * zero is not a cell: it adds no degree of freedom, and a count in it is impossible, p = 0.
 *
 *   fitted  parameters of the law that were estimated from these counts, >= 0
 *   returns GSL_EDOM, and zeros, for a probability that is negative or NaN, a sum off 1 by more than 1e-9, or
 *           min_expected < 0 or NaN.
 * Counts all zero, and a law that pools into one cell, say nothing: df = 0, p = 1.
 * Checked by: hand-worked tables; uniform p-values under the law. */
int spec_goodness_chi_square(spec_goodness *ret, const uint64_t *counts, const double *probability, size_t n,
                             double min_expected, int fitted);
int spec_goodness_g(spec_goodness *ret, const uint64_t *counts, const double *probability, size_t n,
                    double min_expected, int fitted);

/* Williams' correction [Williams76]: G of few counts is too large by the factor 1 + inverse/(6 df); divided by it, it
 * is compared with chi-square. NaN where df = 0. */
double spec_goodness_williams(const spec_goodness *g);

/* Two-sided p-value of a sum of independent terms, from its deviation from what is expected, its variance and its third
 * central moment: twice the smaller tail of the gamma law that has these moments, moved and, for a negative third
 * moment, mirrored; the normal law where that is 0. Counts are the caller's to smooth, by adding a uniform number in
 * [-1/2,1/2). For events of one chance the gamma's tails are the heavier ones: a p-value far out is too large rather
 * than too small. 1 where the variance is 0; NaN for a negative one.
 * docs/formulas.md#counts. */
double spec_goodness_sum_p(double deviation, double variance, double third);

/* Kolmogorov-Smirnov distance of a sorted sample (n) from the uniform law on [0,1], and its two-sided p-value.
 *
 *     d = max_i max(i/n - sorted[i-1], sorted[i-1] - (i-1)/n),  i = 1..n
 *
 * p is exact for n <= 20 [Marsaglia03], to 1e-13 absolute; above, the limit law at sqrt(n) d + 1/(6 sqrt(n)) +
 * (sqrt(n) d - 1)/(4n) [Vrbik18], within 0.0006 of the exact p (d (sqrt(n) + 0.12 + 0.11/sqrt(n)) of [Stephens70] is
 * off by up to 0.02).
 * n = 0 gives d = 0, p = 1. NaN in the sample gives NaN. Checked by: a recursion over the band's breakpoints,
 * n <= 99. */
void spec_goodness_ks_uniform(double *ret_d, double *ret_p, const double *sorted, size_t n);

/* Holm's step-down adjusted p-values: reject where adjusted <= family error [Holm79].
 *
 *     adjusted of the i-th smallest = max over j <= i of min(1, (n - j + 1) p_(j)),  i = 1..n
 *
 * adjusted (n) may alias p; order (n) is workspace. All NaN where one p is NaN: the family is then unknown. */
void spec_holm(double *ret_adjusted, const double *p, size_t n, size_t *order);

/* Two-sided p-value of a standard normal z: P(|Z| >= |z|). 0 at +-inf, NaN at NaN. */
double spec_normal_p(double z);

#endif
