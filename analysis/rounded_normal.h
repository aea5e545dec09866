/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rounded_normal: the tokens of a round as a normal variate, clamped and rounded.
 * n_emitted = round(clamp(N(length, 1), 1, K+1)), as SGLang simulates acceptance by default.
 * Pure functions, NaN for a length that is not finite or K < 0. docs/formulas/lengths.md#length. */
#ifndef SPECLAB_ROUNDED_NORMAL_H
#define SPECLAB_ROUNDED_NORMAL_H

/* Returns the chance that at least k of K draft tokens are accepted; Q is N(0, 1)'s upper tail.
 *
 *     P(n_accepted >= k) = Q(k + 1/2 - length)   for 1 <= k <= K
 *
 *   returns a probability; 1 for k <= 0, 0 for k > K
 * Checked by: the normal mass that rounds to each number; Monte Carlo. */
double spec_rounded_normal_tail(double length, int K, int k);

/* Returns the expected tokens per round, 1 + the sum of the tails. The clamp at K+1 moves this mean
 * below `length`, the clamp at 1 moves it above. */
double spec_rounded_normal_mean(double length, int K);

#endif
