/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Policies that learn the best length from accepted tokens alone. A round of K tokens also shows
 * what every shorter length would have accepted. `eliminate` uses this: it always drafts the
 * longest length that may still be the best, so every length that may still be the best has been
 * observed in every round. It drops lengths that are worse beyond doubt;
 * docs/formulas/lengths.md#eliminate. `ucb` is an ordinary bandit, which learns about the length
 * that it played [Auer02], and so are `ucbspec` and `exp3spec` [Hou25]. */
#include "base/noise.h"
#include "sim/draft/policy.h"

#include <math.h>

typedef struct {
    double rounds, next; /* rounds seen; rounds at the next check */
    int checks;
    /* Rounds: of eliminate by accepted tokens, of ucb and ucbspec by length. */
    double seen[SPEC_K_MAX + 1];
    double accepted[SPEC_K_MAX + 1]; /* ucb, ucbspec: accepted tokens by length */
    double loss[SPEC_K_MAX + 1];     /* exp3spec: sums of estimates by length */
    double chance;                   /* exp3spec: with which this length was drawn */
    bool dropped[SPEC_K_MAX + 1];
} bandit_state;

static int eliminate_init(spec_policy *policy, spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_policy_time_init(policy, settings, error));
    SPEC_TRY(
        spec_settings_double(&policy->bandit.doubt, settings, "doubt", 0.1, 1e-12, 1e12, error));
done:
    return status;
}

static size_t bandit_state_size(const spec_policy *policy)
{
    (void)policy;
    return sizeof(bandit_state);
}

/* ---- eliminate ------------------------------------------------------------------------------- */

/* Returns the tokens per time of a round of length K in which n tokens would be accepted. */
static double rate(const spec_policy *policy, int K, int n)
{
    return (1.0 + (n < K ? n : K)) / spec_policy_time(policy, K);
}

/* Returns whether `better` has more tokens per time than `worse` beyond doubt: by the empirical
 * Bernstein bound of Maurer and Pontil on the mean difference of the two in a round. */
static bool beats(const spec_policy *policy, int better, int worse, double log_doubt)
{
    const bandit_state *state = policy->state;
    double mean = 0.0, squares = 0.0, low = INFINITY, high = -INFINITY;
    for (int n = 0; n <= policy->now; n++) {
        const double gain = rate(policy, better, n) - rate(policy, worse, n);
        low = fmin(low, gain);
        high = fmax(high, gain);
        mean += state->seen[n] * gain;
        squares += state->seen[n] * gain * gain;
    }
    const double rounds = state->rounds;
    mean /= rounds;
    const double variance = fmax(squares - rounds * mean * mean, 0.0) / (rounds - 1.0);
    return mean > sqrt(2.0 * variance * log_doubt / rounds) +
                      7.0 * (high - low) * log_doubt / (3.0 * (rounds - 1.0));
}

/* Compares all pairs of lengths. All checks together are wrong with probability at most `doubt`.
 * With `doubt` at 1 or more, nothing is guaranteed, and lengths are dropped within a few rounds. */
static void eliminate(spec_policy *policy)
{
    bandit_state *state = policy->state;
    const int K = policy->K, j = ++state->checks;
    const double log_doubt =
        fmax(log(2.0 * K * (K + 1.0) * j * (j + 1.0) / policy->bandit.doubt), 0.0);
    bool drop[SPEC_K_MAX + 1] = {false};
    for (int a = 0; a <= policy->now; a++)
        for (int b = 0; b <= policy->now; b++)
            if (a != b && !state->dropped[a] && !state->dropped[b] &&
                beats(policy, a, b, log_doubt))
                drop[b] = true;
    for (int k = 0; k <= policy->now; k++) state->dropped[k] = state->dropped[k] || drop[k];
    const int before = policy->now;
    while (policy->now > 0 && state->dropped[policy->now]) policy->now--;
    /* What was accepted beyond the longest length is not observed from here on. */
    for (int n = policy->now + 1; n <= before; n++) {
        state->seen[policy->now] += state->seen[n];
        state->seen[n] = 0.0;
    }
}

static int eliminate_observe(spec_policy *policy, const spec_draft *draft, const spec_round *round,
                             spec_error *error)
{
    bandit_state *state = policy->state;
    (void)draft, (void)error;
    /* A draft that ended early and was accepted does not show what would have followed. */
    if (round->n_accepted == round->n_drafted && round->n_drafted < policy->now) return GSL_SUCCESS;
    state->seen[round->n_accepted]++;
    state->rounds++;
    if (state->rounds < 2.0 || state->rounds < state->next || policy->now == 0) return GSL_SUCCESS;
    state->next = floor(1.25 * state->rounds) + 1.0;
    eliminate(policy);
    return GSL_SUCCESS;
}

const spec_policy_kind spec_policy_eliminate = {
    .name = "eliminate",
    .usage = "eliminate?c=&doubt=0.1",
    .summary = "the longest length that may still be the best: each round shows what all shorter "
               "ones would have accepted, and lengths that are worse beyond doubt are dropped",
    .reference = "",
    .drops = true,
    .init = eliminate_init,
    .state_size = bandit_state_size,
    .observe = eliminate_observe,
};

/* ---- ucb ------------------------------------------------------------------------------------- */

static int ucb_init(spec_policy *policy, spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_policy_time_init(policy, settings, error));
    SPEC_TRY(
        spec_settings_double(&policy->bandit.explore, settings, "explore", 1.0, 0.0, 1e6, error));
    SPEC_TRY(spec_settings_int(&policy->bandit.samples, settings, "samples", 1, 1, 1 << 30, error));
