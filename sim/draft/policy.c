/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/draft/policy.h"

#include "base/names.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define LINE(name) &spec_policy_##name,
const spec_policy_kind *const spec_policy_kinds[] = {SPEC_POLICIES(LINE) NULL};

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
        status = spec_fail(error, GSL_EINVAL, "K must be 0 to %d, got %d", SPEC_K_MAX, K);
        goto done;
    }
    SPEC_TRY(spec_settings_init(&settings, spec, error));
    const int line = spec_names_find(name_of, settings.name, "length policy", error);
    SPEC_TRY(line < 0 ? GSL_EINVAL : GSL_SUCCESS);
    const spec_policy_kind *kind = policy->kind = spec_policy_kinds[line];
    policy->anticipates = kind->anticipates;
    policy->looks_ahead = kind->looks_ahead;
    SPEC_TRY(spec_settings_check(&settings, kind->usage, NULL, error));
    if (kind->init != NULL) SPEC_TRY(kind->init(policy, &settings, error));
    policy->first = policy->now;
    if (kind->state_size != NULL) {
        policy->state_size = kind->state_size(policy);
        policy->state = calloc(1, policy->state_size);
        if (policy->state == NULL) SPEC_TRY(spec_no_memory(error));
    }
    spec_policy_reset(policy);
done:
    spec_settings_free(&settings);
    if (status != GSL_SUCCESS) spec_policy_free(policy);
    return status;
}

void spec_policy_free(spec_policy *policy)
{
    if (policy->state != NULL && policy->kind->end != NULL) policy->kind->end(policy->state);
    free(policy->state);
    *policy = (spec_policy){0};
}

void spec_policy_price(spec_policy *policy, const spec_policy_prices *prices)
{
    const spec_policy_prices own = policy->prices;
    policy->prices = *prices;
    if (policy->has_call) policy->prices.call = own.call;
    if (policy->has_token) policy->prices.token = own.token;
}

void spec_policy_reset(spec_policy *policy)
{
    policy->now = policy->first;
    if (policy->state == NULL) return;
    if (policy->kind->end != NULL) policy->kind->end(policy->state);
    memset(policy->state, 0, policy->state_size);
    if (policy->kind->begin != NULL) policy->kind->begin(policy);
}

void spec_policy_copy(spec_policy *into, const spec_policy *from)
{
    void *const state = into->state;
    assert(into->kind == from->kind && into->kind->end == NULL &&
           into->state_size == from->state_size);
    *into = *from;
    into->state = state;
    if (state != NULL) memcpy(state, from->state, from->state_size);
}

int spec_policy_list(int *ret_n, int *ret_number, const spec_settings *settings, const char *key,
                     const char *fallback, spec_error *error)
{
    const char *given = spec_settings_text(settings, key), *list = given != NULL ? given : fallback;
    const size_t end = strlen(list);
    *ret_n = 0;
    for (size_t i = 0; i < end || (given != NULL && *ret_n == 0);) {
        int number;
        if (spec_settings_list_int(&number, &i, key, list, 0, SPEC_K_MAX, error) != GSL_SUCCESS)
            return GSL_EINVAL;
        if (*ret_n == SPEC_LENGTHS_MAX || (*ret_n > 0 && number <= ret_number[*ret_n - 1]))
            return spec_fail(error, GSL_EINVAL,
                             "%s: %s=%.40s: give at most %d rising numbers, as 1.3.5",
                             settings->name, key, list, SPEC_LENGTHS_MAX);
        ret_number[(*ret_n)++] = number;
    }
    return GSL_SUCCESS;
}

int spec_policy_time_init(spec_policy *policy, spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_policy_prices *prices = &policy->prices;
    prices->pass = 1.0;
    policy->has_call = spec_settings_text(settings, "c") != NULL;
    policy->has_token = spec_settings_text(settings, "token") != NULL;
    SPEC_TRY(spec_settings_double(&prices->call, settings, "c", 0.1, 0.0, 1e6, error));
    SPEC_TRY(spec_settings_double(&prices->token, settings, "token", 0.0, 0.0, 1e6, error));
done:
    return status;
}

double spec_policy_time(const spec_policy *policy, int K)
{
    const spec_policy_prices *of = &policy->prices;
    return of->pass + of->call * (of->one_pass ? K > 0 : K) + (of->row + of->token) * K;
}

bool spec_policy_reads(const spec_policy *policy)
{
    const spec_policy_kind *kind = policy->kind;
    return kind->go_on != NULL || kind->retract != NULL || kind->cut != NULL;
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

int spec_policy_cut(const spec_policy *policy, const spec_draft *draft)
{
    if (policy->kind->cut == NULL) return draft->n_nodes;
    const int n = policy->kind->cut(policy, draft);
    assert(n >= 0 && n <= draft->n_nodes);
    return n;
}

int spec_policy_observe(spec_policy *policy, const spec_draft *draft, const spec_round *round,
                        spec_error *error)
{
    if (policy->kind->observe == NULL) return GSL_SUCCESS;
    const int status = policy->kind->observe(policy, draft, round, error);
    assert(policy->now >= 0 && policy->now <= policy->K);
    return status;
}

int spec_policy_charged(const spec_policy *policy, const spec_round *round, int n)
{
    return policy->kind->charged != NULL ? policy->kind->charged(policy, round, n) : n;
}
