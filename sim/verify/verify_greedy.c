/* greedy: the target's argmax at each position, going on while it is the drafted one: speculation at temperature 0.
 * No decision is random. */
#include "sim/verify/verify.h"

#include "models/row.h"

static int decide(const spec_rule *rule, const spec_draft *draft, int node, const double *target, double *weight,
                  spec_chance *chance)
{
    (void)rule, (void)node, (void)weight, (void)chance;
    return spec_row_argmax(target, draft->vocab);
}

const spec_rule spec_verify_greedy = {
    .name = "greedy",
    .summary = "the target's argmax, go on while it is the drafted token (temperature 0)",
    .reference = "Leviathan23",
    .claim = SPEC_LOSSLESS_ARGMAX,
    .siblings = SPEC_SIBLINGS_ANY,
    .verify = spec_verify_walk,
    .decide = decide,
};
