/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/decode_device.h"

#include <assert.h>
#include <stdlib.h>

/* Checks whether this decoder can draw and verify chains on a device. */
static int check(const spec_rule *rule, const spec_drafter *drafter, const spec_policy *policy,
                 spec_error *why)
{
    if (rule->verify != spec_verify_token.verify)
        return spec_fail(why, GSL_EUNSUP,
                         "rule '%s' needs rows; a device supports only the rule token", rule->name);
    if (drafter->kind != &spec_draft_chain && drafter->kind != &spec_draft_greedy)
        return spec_fail(why, GSL_EUNSUP,
                         "draft strategy '%s' needs rows; a device supports only the strategies "
                         "chain and greedy",
                         drafter->kind->name);
    if (spec_policy_reads(policy))
        return spec_fail(why, GSL_EUNSUP,
                         "length policy '%s' needs rows; a device supports only policies that need "
                         "none, like fixed and heuristic",
                         policy->kind->name);
    return GSL_SUCCESS;
}

int spec_decode_device_init(spec_device_chain *device, spec_verify_place place,
                            const spec_rule *rule, spec_drafter *drafter, spec_session *target,
                            const spec_policy *policy, bool ahead, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_error why = {{0}};
    *device = (spec_device_chain){0};
    if (place == SPEC_VERIFY_HOST) return GSL_SUCCESS;
    SPEC_TRY(check(rule, drafter, policy, &why));
    SPEC_TRY(spec_chain_init(&device->chain, target, &drafter->session, policy->K, &why));
    if (ahead) SPEC_TRY(spec_chain_init(&device->next, target, &drafter->session, policy->K, &why));
    device->uniform = malloc(((size_t)policy->K + 2) * sizeof *device->uniform);
    device->chance = malloc(((size_t)policy->K + 1) * sizeof *device->chance);
    if (device->uniform == NULL || device->chance == NULL)
        SPEC_TRY(spec_fail(&why, GSL_ENOMEM, "out of memory for %d uniforms", policy->K));
    device->on = true;
done:
    if (status == GSL_SUCCESS) return status;
    spec_decode_device_free(device);
    if (status == GSL_EUNSUP && place == SPEC_VERIFY_AUTO) return GSL_SUCCESS;
    return spec_fail(error, status == GSL_EUNSUP ? GSL_EINVAL : status, "%s%s",
                     status == GSL_EUNSUP ? "chains cannot be verified on a device: " : "",
                     why.text);
}

void spec_decode_device_free(spec_device_chain *device)
{
    spec_chain_free(&device->chain);
    spec_chain_free(&device->next);
    if (device->rng != NULL) gsl_rng_free(device->rng);
    free(device->uniform);
    free(device->chance);
    *device = (spec_device_chain){0};
}

bool spec_decode_device_can(const spec_device_chain *device, const spec_policy *policy,
                            const spec_chance *chance)
{
    return device->on && policy->now > 0 && chance->source == SPEC_CHANCE_SAMPLED;
}

/* Reads the next n uniforms of the generator without changing its state. */
static int look_ahead(spec_device_chain *device, const gsl_rng *rng, int n, spec_error *error)
{
    if (device->rng != NULL && device->rng->type != rng->type) {
        gsl_rng_free(device->rng);
        device->rng = NULL;
    }
    if (device->rng == NULL) device->rng = gsl_rng_clone(rng);
    else gsl_rng_memcpy(device->rng, rng);
    if (device->rng == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory for a generator");
    for (int i = 0; i < n; i++) device->uniform[i] = gsl_rng_uniform(device->rng);
    return GSL_SUCCESS;
}

int spec_decode_device_draft(spec_draft *ret_draft, spec_device_chain *device, spec_chain *chain,
                             spec_drafter *drafter, const int *context, spec_chance *chance,
                             spec_error *error)
{
    int status = GSL_SUCCESS, n;
    const bool greedy = drafter->kind == &spec_draft_greedy;
    if (!greedy) SPEC_TRY(look_ahead(device, chance->rng, ret_draft->depth, error));
    SPEC_TRY(spec_chain_draw(chain, ret_draft->token, &n, context, ret_draft->place,
                             ret_draft->depth, greedy ? NULL : device->uniform, error));
    for (int i = 0; i < n; i++) {
        if (!greedy) (void)gsl_rng_uniform(chance->rng);
        spec_draft_append_unseen(ret_draft, ret_draft->token[i], !greedy);
    }
    drafter->n_calls = drafter->n_rows = n;
    drafter->n_wasted = ret_draft->depth - n;
done:
    return status;
}

int spec_decode_device_verify(spec_round *ret_round, spec_device_chain *device,
                              const spec_draft *draft, spec_chance *chance, spec_error *error)
{
    const int n = draft->n_nodes;
    spec_chain_outcome outcome = {.chance = device->chance};
    int status = GSL_SUCCESS;
    SPEC_TRY(look_ahead(device, chance->rng, n + 2, error));
    SPEC_TRY(spec_chain_verify(&device->chain, &outcome, draft->token, n, device->uniform, error));
    assert(outcome.n_accepted >= 0 && outcome.n_accepted <= n && outcome.used >= 1 &&
           outcome.used <= n + 2);
    for (int i = 0; i < outcome.used; i++) (void)gsl_rng_uniform(chance->rng);
    spec_verify_begin(ret_round, draft);
    for (int node = 0; node < outcome.n_accepted; node++)
        spec_verify_accept(ret_round, draft, node);
    spec_verify_end(ret_round, outcome.token);
done:
    return status;
}
