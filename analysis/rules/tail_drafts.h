/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tail_drafts: acceptance with tail siblings, of which one is drawn and n - 1 are chosen.
 * x_1 is the draft's most probable token, y is drawn from the tail, which is the draft without x_1
 * (uniform over the others if that is 0), and n - 2 more are the most probable of the others. All
 * functions take a sorted pair of rows (ratio_order) and 2 <= n <= SPEC_DRAFTS_MAX; NaN outside. 1
 * for n >= V. O(n V). [HuQ26]; docs/formulas/newer-rules.md#rheo. */
#ifndef SPECLAB_TAIL_DRAFTS_H
#define SPECLAB_TAIL_DRAFTS_H

#include "analysis/rules/ratio_order.h"

/* Let B be the n - 1 most probable tokens of the draft, x_n the next one, and b the tail's sum over
 * B. If y is in B, the siblings are B and x_n; else they are B and y.
 *
 * Returns the chance that the target's own sample is among them.
 *
 *     target(B) + b target(x_n) + sum_{y not in B} tail(y) target(y)
 *
 * Checked by: enumeration of all draws (as are the other two). */
double spec_tail_drafts_match(const spec_ratio_order *order, int n);

/* Returns the acceptance if y is tested by the token rule against the tail, and the correction
 * after a rejection counts if it is one of the others. U is the sum over B of (tail - target)+, R
 * the same sum over all tokens.
 *
 *     target(B) + sum_{y not in B} min(target(y), tail(y)) + (target(x_n) - tail(x_n))+ U / R
 */
double spec_tail_drafts_token(const spec_ratio_order *order, int n);

/* Returns the most that any rule accepts: the token rule on the sibling outside B attains it, since
 * the tokens of B are always among the siblings.
 *
 *     target(B) + min(target(x_n), tail(x_n) + b)
 *               + sum_{y not in B, not x_n} min(target(y), tail(y))
 */
double spec_tail_drafts_optimum(const spec_ratio_order *order, int n);

#endif
