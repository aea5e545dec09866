/* SPDX-License-Identifier: GPL-3.0-or-later */
/* token-rest: the token rule on the one sibling that was drawn, judged by the law it was drawn
 * from: the rest of the row without the chosen siblings. That law gives these probability 0, so the
 * correction is one of them as often as under the target, and continues there. This is optimal for
 * such siblings [Hu25]: acceptance target(chosen) + sum over the others of min(target, rest). If
 * all were chosen, it emits the target's own token.
 *
 * Takes at most one pass over the draft's row, for its rest, and one over both rows for the
 * correction. */
#include "sim/verify/verify.h"

#include <assert.h>

/* Returns the sibling that was drawn, which is the last, or -1. */
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
    assert(draft->siblings == SPEC_SIBLINGS_GREEDY || draft->siblings == SPEC_SIBLINGS_TOP);
    if (child < 0) return spec_verify_sample(target, vocab, chance);

    const double *row = draft->row[child];
    const int token = draft->token[child];
    double rest = spec_verify_rest(weight, draft, node, row) + row[token];
    if (rest > 0.0) {
        weight[token] = row[token];
    } else { /* the chosen tokens are all of the row: uniform over the others */
        rest = vocab - (n - 1);
        for (int i = 0; i < vocab; i++) weight[i] = 1.0;
        for (int i = node + 1; (i = spec_verify_child(draft, node, i)) >= 0; i++)
            if (i != child) weight[draft->token[i]] = 0.0;
    }
    if (spec_chance_accept(chance, target[token] * rest, weight[token])) return token;
    const double mass = spec_verify_residual(weight, target, weight, 1.0 / rest, vocab);
    return spec_verify_sample(mass > 0.0 ? weight : target, vocab, chance);
}

const spec_rule spec_verify_token_rest = {
    .name = "token-rest",
    .summary = "the token rule on the sampled one of greedy siblings, against the draft without "
               "the deterministic ones",
    .reference = "Hu25",
    .claim = SPEC_LOSSLESS,
    .asks = SPEC_ASKS_DRAWN,
    .siblings = SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_GREEDY) | SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_TOP),
    .verify = spec_verify_walk,
    .decide = decide,
};
