/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cut-invalid: a negative control: the mistake of an engine with grammars. The draft is cut before
 * its first token of target probability 0, and that position is drawn from the target as if nothing
 * had been drafted there; docs/formulas/rules.md#cut-invalid. For chains. */
#include "sim/verify/verify.h"

enum { BY_TOKEN, BY_BLOCK };

static int init(spec_rule *rule, spec_settings *settings, spec_error *error)
{
    static const char *const rules[] = {[BY_TOKEN] = "token", [BY_BLOCK] = "block", NULL};
    int by = BY_TOKEN;
    const int status = spec_settings_choice(&by, settings, "rule", BY_TOKEN, rules, error);
    rule->settings.cut_invalid.block = by == BY_BLOCK;
    rule->asks = by == BY_BLOCK ? SPEC_ASKS_BLOCK : SPEC_ASKS_CHILDREN;
    return status;
}

static void verify(spec_round *ret_round, const spec_rule *rule, const spec_draft *draft,
                   const double *const *target, double *weight, spec_chance *chance)
{
    const spec_rule *by =
        rule->settings.cut_invalid.block ? &spec_verify_block : &spec_verify_token;
    spec_draft cut = *draft;
    for (cut.n_nodes = 0; cut.n_nodes < draft->n_nodes; cut.n_nodes++)
        if (!(target[cut.n_nodes][draft->token[cut.n_nodes]] > 0.0)) break;
    by->verify(ret_round, by, &cut, target, weight, chance);
    /* The tokens after the cut were drafted too, and the first of them was judged. */
    ret_round->n_drafted = draft->n_nodes;
    if (ret_round->n_accepted < draft->n_nodes) ret_round->n_tested = ret_round->n_accepted + 1;
}

const spec_rule spec_verify_cut_invalid = {
    .name = "cut-invalid",
    .usage = "cut-invalid?rule=token",
    .summary = "WRONG on purpose: cuts the draft before an impossible token, and draws the next "
               "one from the target, not from the residual",
    .reference = "",
    .claim = SPEC_WRONG,
    .asks = SPEC_ASKS_CHILDREN,
    .init = init,
    .verify = verify,
};
