/* SPDX-License-Identifier: GPL-3.0-or-later */
/* single-threshold: the token rule, but a draft token of target probability s or more is accepted
 * for certain; docs/formulas/rules.md#single-threshold. No rule that accepts as often is nearer to
 * the target's law. */
#include "sim/verify/verify.h"

static int init(spec_rule *rule, spec_settings *settings, spec_error *error)
{
    return spec_settings_double(&rule->settings.single_threshold.s, settings, "s", 0.8, 0.0, 1.0,
                                error);
}

static bool test(const spec_rule *rule, double target, double drafted, spec_chance *chance)
{
    const bool certain = target > 0.0 && target >= rule->settings.single_threshold.s;
    return spec_chance_accept(chance, certain ? drafted : target, drafted);
}

static void verify(spec_round *ret_round, const spec_rule *rule, const spec_draft *draft,
                   const double *const *target, double *weight, spec_chance *chance)
{
    spec_verify_token_by(ret_round, rule, draft, target, test, weight, chance);
}

const spec_rule spec_verify_single_threshold = {
    .name = "single-threshold",
    .usage = "single-threshold?s=0.8",
    .summary = "LOSSY on purpose: the token rule, but a draft token with target >= s is accepted",
    .reference = "",
    .claim = SPEC_LOSSY,
    .asks = SPEC_ASKS_CHILDREN,
    .init = init,
    .verify = verify,
};
