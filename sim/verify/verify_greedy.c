/* SPDX-License-Identifier: GPL-3.0-or-later */
/* greedy: the target's argmax at each position, as long as it equals the draft token: speculation
 * at temperature 0. No random decisions. */
#include "sim/verify/verify.h"

#include "models/row.h"

static int decide(const spec_rule *rule, const spec_draft *draft, int node, const double *target,
                  double *weight, spec_chance *chance)
{
    (void)rule, (void)node, (void)weight, (void)chance;
    return spec_row_argmax(target, draft->vocab);
}

const spec_rule spec_verify_greedy = {
    .name = "greedy",
    .summary = "the target's argmax, continue while it is a drafted token (temperature 0)",
    .reference = "Leviathan23",
    .claim = SPEC_LOSSLESS_ARGMAX,
    .siblings = SPEC_SIBLINGS_ANY,
    .verify = spec_verify_walk,
    .decide = decide,
};
