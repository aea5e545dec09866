/* SPDX-License-Identifier: GPL-3.0-or-later */
/* coupling: how often target and draft agree when sampled with common random numbers.
 * All functions take a sorted pair of rows (ratio_order). docs/formulas/acceptance.md#coupling. */
#ifndef SPECLAB_COUPLING_H
#define SPECLAB_COUPLING_H

#include "analysis/rules/ratio_order.h"

/* Return the chance that the target and one draft agree when both are sampled with common random
 * numbers [Daliri24]. No rule has to compare probabilities, and the output does not depend on the
 * draft.
 *
 *     Gumbel     sum_x 1 / sum_y max(target(y)/target(x), draft(y)/draft(x))
 *                                                              docs/formulas/acceptance.md#coupling
 *     MinHash    sum_x min(target, draft) (1 + |target - draft|) / sum_x max(target, draft)
 *     bound      sum_x min(target, draft) / sum_x max(target, draft) = (1 - TV)/(1 + TV)
 *
 * The bound counts only the case in which one dart decides for both; no scheme without
 * communication achieves more in the worst case. bound <= MinHash <= Gumbel <= 1 - TV, for every
 * pair of rows. NaN before the order is sorted. O(V), the bound O(log V). Checked by: simulation of
 * races and darts; enumeration of the rules (tests/sim/verify/test_verify_coupling.c). */
double spec_coupling_gumbel(const spec_ratio_order *order);
double spec_coupling_minhash(const spec_ratio_order *order);
double spec_coupling_bound(const spec_ratio_order *order);

/* Returns the chance that the target's token, the first of its race, is among the first n arrivals
 * of the draft's race with the same clocks, where each clock goes on ringing [LiuY26].
 *
 *     sum_x target(x) (1 - (1 - a(x))^n)
 *     1/a(x) = sum_y max(target(y), draft(y) target(x)/draft(x))
 *
 * n = 1 is spec_coupling_gumbel. NaN before the order is sorted, and for n outside
 * 1..SPEC_DRAFTS_MAX. O(V). docs/formulas/newer-rules.md#races. Checked by: simulation of the
 * races; the bounds there. */
double spec_coupling_arrivals(const spec_ratio_order *order, int n);

#endif
