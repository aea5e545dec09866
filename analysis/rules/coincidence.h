/* SPDX-License-Identifier: GPL-3.0-or-later */
/* coincidence: the chance that an independently drawn token is among drafts that are not iid.
 * For iid drafts see multi_draft. All functions take a sorted pair of rows (ratio_order) and 1 <= n
 * <= SPEC_DRAFTS_MAX; NaN outside. docs/formulas/acceptance.md#coincidence. */
#ifndef SPECLAB_COINCIDENCE_H
#define SPECLAB_COINCIDENCE_H

#include "analysis/rules/multi_draft.h"

/* Returns the chance that the target's own sample is among n drafts drawn without replacement. If
 * fewer than n tokens have draft > 0, the remaining drafts are drawn uniformly from the other
 * tokens.
 *
 *     sum_x target(x) integral of draft(x) exp(-draft(x) s)
 *                     Pr(fewer than n other clocks have rung by s) ds
 *
 * The integral describes a race of exponential clocks, one per token; for n = 2 it reduces to a
 * sum. Takes O(V) for n <= 2 and for a draft of at most n tokens, else O(n V) at each of about a
 * hundred nodes.
 *   returns the chance, to about 1e-14; 1 for n >= V
 * Writes order->work. Checked by: enumeration of tuples; n = 2 both ways. */
double spec_coincidence_match_without(const spec_ratio_order *order, int n);

/* Returns the same from the integral, for 1 <= n < number of tokens with draft > 0; NaN outside. */
double spec_coincidence_match_race(const spec_ratio_order *order, int n);

/* Returns the chance that the target's own sample is among n greedy drafts: the n - 1 most probable
 * tokens of the draft, and one drawn from the rest (uniformly if the rest is 0). For n = 2 the
 * formula also holds for hub drafts.
 *
 *     sum_{x in Top} target + sum_{x not in Top} target draft / (1 - draft(Top))
 *
 * 1 for n > V. O(n V). Checked by: enumeration. */
double spec_coincidence_match_greedy(const spec_ratio_order *order, int n);

/* Return the acceptance if the token rule tests the first of two drafts, and the correction after a
 * rejection counts if it equals the other draft. With residual = (target - draft)+, its sum R, and
 * missed = (draft - target)+, the chance is overlap + kept / R:
 *
 *     without replacement    kept = sum_x missed(x) / (1 - draft(x))
 *                                   times sum_y residual(y) draft(y)
 *     hub                    kept = residual(hub) (R - missed(hub))
 *                                   + missed(hub) / (1 - draft(hub))
 *                                     times sum_{y != hub} residual(y) draft(y)
 *
 * If the rest of the draft is 0, the other token is drawn uniformly. NaN for larger n, except that
 * without replacement it is 1 for n >= V. O(V). Checked by: enumeration. */
double spec_coincidence_naive_tree_without(const spec_ratio_order *order, int n);
double spec_coincidence_naive_tree_hub(const spec_ratio_order *order, int n);

#endif
