/* SPDX-License-Identifier: GPL-3.0-or-later */
/* finite_length: the rounds that a text of L tokens needs, which are more than L / E[n_emitted].
 * The last round overshoots; renewal theory gives its mean. Rounds are iid (A4), and law (n) holds
 * P(n_emitted = 1..n), so law[0] is for one token. Pure functions, NaN outside the domain; the
 * caller owns the arrays. docs/formulas/lengths.md#finite-length. */
#ifndef SPECLAB_FINITE_LENGTH_H
#define SPECLAB_FINITE_LENGTH_H

/* Returns the exact mean number of rounds that emit at least L tokens.
 *
 *     R(0) = 0,   R(l) = 1 + sum_{j=1..min(n,l)} law[j-1] R(l-j)
 *
 *   law     (n) chances of 1..n tokens per round, >= 0, summing to 1 within 1e-9
 *   n       most tokens per round, >= 1
 *   L       tokens, >= 0
 *   work    (L+1) filled with R(0..L)
 *   returns rounds, in [L/n, L]; 0 for L = 0. NaN for an invalid law, n < 1 or L < 0; work is then
 *           not written. O(L n)
 * Assumes A4 (independent rounds), docs/formulas/README.md#A4. Checked by: the sum over rounds of
 * P(fewer than L tokens so far). */
double spec_finite_length_rounds(const double *law, int n, int L, double *work);

/* Returns the same for long texts, from only the mean and the variance.
 *
 *     (L-1) / mean + (variance + mean^2 + mean) / (2 mean^2)
 *         docs/formulas/lengths.md#finite-length
 *
 *   mean      of n_emitted, >= 1
 *   variance  of n_emitted, >= 0
 *   L         tokens, >= 1
 *   returns rounds. The error falls exponentially with L if lengths 1 and 2 are both possible
 *             (5e-6 at L = 50 for alpha .8, K 5). If every round adds m tokens (alpha = 1), it is
 *             not exact, but the mean over L of the exact ceil(L/m)
 * Assumes A4. Checked by: spec_finite_length_rounds. */
double spec_finite_length_rounds_renewal(double mean, double variance, double L);

#endif
