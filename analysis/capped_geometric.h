/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capped_geometric: the distribution of n_accepted under iid acceptance.
 * P(n_accepted = k) = alpha^k (1-alpha) for k < K, alpha^K for k = K. n_emitted = n_accepted + 1:
 * the correction or bonus counts. Pure functions, NaN outside 0 <= alpha <= 1, K >= 0.
 * [Leviathan23] section 3.1; docs/formulas/lengths.md#capped-geometric. */
#ifndef SPECLAB_CAPPED_GEOMETRIC_H
#define SPECLAB_CAPPED_GEOMETRIC_H

/* Returns the chance that exactly k of K draft tokens are accepted.
 *
 *     P(n_accepted = k) = alpha^k (1-alpha)   for 0 <= k < K,   alpha^K   for k = K
 *
 *   alpha   acceptance rate, in [0,1]
 *   K       draft length, tokens, >= 0
 *   k       any integer
 *   returns a probability; 0 for k outside 0..K. NaN outside the domain of alpha and K.
 * Assumes A1, docs/formulas/README.md#A1.
 * Checked by: difference of tails; the sum over k is 1. */
double spec_capped_geometric_probability(double alpha, int K, int k);

/* Returns the chance that at least k of K draft tokens are accepted.
 *
 *     P(n_accepted >= k) = alpha^k   for 1 <= k <= K
 *
 *   returns a probability; 1 for k <= 0, 0 for k > K. NaN outside the domain of alpha and K.
 * Assumes A1. Checked by: partial sums of the law. */
double spec_capped_geometric_tail(double alpha, int K, int k);

/* Returns the expected tokens per round.
 *
 *     E[n_emitted] = (1 - alpha^(K+1)) / (1 - alpha)                     [Leviathan23] Eq. (1)
 *
 *   K       draft length, tokens, >= 0; a double, because the best K may exceed every int
 *   returns tokens per target call, in [1, K+1]; K+1 at alpha = 1, the limit. The relative error
 *           is about 1e-15 for every alpha and K
 * Assumes A1. Checked by: sum over the law in extended precision; Monte Carlo (speclab sweep). */
double spec_capped_geometric_mean(double alpha, double K);

/* Returns the variance of the tokens per round: Var[n_emitted] = Var[n_accepted].
 *
 *     Var = alpha (1 - alpha^m - m alpha^K (1-alpha)) / (1-alpha)^2,   m = 2K+1
 *                                                         docs/formulas/lengths.md#capped-geometric
 *
 *   returns tokens^2; 0 at alpha = 0, alpha = 1 and K = 0. It does not cancel near alpha = 1: the
 *           relative error is a few 1e-15
 * Assumes A1. Checked by: sum over the law and the recursion over positions, both in extended
 * precision. */
double spec_capped_geometric_variance(double alpha, int K);

/* Returns the expected tokens per round if the chance of acceptance depends only on the position.
 *
 *     E[n_emitted] = 1 + sum_{k=1..K} a[0] ... a[k-1]
 *
 *   a       (K) chance that draft token i is accepted, given that all before it were, in [0,1];
 *           not read for K = 0
 *   returns tokens per target call, in [1, K+1]. NaN if an a[i] is outside [0,1] or K < 0
 * Assumes A2 (acceptance by position), docs/formulas/README.md#A2. Checked by:
 * spec_capped_geometric_mean for equal chances; sum over the law. */
double spec_capped_geometric_positional_mean(const double *a, int K);

#endif
