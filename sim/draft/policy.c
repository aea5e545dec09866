/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/policy.h"

#include "base/names.h"

#include <assert.h>

const spec_policy_kind *const spec_policy_kinds[] = {
    &spec_policy_fixed,           &spec_policy_heuristic,
    &spec_policy_oracle,          &spec_policy_confidence,
    &spec_policy_cumulative,      &spec_policy_peak,
    &spec_policy_confidence_drop, NULL,
};

static const char *name_of(int i)
{
    return spec_policy_kinds[i] != NULL ? spec_policy_kinds[i]->name : NULL;
}

int spec_policy_init(spec_policy *policy, const char *spec, int K, spec_error *error)
{
    spec_settings settings = {0};
    int status = GSL_SUCCESS;
    *policy = (spec_policy){.K = K, .now = K};
    if (K < 0 || K > SPEC_K_MAX) {
        status =
            spec_fail(error, GSL_EINVAL, "K is %d; a draft may have 0 to %d tokens", K, SPEC_K_MAX);
        goto done;
    }
    SPEC_TRY(spec_settings_init(&settings, spec, error));
    const int line = spec_names_find(name_of, settings.name, "length policy", error);
    SPEC_TRY(line < 0 ? GSL_EINVAL : GSL_SUCCESS);
    policy->kind = spec_policy_kinds[line];
    SPEC_TRY(spec_settings_check(&settings, policy->kind->usage, NULL, error));
    if (policy->kind->init != NULL) SPEC_TRY(policy->kind->init(policy, &settings, error));
done:
    spec_settings_free(&settings);
    if (status != GSL_SUCCESS) *policy = (spec_policy){0};
    return status;
}

bool spec_policy_go_on(const spec_policy *policy, const spec_draft *draft,
                       const double *opt_next_row)
{
    if (draft->n_nodes >= policy->now) return false;
    return policy->kind->go_on == NULL || policy->kind->go_on(policy, draft, opt_next_row);
}

bool spec_policy_retract(const spec_policy *policy, const spec_draft *draft)
{
    return policy->kind->retract != NULL && policy->kind->retract(policy, draft);
}

void spec_policy_observe(spec_policy *policy, const spec_round *round)
{
    if (policy->kind->observe != NULL) policy->kind->observe(policy, round);
    assert(policy->now >= 0 && policy->now <= policy->K);
}

int spec_policy_charged(const spec_policy *policy, const spec_round *round, int n_calls)
{
    return policy->kind->charged != NULL ? policy->kind->charged(policy, round, n_calls) : n_calls;
}
