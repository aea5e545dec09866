/* SPDX-License-Identifier: GPL-3.0-or-later */
/* naive-tree: the token rule on the first child; if the correction is the token of another child,
 * it continues there. The law of the first child does not depend on its siblings, so any siblings
 * are valid. iid: acceptance
 *     sum min(target, draft) + sum (target - draft)+ (1 - (1 - draft)^(n-1))    [Thomas26] Alg.
 * 7 */
#include "sim/verify/verify.h"

static int decide(const spec_rule *rule, const spec_draft *draft, int node, const double *target,
                  double *weight, spec_chance *chance)
{
    (void)rule;
    return spec_verify_first(draft, node, target, weight, chance);
}

const spec_rule spec_verify_naive_tree = {
    .name = "naive-tree",
    .summary =
        "the token rule on the first sibling, continue while the correction is another sibling",
    .reference = "Thomas26",
    .claim = SPEC_LOSSLESS,
    .asks = SPEC_ASKS_CHILDREN,
    .siblings = SPEC_SIBLINGS_ANY,
    .verify = spec_verify_walk,
    .decide = decide,
};
