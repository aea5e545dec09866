/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The adaptive steps of SGLang 0.5.23 for one request: a moving average of accepted tokens selects
 * one of a few lengths. */
#include "sim/draft/policy.h"

#include <math.h>

typedef struct {
    int at, rounds;  /* index of the length in use; rounds of the text */
    double accepted; /* moving average of accepted tokens */
} average_state;

/* Returns the index of the first length: K if it is in the list, else the middle one. */
static int start_of(const spec_policy *policy, int K)
{
    for (int i = 0; i < policy->average.n; i++)
        if (policy->average.length[i] == K) return i;
    return policy->average.n / 2;
}

static int average_init(spec_policy *policy, spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_policy_list(&policy->average.n, policy->average.length, settings, "lengths",
                              "1.3.5.7", error));
    SPEC_TRY(spec_settings_double(&policy->average.rate, settings, "rate", 0.2, 0.0, 1.0, error));
    SPEC_TRY(spec_settings_int(&policy->average.warm, settings, "warm", 10, 0, 1 << 30, error));
    SPEC_TRY(spec_settings_int(&policy->average.every, settings, "every", 5, 1, 1 << 30, error));
    SPEC_TRY(
        spec_settings_double(&policy->average.down, settings, "down", -0.25, -10.0, 10.0, error));
    SPEC_TRY(spec_settings_double(&policy->average.up, settings, "up", 0.0, -10.0, 10.0, error));
    SPEC_TRY(spec_settings_double(&policy->average.ceiling, settings, "ceiling", 0.0, 0.0, 100.0,
                                  error));
    policy->now = policy->average.length[start_of(policy, policy->K)];
    policy->K = policy->average.length[policy->average.n - 1];
done:
    return status;
}

static size_t average_state_size(const spec_policy *policy)
{
    (void)policy;
    return sizeof(average_state);
}

static void average_begin(spec_policy *policy)
{
    average_state *state = policy->state;
    state->at = start_of(policy, policy->now);
    state->accepted = policy->now - 1;
}

/* Goes from length 0, at which nothing is learnt, to the smallest positive length. */
static int probe(const spec_policy *policy, average_state *state)
{
    if (policy->average.n == 1) return 0;
    if (state->accepted < 0.0) state->accepted = policy->average.length[1] - 1;
    return 1;
}

static int next_length(const spec_policy *policy, average_state *state)
{
    const int *length = policy->average.length, last = policy->average.n - 1;
    const double average = state->accepted;
    int at = state->at;
    if (length[at] == 0) return probe(policy, state);
    for (; at > 0; at--) {
        const double bound = length[at - 1] == 0 ? 0.5 : length[at - 1] - 0.5;
        if (average > bound + policy->average.down) break;
    }
    if (at == state->at)
        while (at < last && average > length[at] - 0.5 + policy->average.up) at++;
    if (policy->average.ceiling > 0.0 && at <= state->at) {
        const double ceiling = fmax(1.0, ceil(average * policy->average.ceiling));
        while (at > 0 && length[at] > ceiling) at--;
    }
    return at;
}

static int average_observe(spec_policy *policy, const spec_draft *draft, const spec_round *round,
                           spec_error *error)
{
    average_state *state = policy->state;
    const double rate = policy->average.rate;
    (void)draft, (void)error;
    if (policy->now > 0)
        state->accepted = (1.0 - rate) * state->accepted + rate * round->n_accepted;
    if (state->rounds < policy->average.warm) {
        state->rounds++;
        return GSL_SUCCESS;
    }
    /* After the warm-up, the length may change only once per interval. */
    if (++state->rounds - policy->average.warm < policy->average.every) return GSL_SUCCESS;
    state->rounds = policy->average.warm;
    state->at = next_length(policy, state);
    policy->now = policy->average.length[state->at];
    return GSL_SUCCESS;
}

const spec_policy_kind spec_policy_average = {
    .name = "average",
    .usage = "average?lengths=1.3.5.7&rate=0.2&warm=10&every=5&down=-0.25&up=0&ceiling=0",
    .summary = "one of a few lengths, chosen by a moving average of accepted tokens; begins with "
               "K if it is one of them, else with the middle one",
    .reference = "SGLang",
    .drops = true,
    .init = average_init,
    .state_size = average_state_size,
    .begin = average_begin,
    .observe = average_observe,
};
