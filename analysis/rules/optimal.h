/* optimal: the most that any verification rule can accept at one position, given how its n drafts are drawn.
 * All take a sorted pair of rows (ratio_order) and 1 <= n <= SPEC_DRAFTS_MAX; NaN outside. Drafts that are not sampled,
 * and greedy and hub drafting, need no function here: spec_match_top_acceptance and spec_greedy_drafting_acceptance are
 * their optima. [SunZ23], [Hu25]; docs/formulas.md#optimal. */
#ifndef SPECLAB_OPTIMAL_H
#define SPECLAB_OPTIMAL_H

#include "analysis/rules/multi_draft.h"

/* For n iid drafts.
 *
 *     1 + min over sets H of tokens [target(H) - draft(H)^n]                       [Hu25]
 *
 * The best H is a prefix of the order of target/draft: O(V) once the rows are sorted.
 * Checked by: the largest flow from tuples to their tokens; all subsets; n = 1 is the overlap. */
double spec_optimal_iid(const spec_ratio_order *order, int n);

/* What [LinY26] is quoted to keep of one place with n iid drafts, and to be the optimum.
 *
 *     sum_x target(x) (1 - (1 - min(1, draft(x)/target(x)))^n)
 *
 * It is not: it never exceeds spec_optimal_iid, and for n >= 2 falls short of it but in special cases, such as one
 * ratio draft/target wherever both are positive (docs/formulas.md#quoted-optimum). O(V). Checked by: the sum over the
 * rows; the bound. */
double spec_optimal_quoted(const spec_ratio_order *order, int n);

/* For n drafts drawn without replacement; where the draft has fewer than n tokens, those it cannot draw follow, each as
 * likely as the others.
 *
 *     1 + min over sets H of tokens [target(H) - Q(H)],   Q(H) = Pr(all drafts are in H)
 *
 * Again a prefix is best, which is proved in docs/formulas.md#optimal. Q is a sum for n = 2; for more it is an integral
 * over a race of exponential clocks, one for each token, of which the drafts are the first n to ring.
 *   returns the chance, to 1e-14 or so; 1 for n >= V. O(V) for n = 2 and for a draft of at most n tokens, else O(n V)
 *           at each of about 80 nodes, in 3 ms for V = 32,000 and n = 4. Writes order->work.
 * Checked by: enumeration of tuples, all subsets, the largest flow; hypergeometric chances for an even draft; n = 2
 * both ways. */
double spec_optimal_without_replacement(const spec_ratio_order *order, int n);

/* Q of every prefix by the integral, for any 1 <= n < number of tokens with draft > 0: ret_inside[i] (V+1) is the
 * chance that n drafts without replacement are all among the first i tokens of the order. NaN outside. It is what
 * spec_optimal_without_replacement uses for n > 2. To 1e-14 or so, absolute. */
void spec_optimal_prefix_chances(double *ret_inside, const spec_ratio_order *order, int n);

#endif
