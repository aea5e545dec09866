/* SPDX-License-Identifier: GPL-3.0-or-later */
/* optimal: the most that any verification rule can accept at one position, for n drafts.
 * It depends on how the drafts are drawn. All functions take a sorted pair of rows (ratio_order)
 * and 1 <= n <= SPEC_DRAFTS_MAX; NaN outside. For drafts that are not sampled, and for greedy and
 * hub drafting, spec_multi_draft_match_top and spec_multi_draft_greedy are the optima.
 * [SunZ23], [Hu25]; docs/formulas/acceptance.md#optimal. */
#ifndef SPECLAB_OPTIMAL_H
#define SPECLAB_OPTIMAL_H

#include "analysis/rules/multi_draft.h"

/* Returns the optimum for n iid drafts.
 *
 *     1 + min over sets H of tokens [target(H) - draft(H)^n]           [Hu25]
 *
 * The best H is a prefix of the order of target/draft: O(V) once the rows are sorted. Checked by:
 * the largest flow from tuples to their tokens; all subsets; n = 1 is the overlap. */
double spec_optimal_iid(const spec_ratio_order *order, int n);

/* Returns a formula for the acceptance at one position with n iid drafts that is quoted as optimal
 * and attributed to [LinY26].
 *
 *     sum_x target(x) (1 - (1 - min(1, draft(x)/target(x)))^n)
 *
 * It is not optimal: it never exceeds spec_optimal_iid. For n >= 2 it is smaller, except in special
 * cases such as a constant ratio draft/target wherever both are positive
 * (docs/formulas/acceptance.md#quoted-optimum). O(V). Checked by: the sum over the rows; the
 * bound. */
double spec_optimal_quoted(const spec_ratio_order *order, int n);

/* Returns the optimum for n drafts drawn without replacement. If fewer than n tokens have draft >
 * 0, the remaining drafts are drawn uniformly from the other tokens.
 *
 *     1 + min over sets H of tokens [target(H) - Q(H)],   Q(H) = Pr(all drafts are in H)
 *
 * The best H is again a prefix, as docs/formulas/acceptance.md#optimal proves. Q is a sum for n =
 * 2. For larger n it is an integral over a race of exponential clocks, one per token; the first n
 * clocks to ring are the drafts.
 *   returns the chance, to about 1e-14; 1 for n >= V
 * Takes O(V) for n = 2 and for a draft of at most n tokens, else O(n V) at each of about 80 nodes:
 * 3 ms for V = 32,000 and n = 4. Writes order->work. Checked by: enumeration of tuples, all
 * subsets, the largest flow; hypergeometric chances for a uniform draft; n = 2 both ways. */
double spec_optimal_without_replacement(const spec_ratio_order *order, int n);

/* Computes Q of every prefix from the integral, for any 1 <= n < number of tokens with draft > 0:
 * ret_inside[i] (V+1) is the chance that n drafts without replacement are all among the first i
 * tokens of the order. NaN outside. spec_optimal_without_replacement uses it for n > 2. The
 * absolute error is about 1e-14. */
void spec_optimal_prefix_chances(double *ret_inside, const spec_ratio_order *order, int n);

#endif
