/* SPDX-License-Identifier: GPL-3.0-or-later */
/* stationary: the stationary law of a finite Markov chain.
 * Whether it is unique depends only on which entries are zero, not on rounding. The elimination
 * never subtracts, so small probabilities keep all their digits [GTH85]. Arrays are row-major and
 * owned by the caller. docs/formulas/acceptance.md#stationary. */
#ifndef SPECLAB_STATIONARY_H
#define SPECLAB_STATIONARY_H

#include <gsl/gsl_errno.h>

/* Computes the stationary law of a stochastic matrix: law matrix = law, by the elimination of
 * Grassmann, Taksar and Heyman [GTH85] on the only class of states that is never left.
 *
 *   matrix  (S,S) >= 0, rows sum to 1 within 1e-9; only entries off the diagonal are used
 *   ret_law (S) sums to 1; exactly 0 for transient states
 *   returns GSL_SUCCESS; GSL_EDOM if the matrix is not stochastic; GSL_ESING if two classes are
 *           never left, so that the law depends on the start, or if a probability underflows;
 *           GSL_ENOMEM. O(S^3) */
int spec_stationary_law(double *ret_law, const double *matrix, int S);

#endif
