/* naive-tree: the token rule on the first child; a correction that is another child's token goes on there. The first
 * child's law does not depend on how its siblings came, so any siblings will do. iid: acceptance sum min(target,
 * draft) + sum (target - draft)+ (1 - (1 - draft)^(n-1)) [Thomas26] Algorithm 7. */
#include "sim/verify/verify.h"

static int decide(const spec_rule *rule, const spec_draft *draft, int node, const double *target, double *weight,
                  spec_chance *chance)
{
    (void)rule;
    return spec_verify_first(draft, node, target, weight, chance);
}

const spec_rule spec_verify_naive_tree = {
    .name = "naive-tree",
    .summary = "the token rule on the first sibling, go on while its correction is another one",
    .reference = "Thomas26",
    .claim = SPEC_LOSSLESS,
    .siblings = SPEC_SIBLINGS_ANY,
    .verify = spec_verify_walk,
    .decide = decide,
};
