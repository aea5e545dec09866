/* match: sample the target's token and go on while it is the drafted one; "naive" sampling in [Miao24] section 4.3.
 * What is emitted was always drawn from the target, so any draft will do; less is accepted than by the token rule. */
#include "sim/verify/verify.h"

static int decide(const spec_rule *rule, const spec_draft *draft, int node, const double *target, double *weight,
                  spec_chance *chance)
{
    (void)rule, (void)node, (void)weight;
    return spec_verify_sample(target, draft->vocab, chance);
}

const spec_rule spec_verify_match = {
    .name = "match",
    .summary = "sample from the target, go on while the sample is a drafted token",
    .reference = "Miao24",
    .claim = SPEC_LOSSLESS,
    .siblings = SPEC_SIBLINGS_ANY,
    .verify = spec_verify_walk,
    .decide = decide,
};
