/* tournament: how often the rule khisti accepts one position, n iid drafts competing in turn for the token that is
 * judged. Takes a sorted pair of rows (ratio_order) and 1 <= n <= SPEC_DRAFTS_MAX; NaN outside. docs/formulas.md#khisti. */
#ifndef SPECLAB_TOURNAMENT_H
#define SPECLAB_TOURNAMENT_H

#include "analysis/rules/multi_draft.h"

enum { SPEC_TOURNAMENT_VOCAB_MAX = 1024 };

/* The chance that the token emitted is one of those drafted.
 *
 *     law_1 = draft,  law_{i+1} = (1 - s) law_i + s (law_i draft(through) + draft law_i(below)),  law = law_n
 *     sum_x min(target, law) + sum_z res(z) Pr(rejected, z drafted),   res = norm((target - law)+)
 *
 * below and through: the tokens of lower, and of no higher, target/law_i, ratios within 1e-9 being equal; s: the least
 * share that makes sum_x min(target, law_{i+1}) largest. The second sum is what the correction gives by chance: Pr is
 * the winner's law less that among drafts without z, over the same orders and shares.
 *   returns the chance; the overlap for n = 1. NaN for V > SPEC_TOURNAMENT_VOCAB_MAX, and where memory runs out.
 * O(n V^2). Checked by: playing the tournament on every tuple. */
double spec_khisti_acceptance(const spec_ratio_order *order, int n);

/* The first sum alone: what the judgement accepts, at most the chance above and at least the overlap. O(n V log V). */
double spec_khisti_judged(const spec_ratio_order *order, int n);

#endif
