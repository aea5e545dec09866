/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Policies that now and then try a neighbouring length: probe, the adaptive K of ONNX Runtime GenAI
 * 0.16.0, and climb, the draft depth of Ollama's MLX runner. Both engines measure how long rounds
 * take; here the clock gives the times. */
#include "base/int_math.h"
#include "sim/draft/policy.h"

/* ---- probe ----------------------------------------------------------------------------------- */

enum { MOST = 16, REST_AFTER_SUCCESS = 1, REST_AFTER_FAILURE = 6 };
static const double weight = 0.25;             /* weight of the last round in a moving average */
/* limits on the share of tested tokens that are accepted */
static const double low = 0.5, high = 0.75;
/* limits on tokens per time, relative to the old length */
static const double keeps = 0.97, fails = 0.8;

typedef struct {
    double emitted, share; /* moving averages over the rounds of a length */
    int rounds;
} length_record;

typedef struct {
    length_record of[SPEC_K_MAX + 1];
    int origin; /* the length before the current trial; 0: there is no trial */
    int tried;  /* rounds of this trial so far */
    int rest;   /* rounds until the next trial may begin */
} probe_state;

static int probe_init(spec_policy *policy, spec_settings *settings, spec_error *error)
{
    const int K = policy->K;
    int most, status = GSL_SUCCESS;
    SPEC_TRY(spec_settings_int(&policy->probe.least, settings, "least", K, spec_int_min(1, K), K,
                               error));
    SPEC_TRY(spec_settings_int(&most, settings, "max", K > MOST || K == 0 ? K : MOST, K,
                               K == 0 ? 0 : SPEC_K_MAX, error));
    SPEC_TRY(spec_settings_int(&policy->probe.samples, settings, "samples", 2, 1, 1 << 30, error));
    SPEC_TRY(spec_policy_time_init(policy, settings, error));
    policy->K = most;
done:
    return status;
}

static size_t probe_state_size(const spec_policy *policy)
{
    (void)policy;
    return sizeof(probe_state);
}

static double rate_of(const spec_policy *policy, int K)
{
    const probe_state *state = policy->state;
    return state->of[K].emitted / spec_policy_time(policy, K);
}

/* Ends a trial: keeps the new length, or goes back to the old one. */
static void decide(spec_policy *policy, bool stay)
{
    probe_state *state = policy->state;
    if (!stay) policy->now = state->origin;
    state->rest = stay ? REST_AFTER_SUCCESS : REST_AFTER_FAILURE;
    state->origin = 0;
}

static void judge(spec_policy *policy)
{
    probe_state *state = policy->state;
    const double old = rate_of(policy, state->origin), new = rate_of(policy, policy->now);
    const bool longer = policy->now > state->origin;
    if (new < old * fails)
        decide(policy, false);
    else if (++state->tried >= policy->probe.samples)
        decide(policy, new >= old *keeps && (!longer || state->of[policy->now].share >= high));
}

static int probe_observe(spec_policy *policy, const spec_draft *draft, const spec_round *round,
                         spec_error *error)
{
    probe_state *state = policy->state;
    length_record *at = &state->of[policy->now];
    const int n = round->n_accepted;
    (void)draft, (void)error;
    if (policy->now == 0 || round->n_drafted < policy->now) return GSL_SUCCESS;
    const double by = at->rounds++ == 0 ? 1.0 : weight;
    at->emitted += by * (n + 1.0 - at->emitted);
    at->share += by * ((double)n / spec_int_min(n + 1, round->n_drafted) - at->share);
    if (state->origin > 0) {
        judge(policy);
        return GSL_SUCCESS;
    }
    if (state->rest > 0) {
        state->rest--;
        return GSL_SUCCESS;
    }
    if (at->rounds < policy->probe.samples) return GSL_SUCCESS;
    const int old = policy->now;
    if (at->share < low && old > policy->probe.least)
        policy->now--;
    else if (at->share >= high && old < policy->K)
        policy->now++;
    if (policy->now != old) state->origin = old, state->tried = 0;
    return GSL_SUCCESS;
}

