/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lenience: the token rule with the draft's probability scaled down, so that it accepts more and
 * loses the target's law [Leviathan23] appendix A.5; docs/formulas/rules.md#lenience. No token is
 * more than 1/l times as frequent as under the target. */
#include "sim/verify/verify.h"

static int init(spec_rule *rule, spec_settings *settings, spec_error *error)
{
    return spec_settings_double(&rule->settings.lenience.l, settings, "l", 0.5, 0.0, 1.0, error);
}

static bool test(const spec_rule *rule, double target, double drafted, spec_chance *chance)
{
    return spec_chance_accept(chance, target, rule->settings.lenience.l * drafted);
}

static void verify(spec_round *ret_round, const spec_rule *rule, const spec_draft *draft,
                   const double *const *target, double *weight, spec_chance *chance)
{
    spec_verify_token_by(ret_round, rule, draft, target, test, weight, chance);
}

const spec_rule spec_verify_lenience = {
    .name = "lenience",
    .usage = "lenience?l=0.5",
    .summary = "LOSSY on purpose: accept with min(1, target / (l draft)), correct as token does",
    .reference = "Leviathan23",
    .claim = SPEC_LOSSY,
    .asks = SPEC_ASKS_CHILDREN,
    .init = init,
    .verify = verify,
};
