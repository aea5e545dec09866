/* stationary: the law that a Markov chain of finitely many states keeps.
 * Uniqueness is decided by which entries are zero, not by rounding; the elimination never subtracts, so that small
 * probabilities keep all their digits [GTH85]. Arrays are row-major and the caller's. docs/formulas.md#stationary. */
#ifndef SPECLAB_STATIONARY_H
#define SPECLAB_STATIONARY_H

#include <gsl/gsl_errno.h>

/* The stationary law of a stochastic matrix: law matrix = law, by the elimination of Grassmann, Taksar and Heyman
 * [GTH85] on the one class of states that is never left. It never subtracts, so that small probabilities keep all their
 * digits.
 *
 *   matrix  (S,S) >= 0, rows sum to 1 within 1e-9; only entries off the diagonal are used
 *   ret_law (S) sums to 1; exactly 0 for states that are left for good
 *   returns GSL_SUCCESS; GSL_EDOM for what is no stochastic matrix; GSL_ESING where two classes are never left, so that
 *           the law depends on the start, or where a probability underflows; GSL_ENOMEM. O(S^3). */
int spec_stationary_law(double *ret_law, const double *matrix, int S);

#endif
