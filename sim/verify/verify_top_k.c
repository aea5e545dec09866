/* SPDX-License-Identifier: GPL-3.0-or-later */
/* top-k-relaxed: accept a draft token among the target's k most probable ones;
 * docs/formulas.md#top-k-relaxed. Otherwise the target's own sample replaces it. One pass over the
 * target's row per token. */
#include "sim/verify/verify.h"

#include <limits.h>

static int init(spec_rule *rule, spec_settings *settings, spec_error *error)
{
    return spec_settings_int(&rule->settings.top_k.k, settings, "k", 3, 1, INT_MAX, error);
}

/* Number of tokens before this one: more probable, or as probable with a lower id. */
static int rank(const double *row, int vocab, int token)
{
    int before = 0;
    for (int i = 0; i < vocab; i++)
        before += row[i] > row[token] || (row[i] == row[token] && i < token);
    return before;
}

static void verify(spec_round *ret_round, const spec_rule *rule, const spec_draft *draft,
                   const double *const *target, double *weight, spec_chance *chance)
{
    (void)weight;
    int at = -1; /* the last accepted node */
    spec_verify_begin(ret_round, draft);
    for (int node; (node = spec_verify_child(draft, at, at + 1)) >= 0; at = node) {
        if (rank(target[at + 1], draft->vocab, draft->token[node]) >= rule->settings.top_k.k) break;
        spec_verify_accept(ret_round, draft, node);
    }
    spec_verify_end(ret_round, spec_verify_sample(target[at + 1], draft->vocab, chance));
}

const spec_rule spec_verify_top_k = {
    .name = "top-k-relaxed",
    .usage = "top-k-relaxed?k=3",
    .summary = "LOSSY on purpose: accept a draft token among the target's k most probable, else "
               "sample from the target",
    .reference = "",
    .claim = SPEC_LOSSY,
    .asks = SPEC_ASKS_END,
    .init = init,
    .verify = verify,
};
