/* greedy: the target's argmax at each position, going on while it is the drafted one: speculation at temperature 0.
 * No decision is random. */
#include "sim/verify.h"

static void verify(spec_round *ret_round, const spec_draft *draft, const double *const *target, double *weight,
                   spec_chance *chance)
{
    (void)weight, (void)chance;
    int at = -1; /* the last accepted node */
    spec_verify_begin(ret_round, draft);
    for (;;) {
        const int token = spec_verify_argmax(target[at + 1], draft->vocab);
        const int node = spec_verify_child(draft, at, at + 1);
        if (node < 0 || draft->token[node] != token) {
            spec_verify_end(ret_round, token);
            return;
        }
        spec_verify_accept(ret_round, draft, node);
        at = node;
    }
}

const spec_rule spec_verify_greedy = {
    .name = "greedy",
    .summary = "the target's argmax, go on while it is the drafted token (temperature 0)",
    .reference = "Leviathan23",
    .claim = SPEC_LOSSLESS_ARGMAX,
    .verify = verify,
};
