/* match: sample the target's token and go on while it is the drafted one; "naive" sampling in [Miao24] section 4.3.
 * What is emitted was always drawn from the target, so any draft will do; less is accepted than by the token rule. */
#include "sim/verify.h"

static void verify(spec_round *ret_round, const spec_draft *draft, const double *const *target, double *weight,
                   spec_chance *chance)
{
    (void)weight;
    int at = -1; /* the last accepted node */
    spec_verify_begin(ret_round, draft);
    for (;;) {
        const int token = spec_verify_sample(target[at + 1], draft->vocab, chance);
        const int node = spec_verify_child(draft, at, at + 1);
        if (node < 0 || draft->token[node] != token) {
            spec_verify_end(ret_round, token);
            return;
        }
        spec_verify_accept(ret_round, draft, node);
        at = node;
    }
}

const spec_rule spec_verify_match = {
    .name = "match",
    .summary = "sample from the target, go on while the sample is the drafted token",
    .reference = "Miao24",
    .claim = SPEC_LOSSLESS,
    .verify = verify,
};
