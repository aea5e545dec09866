/* rrs: recursive rejection sampling with replacement, SpecInfer's multi-step sampling [Miao24] Algorithm 2. Each
 * sibling is tested against what the ones before it left of the target: min(1, left/row), and after a rejection
 * norm((left - row)+) is left.
 *
 * With `mass` the sum of the unnormalised rest, that is  (target - taken row)+  at every step, taken growing by
 * mass: a token that has nothing left keeps nothing. So a rejection is one pass over the two rows, and a decision of
 * n siblings at most n. */
#include "sim/verify/verify.h"

#include <assert.h>

static int decide(const spec_rule *rule, const spec_draft *draft, int node, const double *target, double *weight,
                  spec_chance *chance)
{
    (void)rule;
    if (spec_verify_children(draft, node) < 2) return spec_verify_first(draft, node, target, weight, chance);
    assert(draft->siblings == SPEC_SIBLINGS_IID);
    const double *row = draft->row[spec_verify_child(draft, node, node + 1)];
    spec_excess left = {.target = target, .row = row, .but = -1, .vocab = draft->vocab};
    double mass = 1.0;
    for (int child = node + 1; mass > 0.0 && (child = spec_verify_child(draft, node, child)) >= 0; child++) {
        const int token = draft->token[child];
        const double has = target[token] - left.taken * row[token];
        if (spec_chance_accept(chance, has > 0.0 ? has : 0.0, mass * row[token])) return token;
        left.taken += mass;
        mass = spec_excess_sum(weight, &left);
    }
    return spec_verify_sample_left(&left, weight, mass, chance);
}

const spec_rule spec_verify_rrs = {
    .name = "rrs",
    .summary = "iid siblings: accept with min(1, left/draft), go on with left = norm((left - draft)+)",
    .reference = "Miao24",
    .claim = SPEC_LOSSLESS,
    .siblings = SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_IID),
    .verify = spec_verify_walk,
    .decide = decide,
};
