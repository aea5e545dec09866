/* greedy: the target's argmax at each position, going on while it is the drafted one: speculation at temperature 0.
 * No decision is random. */
#include "sim/verify.h"

static void verify(spec_round *ret_round, const spec_draft *draft, const double *const *target, double *weight,
                   spec_chance *chance)
{
    (void)weight, (void)chance;
    spec_verify_follow(ret_round, draft, target, NULL);
}

const spec_rule spec_verify_greedy = {
    .name = "greedy",
    .summary = "the target's argmax, go on while it is the drafted token (temperature 0)",
    .reference = "Leviathan23",
    .claim = SPEC_LOSSLESS_ARGMAX,
    .verify = verify,
};
