/* goodness: do these counts, or these p-values, come from that law?
 * Degrees of freedom are honest: cells after pooling, less one, less fitted parameters. p-values are upper tails. */
#ifndef SPECLAB_GOODNESS_H
#define SPECLAB_GOODNESS_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    double statistic;
    int df;      /* after pooling */
    double p;    /* 1 where df = 0; 0 where something impossible was seen */
    int pooled;  /* cells that went into the pool */
} spec_goodness;

/* counts (n) against probability (n, sums to 1). Cells expected to hold fewer than min_expected (5 is usual) are pooled, smallest first, until
 * the pool holds that much. A count in a cell of probability zero is impossible: p = 0. */
int spec_goodness_chi_square(spec_goodness *ret, const uint64_t *counts, const double *probability, size_t n,
                             double min_expected, int fitted);
int spec_goodness_g(spec_goodness *ret, const uint64_t *counts, const double *probability, size_t n, double min_expected,
                    int fitted);

/* Kolmogorov-Smirnov: sorted sample (n) of what should be uniform on [0,1]. p by Stephens' approximation for n >= 5. */
void spec_goodness_ks_uniform(double *ret_d, double *ret_p, const double *sorted, size_t n);

/* Holm's step-down adjusted p-values: reject where adjusted <= family error. adjusted (n) may alias p; order (n) is workspace. */
void spec_holm(double *ret_adjusted, const double *p, size_t n, size_t *order);

/* Two-sided p-value of a standard normal z. */
double spec_normal_p(double z);

#endif
