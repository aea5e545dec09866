/* SPDX-License-Identifier: GPL-3.0-or-later */
/* beta_mixture: fits a Beta distribution of alpha over rounds to the counts of n_accepted.
 * Each round draws alpha from Beta(a, b) and accepts its draft tokens independently with this
 * alpha. Under such a mixture the conditional acceptance rises with depth; if acceptance decays
 * with depth, it falls. Pure functions. docs/formulas/statistics.md#acceptance-mixture. */
#ifndef SPECLAB_BETA_MIXTURE_H
#define SPECLAB_BETA_MIXTURE_H

#include <stdint.h>

typedef struct {
    double a, b;             /* parameters of the Beta law; inf if one alpha fits best */
    double alpha;            /* maximum likelihood under one alpha */
    double likelihood_ratio; /* 2 (log likelihood of the mixture - log likelihood of one alpha), >=
                              * 0 */
} spec_beta_mixture;

/* Finds the maximum likelihood fit to counts[k], the number of rounds with n_accepted = k, k =
 * 0..K. Every round proposed K draft tokens. a + b lies between 1e-6 and 1e9.
 *   returns GSL_EDOM, and NaN in the result, if there are no rounds, for a negative or infinite
 *           count, and for K outside 1..SPEC_K_MAX. likelihood_ratio is 0 where one alpha fits
 *           best; a and b are then inf
 * Checked by: a grid search; the counts 39, 1, 0, 3 give a = .022, b = .218 and a likelihood ratio
 * of 18.2. */
int spec_beta_mixture_fit(spec_beta_mixture *ret, const double *counts, int K);

/* Returns E[alpha^j] = B(a + j, b) / B(a, b), the chance that a round accepts at least j tokens. 1
 * for j = 0; NaN for a or b outside (0, inf) and j < 0. */
double spec_beta_mixture_moment(double a, double b, int j);

#endif
