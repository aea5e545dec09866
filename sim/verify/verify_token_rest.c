/* SPDX-License-Identifier: GPL-3.0-or-later */
/* token-rest: the token rule on the one sibling that was drawn, judged by the law it was drawn
 * from: the rest of the row without the siblings chosen before it. That law gives these probability
 * 0, so the correction is one of them as often as under the target, and the round then continues at
 * that sibling. This is optimal for greedy siblings [Hu25]: acceptance target(chosen) + sum over
 * the others of min(target, rest). For tail siblings it is the verification of [HuQ26] as engines
 * have it: the correction may also be a token that was chosen after the draw. Because the rule does
 * not read these tokens, they may depend on the draw. If all were chosen, it emits the target's own
 * token.
 *
 * Takes at most one pass over the draft's row, for its rest, and one over both rows for the
 * correction. */
#include "sim/verify/verify.h"

#include <assert.h>

/* Returns the sibling that was drawn, or -1. */
static int drawn_child(const spec_draft *draft, int node)
{
    int child = spec_verify_child(draft, node, node + 1);
    while (child >= 0 && !draft->sampled[child]) child = spec_verify_child(draft, node, child + 1);
    return child;
}

static int decide(const spec_rule *rule, const spec_draft *draft, int node, const double *target,
                  double *weight, spec_chance *chance)
{
    (void)rule;
    const int n = spec_verify_children(draft, node), vocab = draft->vocab,
              child = drawn_child(draft, node);
    if (n < 2) return spec_verify_first(draft, node, target, weight, chance);
    assert(spec_verify_token_rest.siblings & SPEC_SIBLINGS_BIT(draft->siblings));
    if (child < 0) return spec_verify_sample(target, vocab, chance);

    const double *row = draft->row[child];
    const int token = draft->token[child];
    double rest = spec_verify_rest(weight, draft, node, row);
    for (int i = child; i >= 0; i = spec_verify_child(draft, node, i + 1))
        rest += weight[draft->token[i]] = row[draft->token[i]];
    if (!(rest > 0.0)) { /* earlier siblings hold the whole row: the others are uniform */
        rest = vocab;
        for (int i = 0; i < vocab; i++) weight[i] = 1.0;
        for (int i = node + 1; (i = spec_verify_child(draft, node, i)) < child; i++, rest--)
            weight[draft->token[i]] = 0.0;
    }
    if (spec_chance_accept(chance, target[token] * rest, weight[token])) return token;
    const double mass = spec_verify_residual(weight, target, weight, 1.0 / rest, vocab);
    return spec_verify_sample(mass > 0.0 ? weight : target, vocab, chance);
}

const spec_rule spec_verify_token_rest = {
    .name = "token-rest",
    .summary = "the token rule on the sampled one of greedy or tail siblings, against the draft "
               "without the ones chosen before it",
    .reference = "Hu25",
    .claim = SPEC_LOSSLESS,
    .asks = SPEC_ASKS_DRAWN,
    .siblings = SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_GREEDY) | SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_TOP) |
                SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_TAIL),
    .verify = spec_verify_walk,
    .decide = decide,
};
