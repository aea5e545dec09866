/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rules with a seed: like match, but with noise that the drafter can share in place of chance. The
 * output is a function of only the seed, the text's number and the target. So any draft is valid,
 * and a token that was drafted in vain may be drafted again from the same noise. */
#include "sim/verify/verify.h"

static void verify(spec_round *ret_round, const spec_rule *rule, const spec_draft *draft,
                   const double *const *target, double *weight, spec_chance *chance)
{
    (void)chance;
    spec_shared_noise noise = rule->noise;
    noise.text = draft->text;
    noise.place = draft->place;
    spec_chance shared = spec_chance_shared(&noise);
    spec_verify_walk(ret_round, &spec_verify_match, draft, target, weight, &shared);
}

int spec_verify_share(spec_rule *rule, spec_noise_kind kind, const spec_settings *settings,
                      spec_error *error)
{
    const int status = spec_shared_noise_init(&rule->noise, kind, settings, error);
    if (status != GSL_SUCCESS || rule->noise.kind == SPEC_NOISE_NONE) return status;
    rule->siblings = SPEC_SIBLINGS_ANY;
    rule->open = NULL;
    rule->verify = verify;
    return GSL_SUCCESS;
}
