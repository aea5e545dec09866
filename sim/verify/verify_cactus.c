/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cactus: raises the target's probability of the draft token, scales the others down, and decides
 * as the token rule does for that row [HaoY26], as its authors' program does;
 * docs/formulas/rules.md#cactus. The bonus follows the target. */
#include "sim/verify/verify.h"

#include <assert.h>
#include <math.h>

static int init(spec_rule *rule, spec_settings *settings, spec_error *error)
{
    return spec_settings_double(&rule->settings.cactus.delta, settings, "delta", 1.0, 0.0, 100.0,
                                error);
}

static int decide(const spec_rule *rule, const spec_draft *draft, int node, const double *target,
                  double *weight, spec_chance *chance)
{
    const int child = spec_verify_child(draft, node, node + 1), vocab = draft->vocab;
    if (child < 0) return spec_verify_sample(target, vocab, chance);
    const double *law = spec_draft_law(draft, child);
    const int token = draft->token[child];
    assert(law == NULL || law[token] > 0.0); /* else it was not drawn from that law */
    const double t = target[token],
                 raised = fmin(1.0, t + sqrt(2.0 * rule->settings.cactus.delta * t * (1.0 - t)));
    if (spec_chance_accept(chance, raised, law != NULL ? law[token] : 1.0)) return token;
    if (law == NULL) return spec_verify_correct(target, NULL, token, vocab, weight, chance);
    /* (scale target - law)+ in proportion; it was rejected, so raised is below 1 */
    const spec_residual residual = {.target = target,
                                    .row = law,
                                    .taken = (1.0 - t) / (1.0 - raised),
                                    .but = -1,
                                    .vocab = vocab};
    return spec_verify_sample_residual(&residual, weight, spec_residual_sum(weight, &residual),
                                       chance);
}

const spec_rule spec_verify_cactus = {
    .name = "cactus",
    .usage = "cactus?delta=1",
    .summary = "LOSSY on purpose: the token rule for a target that is raised at the draft token by "
               "sqrt(2 delta target (1 - target))",
    .reference = "HaoY26",
    .claim = SPEC_LOSSY,
    .asks = SPEC_ASKS_CHILDREN,
    .init = init,
    .verify = spec_verify_walk,
    .decide = decide,
};
