/* SPDX-License-Identifier: GPL-3.0-or-later */
/* target-only: one coin for all children of a node, only from the target's row, as SGLang judges
 * trees; docs/formulas/rules.md#target-only. A child is accepted if the coin is below the target's
 * mass on it and its elder siblings, divided by `acc`. It is also accepted if its own probability
 * is at least `single`. Lossless for distinct siblings at 1, 1. Takes one pass over the target's
 * row if all are rejected. */
#include "sim/verify/verify.h"

static int init(spec_rule *rule, spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_settings_double(&rule->settings.target_only.acc, settings, "acc", 1.0, 0.0, 1.0,
                                  error));
    SPEC_TRY(spec_settings_double(&rule->settings.target_only.single, settings, "single", 1.0, 0.0,
                                  1.0, error));
    if (rule->settings.target_only.acc < 1.0 || rule->settings.target_only.single < 1.0)
        rule->claim = SPEC_LOSSY;
done:
    return status;
}

/* The coin is known to be at least before / acc, so each child is tested with a conditional
 * chance. */
static int decide(const spec_rule *rule, const spec_draft *draft, int node, const double *target,
                  double *weight, spec_chance *chance)
{
    const double acc = rule->settings.target_only.acc, single = rule->settings.target_only.single;
    double before = 0.0; /* the target's mass on the rejected children */
    for (int child = node + 1; (child = spec_verify_child(draft, node, child)) >= 0; child++) {
        const int token = draft->token[child];
        const double mass = target[token], left = acc > before ? acc - before : 0.0;
        const bool certain = mass > 0.0 && mass >= single;
        const double of = certain ? mass : mass > 0.0 ? left : 1.0;
        if (spec_chance_accept(chance, mass, of)) return token;
        before += mass;
    }
    const double rest = before > 0.0 ? spec_verify_rest(weight, draft, node, target) : 0.0;
    return spec_verify_sample(rest > 0.0 ? weight : target, draft->vocab, chance);
}

const spec_rule spec_verify_target_only = {
    .name = "target-only",
    .usage = "target-only?acc=1&single=1",
    .summary = "one coin for all siblings, from only the target's probabilities; LOSSY with acc or "
               "single below 1",
    .reference = "",
    .claim = SPEC_LOSSLESS,
    .asks = SPEC_ASKS_CHILDREN,
    .siblings = SPEC_SIBLINGS_ANY & ~SPEC_SIBLINGS_BIT(SPEC_SIBLINGS_IID),
    .init = init,
    .verify = spec_verify_walk,
    .decide = decide,
    .settings.target_only = {.acc = 1.0, .single = 1.0},
};
