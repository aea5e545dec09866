/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rrs: recursive rejection sampling with replacement, SpecInfer's multi-step sampling [Miao24]
 * Algorithm 2. Each sibling is tested against the residual after the earlier ones: min(1,
 * residual/row). After a rejection the residual becomes norm((residual - row)+).
 *
 * Unnormalised, the residual is (target - taken row)+ at every step, where taken grows by its sum
 * `mass`: a token with residual 0 keeps it. So a rejection takes one pass over the two rows, and a
 * decision of n siblings at most n passes. */
#include "sim/verify/verify.h"

#include <assert.h>

static int decide(const spec_rule *rule, const spec_draft *draft, int node, const double *target,
                  double *weight, spec_chance *chance)
{
    (void)rule;
    if (spec_verify_children(draft, node) < 2)
        return spec_verify_first(draft, node, target, weight, chance);
    assert(draft->siblings == SPEC_SIBLINGS_IID);
    const double *row = draft->row[spec_verify_child(draft, node, node + 1)];
    spec_residual residual = {.target = target, .row = row, .but = -1, .vocab = draft->vocab};
    double mass = 1.0;
    for (int child = node + 1; mass > 0.0 && (child = spec_verify_child(draft, node, child)) >= 0;
         child++) {
        const int token = draft->token[child];
        const double has = target[token] - residual.taken * row[token];
        if (spec_chance_accept(chance, has > 0.0 ? has : 0.0, mass * row[token])) return token;
        residual.taken += mass;
        mass = spec_residual_sum(weight, &residual);
    }
    return spec_verify_sample_residual(&residual, weight, mass, chance);
}

const spec_rule spec_verify_rrs = {
    .name = "rrs",
    .summary =
        "iid siblings: accept with min(1, residual/draft), continue with norm((residual - draft)+)",
    .reference = "Miao24",
    .claim = SPEC_LOSSLESS,
    .asks = SPEC_ASKS_CHILDREN,
    .siblings = SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_IID),
    .verify = spec_verify_walk,
    .decide = decide,
};
