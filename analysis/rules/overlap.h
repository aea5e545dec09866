/* SPDX-License-Identifier: GPL-3.0-or-later */
/* overlap: distances between two distributions, and how often a rule with one draft accepts.
 * Arrays are rows of probabilities (n) that sum to 1, owned by the caller. Sums are compensated, so
 * a row of 128,000 tokens is as accurate as one of 3. Any NaN gives NaN. [Leviathan23] Def. 3.2,
 * Thm 3.5; docs/formulas/acceptance.md#four-alphas. */
#ifndef SPECLAB_OVERLAP_H
#define SPECLAB_OVERLAP_H

#include <stddef.h>

/* Returns the chance beta that the token rule accepts one draft token, given its prefix.
 *
 *     beta = sum_x min(target(x), draft(x)) = 1 - TV(target, draft)          [Leviathan23] Thm 3.5
 *
 *   returns a number in [0,1], to 1e-15 relative; 0 for n = 0.
 * Checked by: sums in integer arithmetic; 1 - TV; the token rule by enumeration. */
double spec_overlap(const double *target, const double *draft, size_t n);

/* Returns the chance that the target's own sample equals the draft's, which the match rule accepts;
 * at most the overlap.
 *
 *     sum_x target(x) draft(x) */
double spec_overlap_match_probability(const double *target, const double *draft, size_t n);

/* Returns the total variation, half the L1 distance: (1/2) sum_x |a(x) - b(x)|, in [0,1]. */
double spec_overlap_total_variation(const double *a, const double *b, size_t n);

/* Returns the Kullback-Leibler divergence, nats.
 *
 *     KL(a || b) = sum_x a log(a/b) = sum_x (a log(a/b) - a + b)
 *
 * We sum the second form. It equals the first if both rows sum to 1, it has no negative term, and
 * it does not cancel near b = a. 0 log 0 is 0; +inf if b(x) = 0 < a(x) for some x. */
double spec_overlap_kl_divergence(const double *a, const double *b, size_t n);

/* Returns the entropy, nats: -sum_x a log a, with 0 log 0 = 0. */
double spec_overlap_entropy(const double *a, size_t n);

/* Returns the mean entropy of the token rule's coin, nats: what a watermark loses if the coin is
 * not made from the key.
 *
 *     sum_x draft(x) h(min(1, target(x)/draft(x))),   h(a) = -a log a - (1-a) log(1-a)
 *         docs/formulas/newer-rules.md#watermarks
 *
 * In [0, log 2]. Checked by: the divergences of all outcomes of draft and correction. */
double spec_overlap_coin_entropy(const double *target, const double *draft, size_t n);

#endif
