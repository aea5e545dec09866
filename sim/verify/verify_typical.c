/* SPDX-License-Identifier: GPL-3.0-or-later */
/* typical: Medusa's typical acceptance [Cai24]; docs/formulas/rules.md#typical. It compares only
 * the target's probability of a draft token with a threshold that falls with the target's entropy.
 * No random decisions. One pass over the target per token. */
#include "sim/verify/verify.h"

#include "models/row.h"

#include <math.h>

static int init(spec_rule *rule, spec_settings *settings, spec_error *error)
{
    const int status = spec_settings_double(&rule->settings.typical.epsilon, settings, "epsilon",
                                            0.09, 0.0, 1.0, error);
    if (status != GSL_SUCCESS) return status;
    return spec_settings_double(&rule->settings.typical.delta, settings, "delta", 0.3, 0.0, 1.0,
                                error);
}

static double threshold(const spec_rule *rule, const double *row, int vocab)
{
    double entropy = 0.0;
    for (int i = 0; i < vocab; i++)
        if (row[i] > 0.0) entropy -= row[i] * log(row[i]);
    return fmin(rule->settings.typical.epsilon, rule->settings.typical.delta * exp(-entropy));
}

static void verify(spec_round *ret_round, const spec_rule *rule, const spec_draft *draft,
                   const double *const *target, double *weight, spec_chance *chance)
{
    (void)weight, (void)chance;
    int at = -1; /* the last accepted node */
    spec_verify_begin(ret_round, draft);
    for (int node; (node = spec_verify_child(draft, at, at + 1)) >= 0; at = node) {
        const double *row = target[at + 1];
        if (!(row[draft->token[node]] > threshold(rule, row, draft->vocab))) break;
        spec_verify_accept(ret_round, draft, node);
    }
    spec_verify_end(ret_round, spec_row_argmax(target[at + 1], draft->vocab));
}

const spec_rule spec_verify_typical = {
    .name = "typical",
    .usage = "typical?epsilon=0.09&delta=0.3",
    .summary = "LOSSY on purpose: accept where target > min(epsilon, delta exp(-entropy)), else "
               "the target's argmax",
    .reference = "Cai24",
    .claim = SPEC_LOSSY,
    .init = init,
    .verify = verify,
};
