/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Policies that set a round's length before it begins: fixed, heuristic, and the oracle's
 * accounting. */
#include "base/int_math.h"
#include "sim/draft/policy.h"

const spec_policy_kind spec_policy_fixed = {
    .name = "fixed",
    .usage = "fixed",
    .summary = "K tokens every round",
    .reference = "Leviathan23",
};

/* ---- heuristic ------------------------------------------------------------------------------- */

static int heuristic_init(spec_policy *policy, spec_settings *settings, spec_error *error)
{
    const int start = policy->K;
    int cap;
    const int status = spec_settings_int(&cap, settings, "cap", spec_int_min(4 * start, SPEC_K_MAX),
                                         start, SPEC_K_MAX, error);
    if (status == GSL_SUCCESS) policy->K = cap;
    return status;
}

static int heuristic_observe(spec_policy *policy, const spec_draft *draft, const spec_round *round,
                             spec_error *error)
{
    (void)draft, (void)error;
    /* Compares with the requested length, as in the original: a draft that ended early counts as
     * not fully accepted. */
    const int next = round->n_accepted == policy->now ? policy->now + 2 : policy->now - 1;
    policy->now = spec_int_min(next > 1 ? next : 1, policy->K);
    return GSL_SUCCESS;
}

const spec_policy_kind spec_policy_heuristic = {
    .name = "heuristic",
    .usage = "heuristic?cap=4K",
    .summary =
        "begin with K; two more after a round whose tokens were all accepted, else one less, "
        "within 1..cap",
    .reference = "HF",
    .init = heuristic_init,
    .observe = heuristic_observe,
};

/* ---- oracle ---------------------------------------------------------------------------------- */

/* No real policy can do this, because it knows what will be accepted. It drafts like the fixed
 * policy, so the text has the same law, but the clock charges only the accepted tokens. It bounds
 * the savings of any adaptive length, but not the gain of drafting beyond K. */
static int oracle_charged(const spec_policy *policy, const spec_round *round, int n)
{
    (void)policy;
    return spec_int_min(round->n_accepted, n);
}

const spec_policy_kind spec_policy_oracle = {
    .name = "oracle",
    .usage = "oracle",
    .summary = "drafts K tokens and is charged only for the accepted ones: the bound for adaptive "
               "lengths",
    .reference = "Leviathan23",
    .charged = oracle_charged,
};
