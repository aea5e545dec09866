/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ensemble: emits the mixture w target + (1-w) draft at each judged position [WangZ26];
 * docs/formulas/rules.md#ensemble. The bonus follows the target. */
#include "sim/verify/verify.h"

static int init(spec_rule *rule, spec_settings *settings, spec_error *error)
{
    return spec_settings_double(&rule->settings.ensemble.w, settings, "w", 0.7, 0.0, 1.0, error);
}

static bool test(const spec_rule *rule, double target, double drafted, spec_chance *chance)
{
    const double w = rule->settings.ensemble.w;
    return spec_chance_accept(chance, (1.0 - w) * drafted + w * target, drafted);
}

static void verify(spec_round *ret_round, const spec_rule *rule, const spec_draft *draft,
                   const double *const *target, double *weight, spec_chance *chance)
{
    spec_verify_token_by(ret_round, rule, draft, target, test, weight, chance);
}

const spec_rule spec_verify_ensemble = {
    .name = "ensemble",
    .usage = "ensemble?w=0.7",
    .summary = "LOSSY on purpose: accept with min(1, 1-w + w target/draft), so that a verified "
               "position has the distribution w target + (1-w) draft",
    .reference = "WangZ26",
    .claim = SPEC_LOSSY,
    .asks = SPEC_ASKS_CHILDREN,
    .init = init,
    .verify = verify,
};