done:
    return status;
}

static int ucbspec_init(spec_policy *policy, spec_settings *settings, spec_error *error)
{
    policy->bandit.samples = 1;
    return eliminate_init(policy, settings, error);
}

/* Returns the confidence radius of a mean of n numbers with range 1: that of [Hou25] Eq. (6), which
 * holds for numbers that are not independent, or if no doubt is given that of [Auer02]. */
static double radius(const spec_policy *policy, double n)
{
    const bandit_state *state = policy->state;
    const double doubt = policy->bandit.doubt, lengths = policy->K + 1.0;
    if (!(doubt > 0.0)) return policy->bandit.explore * sqrt(2.0 * log(state->rounds) / n);
    const double inverse = lengths * state->rounds * state->rounds * sqrt(1.0 + n) / doubt;
    return 0.5 * sqrt((1.0 + n) * fmax(1.0 + 2.0 * log(inverse), 0.0)) / n;
}

/* Returns the length with the largest upper confidence bound, after each length has been played
 * `samples` times. */
static int most_hopeful(const spec_policy *policy)
{
    const bandit_state *state = policy->state;
    double most = -INFINITY;
    int best = policy->K;
    for (int k = policy->K; k >= 0; k--) {
        if (state->seen[k] < policy->bandit.samples) return k;
        const double time = spec_policy_time(policy, k);
        const double hope = (1.0 + state->accepted[k] / state->seen[k]) / time +
                            k / time * radius(policy, state->seen[k]);
        if (hope > most) most = hope, best = k;
    }
    return best;
}

static int ucb_observe(spec_policy *policy, const spec_draft *draft, const spec_round *round,
                       spec_error *error)
{
    bandit_state *state = policy->state;
    (void)draft, (void)error;
    state->rounds++;
    state->seen[policy->now]++;
    state->accepted[policy->now] += round->n_accepted;
    policy->now = most_hopeful(policy);
    return GSL_SUCCESS;
}

const spec_policy_kind spec_policy_ucb = {
    .name = "ucb",
    .usage = "ucb?c=&explore=1&samples=1",
    .summary = "the length with the largest upper confidence bound of tokens over time (explore=0: "
               "the largest mean), after `samples` rounds of each; it learns only about the length "
               "that it played",
    .reference = "Auer02",
    .drops = true,
    .init = ucb_init,
    .state_size = bandit_state_size,
    .observe = ucb_observe,
};

const spec_policy_kind spec_policy_ucbspec = {
    .name = "ucbspec",
    .usage = "ucbspec?c=&doubt=0.1",
    .summary =
        "ucb with the confidence bound of BanditSpec, which allows for rounds that depend on "
        "earlier ones",
    .reference = "Hou25",
    .drops = true,
    .init = ucbspec_init,
    .state_size = bandit_state_size,
    .observe = ucb_observe,
};

/* ---- exp3spec -------------------------------------------------------------------------------- */

static int exp3_init(spec_policy *policy, spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_policy_time_init(policy, settings, error));
    SPEC_TRY(spec_settings_int(&policy->bandit.seed, settings, "seed", 1, 0, 1000000000, error));
done:
    return status;
}

/* Draws the next length from the chances exp(-learning rate * loss), normalised. */
static void exp3_draw(spec_policy *policy)
{
    bandit_state *state = policy->state;
    const double lengths = policy->K + 1.0,
                 learning = sqrt(log(lengths) / ((state->rounds + 1.0) * lengths));
    double weight[SPEC_K_MAX + 1], least = INFINITY, sum = 0.0;
    for (int k = 0; k <= policy->K; k++) least = fmin(least, state->loss[k]);
    for (int k = 0; k <= policy->K; k++)
        sum += weight[k] = exp(-learning * (state->loss[k] - least));
    const uint64_t word = spec_noise_word((uint64_t)policy->bandit.seed, (uint64_t)state->rounds);
    double u = (double)(word >> 11) * 0x1p-53 * sum;
    policy->now = policy->K;
    while (policy->now > 0 && u >= weight[policy->now]) u -= weight[policy->now--];
    state->chance = weight[policy->now] / sum;
}

/* The loss is what is missing of the largest rate, over the range of all rates. */
static int exp3_observe(spec_policy *policy, const spec_draft *draft, const spec_round *round,
                        spec_error *error)
{
    bandit_state *state = policy->state;
    double least = INFINITY, most = 0.0;
    (void)draft, (void)error;
    for (int k = 0; k <= policy->K; k++) {
        least = fmin(least, rate(policy, k, 0));
        most = fmax(most, rate(policy, k, k));
    }
    if (most > least)
        state->loss[policy->now] += (most - rate(policy, policy->now, round->n_accepted)) /
                                    ((most - least) * state->chance);
    state->rounds++;
    exp3_draw(policy);
    return GSL_SUCCESS;
}

const spec_policy_kind spec_policy_exp3spec = {
    .name = "exp3spec",
    .usage = "exp3spec?c=&seed=1",
    .summary = "BanditSpec's bandit for any sequence of outcomes: draws a length, more often one "
               "with more tokens over time so far",
    .reference = "Hou25",
    .drops = true,
    .init = exp3_init,
    .state_size = bandit_state_size,
    .begin = exp3_draw,
    .observe = exp3_observe,
};
