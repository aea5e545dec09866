/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Negative controls: two mistakes of real engines. Neither keeps the target's law, so do not decode
 * with them. Each is the token rule with one error, for `prove` and `validate` to detect. */
#include "sim/verify/verify.h"

typedef struct {
    bool trusts_row; /* judges a deterministic node by its model's row, as if it had been drawn from
                      * it */
    bool resamples_whole; /* after a rejection draws from the whole target, not from the residual */
} mistake;

static void token_rule_with(mistake wrong, spec_round *ret_round, const spec_draft *draft,
                            const double *const *target, double *weight, spec_chance *chance)
{
    int at = -1; /* the last accepted node */
    spec_verify_begin(ret_round, draft);
    for (int node; (node = spec_verify_child(draft, at, at + 1)) >= 0; at = node) {
        const double *row = target[at + 1];
        const double *law = wrong.trusts_row ? draft->row[node] : spec_draft_law(draft, node);
        const int token = draft->token[node];
        if (!spec_chance_accept(chance, row[token], law != NULL ? law[token] : 1.0)) {
            const int correction =
                wrong.resamples_whole
                    ? spec_verify_sample(row, draft->vocab, chance)
                    : spec_verify_correct(row, law, token, draft->vocab, weight, chance);
            spec_verify_end(ret_round, correction);
            return;
        }
        spec_verify_accept(ret_round, draft, node);
    }
    spec_verify_end(ret_round, spec_verify_sample(target[at + 1], draft->vocab, chance));
}

static void verify_resample_target(spec_round *ret_round, const spec_rule *rule,
                                   const spec_draft *draft, const double *const *target,
                                   double *weight, spec_chance *chance)
{
    (void)rule;
    token_rule_with((mistake){.resamples_whole = true}, ret_round, draft, target, weight, chance);
}

static void verify_greedy_softmax(spec_round *ret_round, const spec_rule *rule,
                                  const spec_draft *draft, const double *const *target,
                                  double *weight, spec_chance *chance)
{
    (void)rule;
    token_rule_with((mistake){.trusts_row = true}, ret_round, draft, target, weight, chance);
}

const spec_rule spec_verify_resample_target = {
    .name = "resample-target",
    .summary = "WRONG on purpose: after a rejection resamples from the whole target",
    .reference = "",
    .claim = SPEC_WRONG,
    .asks = SPEC_ASKS_CHILDREN,
    .verify = verify_resample_target,
};

const spec_rule spec_verify_greedy_softmax = {
    .name = "greedy-softmax",
    .summary = "WRONG on purpose: verifies argmax drafts as if sampled from the draft model's row",
    .reference = "",
    .claim = SPEC_WRONG,
    .asks = SPEC_ASKS_CHILDREN,
    .verify = verify_greedy_softmax,
};
