/* coincidence: the chance that a token drawn without regard to the drafts is among them after all, where the drafts are
 * not iid (for these see multi_draft). All take a sorted pair of rows (ratio_order) and 1 <= n <= SPEC_DRAFTS_MAX; NaN
 * outside. docs/formulas.md#coincidence. */
#ifndef SPECLAB_COINCIDENCE_H
#define SPECLAB_COINCIDENCE_H

#include "analysis/rules/multi_draft.h"

/* The target's own sample is among n drafts drawn without replacement; where the draft has fewer than n tokens, those
 * it cannot draw follow evenly.
 *
 *     sum_x target(x) integral of draft(x) exp(-draft(x) s) Pr(fewer than n other clocks have rung by s) ds
 *
 * a race of exponential clocks, one for each token; n = 2 is a sum. O(V) for n <= 2 and for a draft of at most n
 * tokens, else O(n V) at each of some hundred nodes.
 *   returns the chance, to 1e-14 or so; 1 for n >= V. Writes order->work.
 * Checked by: enumeration of tuples; n = 2 both ways. */
double spec_match_without_acceptance(const spec_ratio_order *order, int n);

/* The same by the integral, for 1 <= n < number of tokens with draft > 0; NaN outside. */
double spec_match_race_acceptance(const spec_ratio_order *order, int n);

/* The target's own sample is among n greedy drafts: the n - 1 most probable tokens of the draft, and one drawn from its
 * rest (evenly, where that has no draft probability). For n = 2 the same holds for hub drafts.
 *
 *     sum_{x in Top} target + sum_{x not in Top} target draft / (1 - draft(Top))
 *
 * 1 for n > V. O(n V). Checked by: enumeration. */
double spec_match_greedy_acceptance(const spec_ratio_order *order, int n);

/* The token rule on the first of two drafts; its correction is kept if it is the other. With residual = (target -
 * draft)+, excess its sum and missed = (draft - target)+, the chance is overlap + kept / excess,
 *
 *     without replacement    kept = sum_x missed(x) / (1 - draft(x))  times  sum_y residual(y) draft(y)
 *     hub                    kept = residual(hub) (excess - missed(hub))
 *                                   + missed(hub) / (1 - draft(hub)) sum_{y != hub} residual(y) draft(y)
 *
 * Where the other is drawn from a rest without draft probability, it is so evenly. NaN for larger n; but without
 * replacement 1 for n >= V. O(V).
 * Checked by: enumeration. */
double spec_naive_tree_without_acceptance(const spec_ratio_order *order, int n);
double spec_naive_tree_hub_acceptance(const spec_ratio_order *order, int n);

#endif
