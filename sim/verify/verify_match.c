/* SPDX-License-Identifier: GPL-3.0-or-later */
/* match: samples the target's token and continues as long as it equals the draft token; "naive"
 * sampling in [Miao24] section 4.3. Emitted tokens are always target samples, so any draft is
 * valid; it accepts less than the token rule. */
#include "sim/verify/verify.h"

static int decide(const spec_rule *rule, const spec_draft *draft, int node, const double *target,
                  double *weight, spec_chance *chance)
{
    (void)rule, (void)node, (void)weight;
    return spec_verify_sample(target, draft->vocab, chance);
}

const spec_rule spec_verify_match = {
    .name = "match",
    .summary = "sample from the target, continue while the sample is a drafted token",
    .reference = "Miao24",
    .claim = SPEC_LOSSLESS,
    .asks = SPEC_ASKS_CHILDREN,
    .siblings = SPEC_SIBLINGS_ANY,
    .verify = spec_verify_walk,
    .decide = decide,
};
