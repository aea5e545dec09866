/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tournament: the acceptance of the rule khisti at one position.
 * n iid drafts compete in turn, and the winner is tested.
 * Functions take a sorted pair of rows (ratio_order) and 1 <= n <= SPEC_DRAFTS_MAX; NaN outside.
 * docs/formulas/rules.md#khisti. */
#ifndef SPECLAB_TOURNAMENT_H
#define SPECLAB_TOURNAMENT_H

#include "analysis/rules/multi_draft.h"

enum { SPEC_TOURNAMENT_VOCAB_MAX = 1024 };

/* Returns the chance that the emitted token is one of the drafted ones.
 *
 *     law_1 = draft,   law = law_n
 *     law_{i+1} = (1 - s) law_i + s (law_i draft(through) + draft law_i(below))
 *     sum_x min(target, law) + sum_z res(z) Pr(rejected, z drafted),  res = norm((target - law)+)
 *
 * `below` holds the tokens with target/law_i below this token's, and `through` also the tokens with
 * an equal ratio; ratios within 1e-9 are taken as equal. s is the smallest share that maximises
 * sum_x min(target, law_{i+1}). The second sum is the chance that the correction is a drafted
 * token. To get Pr, we subtract from the winner's law its law among drafts without z: the same
 * recursion with draft(z) = 0, the same orders and shares, and 1 - s times 1 - draft(z).
 *   returns the chance; the overlap for n = 1. NaN for V > SPEC_TOURNAMENT_VOCAB_MAX, and if memory
 *           runs out: then errno is ENOMEM
 * O(n V^2). Checked by: playing the tournament on every tuple. */
double spec_tournament_khisti(const spec_ratio_order *order, int n);

/* Returns only the first sum, the chance that the winner is accepted: at most the chance above and
 * at least the overlap. O(n V log V). */
double spec_tournament_khisti_judged(const spec_ratio_order *order, int n);

#endif
