/* SPDX-License-Identifier: GPL-3.0-or-later */
/* hsd: hierarchical speculative decoding as its authors released it [Zhou26];
 * docs/formulas/rules.md#hsd. It is block verification except for one test: the whole chain is kept
 * with the product of all ratios, in which a ratio above 1 compensates later ones below 1. Exact
 * for one token only. */
#include "sim/verify/verify.h"

static void verify(spec_round *ret_round, const spec_rule *rule, const spec_draft *draft,
                   const double *const *target, double *weight, spec_chance *chance)
{
    (void)rule;
    spec_verify_block_by(ret_round, draft, target, SPEC_BLOCK_LAST_UNCAPPED, weight, chance);
}

const spec_rule spec_verify_hsd = {
    .name = "hsd",
    .summary = "LOSSY, though published as lossless: block with the last test uncapped, as in the "
               "released code",
    .reference = "Zhou26",
    .claim = SPEC_LOSSY,
    .asks = SPEC_ASKS_BLOCK,
    .verify = verify,
};
