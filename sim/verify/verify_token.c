/* SPDX-License-Identifier: GPL-3.0-or-later */
/* token: speculative sampling, token by token [Leviathan23] Algorithm 1 [Chen23] Algorithm 2. In a
 * tree it follows the first children. This is exact for every kind of siblings, because the first
 * child is either drawn from its row or chosen. */
#include "sim/verify/verify.h"

#include <assert.h>

void spec_verify_token_by(spec_round *round, const spec_rule *rule, const spec_draft *draft,
                          const double *const *target, spec_verify_test *test, double *weight,
                          spec_chance *chance)
{
    int at = -1; /* the last accepted node */
    spec_verify_begin(round, draft);
    for (int node; (node = spec_verify_child(draft, at, at + 1)) >= 0; at = node) {
        const double *row = target[at + 1];
        const double *law = spec_draft_law(draft, node);
        const int token = draft->token[node];
        assert(law == NULL || law[token] > 0.0); /* else it was not drawn from that law */
        if (!test(rule, row[token], law != NULL ? law[token] : 1.0, chance)) {
            spec_verify_end(round,
                            spec_verify_correct(row, law, token, draft->vocab, weight, chance));
            return;
        }
        spec_verify_accept(round, draft, node);
    }
    spec_verify_end(round, spec_verify_sample(target[at + 1], draft->vocab, chance));
}

bool spec_verify_token_test(const spec_rule *rule, double target, double drafted,
                            spec_chance *chance)
{
    (void)rule;
    return spec_chance_accept(chance, target, drafted);
}

static void verify(spec_round *ret_round, const spec_rule *rule, const spec_draft *draft,
                   const double *const *target, double *weight, spec_chance *chance)
{
    spec_verify_token_by(ret_round, rule, draft, target, spec_verify_token_test, weight, chance);
}

const spec_rule spec_verify_token = {
    .name = "token",
    .summary = "accept with min(1, target/draft), correct from norm((target - draft)+)",
    .reference = "Leviathan23",
    .claim = SPEC_LOSSLESS,
    .asks = SPEC_ASKS_CHILDREN,
    .siblings = SPEC_SIBLINGS_ANY,
    .verify = verify,
};