const spec_policy_kind spec_policy_probe = {
    .name = "probe",
    .usage = "probe?least=K&max=16&samples=2&c=",
    .summary = "begins with K; tries one token more if 3/4 of the tested tokens are accepted, one "
               "less if fewer than half are, and keeps that length if tokens over time hardly fall",
    .reference = "ORT-GenAI",
    .init = probe_init,
    .state_size = probe_state_size,
    .observe = probe_observe,
};

/* ---- climb ----------------------------------------------------------------------------------- */

enum { EVERY_MAX = 512 };

typedef struct {
    double chance[SPEC_K_MAX + 1]; /* of token k, given those before it; a moving average */
    int tested[SPEC_K_MAX + 1];
    int best;         /* the length in use, apart from trials */
    int every, since; /* rounds between trials; rounds since the last one */
    bool trial;       /* the last round was a trial */
} climb_state;

static int climb_init(spec_policy *policy, spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_settings_double(&policy->climb.rate, settings, "rate", 0.1, 0.0, 1.0, error));
    SPEC_TRY(spec_settings_int(&policy->climb.samples, settings, "samples", 10, 1, 1 << 30, error));
    SPEC_TRY(spec_settings_int(&policy->climb.every, settings, "every", 4, 1, EVERY_MAX, error));
    SPEC_TRY(spec_policy_time_init(policy, settings, error));
    policy->now = 0;
done:
    return status;
}

static size_t climb_state_size(const spec_policy *policy)
{
    (void)policy;
    return sizeof(climb_state);
}

static void climb_begin(spec_policy *policy)
{
    ((climb_state *)policy->state)->every = policy->climb.every;
}

/* Returns the longest length to consider: one token beyond those that were tested often enough. */
static int highest(const spec_policy *policy)
{
    const climb_state *state = policy->state;
    int k = 1;
    while (k < policy->K && state->tested[k] >= policy->climb.samples) k++;
    return spec_int_min(k, policy->K);
}

/* Returns the length with the most expected tokens per time, up to the highest. A token that was
 * not tested often enough has the chance of the one before it. */
static int best_length(const spec_policy *policy)
{
    const climb_state *state = policy->state;
    const int last = highest(policy);
    double chance = 1.0, survival = 1.0, emitted = 1.0;
    double most = emitted / spec_policy_time(policy, 0);
    int best = 0;
    for (int k = 1; k <= last; k++) {
        if (state->tested[k] >= policy->climb.samples) chance = state->chance[k];
        survival *= chance;
        emitted += survival;
        const double rate = emitted / spec_policy_time(policy, k);
        if (rate > most) most = rate, best = k;
    }
    return best;
}

static int climb_observe(spec_policy *policy, const spec_draft *draft, const spec_round *round,
                         spec_error *error)
{
    climb_state *state = policy->state;
    (void)draft, (void)error;
    for (int k = 1; k <= round->n_drafted && k <= round->n_accepted + 1; k++) {
        const double by = state->tested[k]++ == 0 ? 1.0 : policy->climb.rate;
        state->chance[k] += by * ((k <= round->n_accepted) - state->chance[k]);
    }
    const int best = best_length(policy);
    if (best != state->best) {
        state->best = best;
        state->every = policy->climb.every;
        state->since = 0;
    } else if (state->trial)
        state->every = spec_int_min(2 * state->every, EVERY_MAX);
    policy->now = best;
    if (++state->since >= state->every) {
        state->since = 0;
        policy->now = spec_int_min(best + 1, highest(policy));
    }
    state->trial = policy->now != best;
    return GSL_SUCCESS;
}

const spec_policy_kind spec_policy_climb = {
    .name = "climb",
    .usage = "climb?c=&rate=0.1&samples=10&every=4",
    .summary = "begins without drafts; takes the length with the most expected tokens over time, "
               "at most one token beyond those tested often enough; tries one more now and then, "
               "and less and less often as long as that does not pay",
    .reference = "Ollama",
    .drops = true,
    .init = climb_init,
    .state_size = climb_state_size,
    .begin = climb_begin,
    .observe = climb_observe,
};
