/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Policies that maximise expected tokens per time, from chances that vLLM 0.33.0 estimates from the
 * log-odds of the draft's largest probability: goodput, which stops drafting, and trim, which drops
 * the end of a whole draft. The expected tokens of b draft tokens are 1 + s_1 + ... + s_b with s_k
 * the product of the first k chances; their time is fixed + b marginal. The s_k decrease, so tokens
 * per time rise up to some b and fall from there: the first token that does not gain ends the
 * draft, and no later row matters. */
#include "sim/draft/length/acceptance_estimator.h"
#include "sim/draft/length/row_score.h"
#include "sim/draft/policy.h"

typedef struct {
    spec_acceptance_estimator estimator;
    double score[SPEC_ESTIMATOR_PLACES]; /* scores of this round's rows */
    int rounds;                          /* since the last fit */
    double survival, emitted;            /* s_k and its sum so far */
} goodput_state;

static int goodput_init(spec_policy *policy, spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    if (policy->K > SPEC_ESTIMATOR_PLACES)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%s: it estimates at most %d positions, and K is %d",
                           policy->kind->name, SPEC_ESTIMATOR_PLACES, policy->K));
    SPEC_TRY(spec_policy_time_init(policy, settings, error));
    SPEC_TRY(spec_settings_int(&policy->goodput.every, settings, "every", SPEC_ESTIMATOR_STEPS, 1,
                               1 << 30, error));
done:
    return status;
}

static size_t goodput_state_size(const spec_policy *policy)
{
    (void)policy;
    return sizeof(goodput_state);
}

static void goodput_begin(spec_policy *policy)
{
    goodput_state *state = policy->state;
    spec_acceptance_estimator_init(&state->estimator, policy->K > 0 ? policy->K : 1);
}

/* Returns whether a token of this score raises the expected tokens per time after k tokens; if so,
 * adds it to the sums. */
static bool gains(goodput_state *state, double score, int k, double fixed, double marginal)
{
    if (k == 0) state->survival = state->emitted = 1.0;
    state->score[k] = score;
    const double survival =
        state->survival * spec_acceptance_estimator_chance(&state->estimator, score, k);
    if (!(survival * (fixed + k * marginal) > state->emitted * marginal)) return false;
    state->survival = survival;
    state->emitted += survival;
    return true;
}

static bool goodput_go_on(const spec_policy *policy, const spec_draft *draft,
                          const double *opt_next_row)
{
    const spec_policy_prices *of = &policy->prices;
    const double fixed = of->pass + (of->one_pass ? of->call : 0.0),
                 marginal = (of->one_pass ? 0.0 : of->call) + of->row + of->token;
    return gains(policy->state, spec_row_score(NULL, opt_next_row, draft->vocab), draft->n_nodes,
                 fixed, marginal);
}

static int goodput_observe(spec_policy *policy, const spec_draft *draft, const spec_round *round,
                           spec_error *error)
{
    goodput_state *state = policy->state;
    (void)draft, (void)error;
    for (int k = 0; k <= round->n_accepted && k < round->n_drafted; k++)
        spec_acceptance_estimator_see(&state->estimator, state->score[k], k, k < round->n_accepted);
    if (++state->rounds < policy->goodput.every) return GSL_SUCCESS;
    state->rounds = 0;
    spec_acceptance_estimator_fit(&state->estimator);
    return GSL_SUCCESS;
}

const spec_policy_kind spec_policy_goodput = {
    .name = "goodput",
    .usage = "goodput?c=&token=&every=100",
    .summary = "stops before the first token that does not raise expected tokens per unit of time "
               "(c per call, token per token verified; by default those of the clock), with "
               "chances estimated from the draft's rows",
    .reference = "vLLM",
    .looks_ahead = true,
    .init = goodput_init,
    .state_size = goodput_state_size,
    .begin = goodput_begin,
    .go_on = goodput_go_on,
    .observe = goodput_observe,
};

/* ---- trim ------------------------------------------------------------------------------------ */

/* Returns the time of the whole draft, which has been made already: its calls and rows cost the
 * same whatever is kept. */
static double fixed_time(const spec_policy *policy, const spec_draft *draft)
{
    const spec_policy_prices *of = &policy->prices;
    return of->pass + of->call * (of->one_pass ? 1 : draft->n_nodes) + of->row * draft->n_nodes;
}

static int trim_init(spec_policy *policy, spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(goodput_init(policy, settings, error));
    SPEC_TRY(spec_policy_list(&policy->goodput.n_sizes, policy->goodput.size, settings, "sizes", "",
                              error));
    policy->anticipates = policy->goodput.n_sizes > 0;
done:
    return status;
}

/* Returns how many tokens a pass of n tokens is charged for: the next size, or n itself above the
 * last size. */
static int size_of(const spec_policy *policy, int n)
{
    for (int i = 0; i < policy->goodput.n_sizes; i++)
        if (policy->goodput.size[i] >= n) return policy->goodput.size[i];
    return n;
}

/* Returns the best of all lengths. Because time grows in steps, a token may pay off even though the
 * one before it did not. So later rows decide, and they reveal the tokens before them: this
 * anticipates. */
static int cut_by_sizes(const spec_policy *policy, const spec_draft *draft)
{
    goodput_state *state = policy->state;
    const double fixed = fixed_time(policy, draft) - policy->prices.token;
    double survival = 1.0, emitted = 1.0, most = 0.0;
    int best = 0;
    for (int b = 0; b <= draft->n_nodes; b++) {
        const double time = fixed + policy->prices.token * size_of(policy, b + 1);
        if (emitted > most * time) most = emitted / time, best = b;
        if (b == draft->n_nodes) break;
        state->score[b] = spec_row_score(NULL, draft->row[b], draft->vocab);
        survival *= spec_acceptance_estimator_chance(&state->estimator, state->score[b], b);
        emitted += survival;
    }
    return best;
}

static int trim_cut(const spec_policy *policy, const spec_draft *draft)
{
    if (policy->goodput.n_sizes > 0) return cut_by_sizes(policy, draft);
    const double fixed = fixed_time(policy, draft);
    int n = 0;
    while (n < draft->n_nodes &&
           gains(policy->state, spec_row_score(NULL, draft->row[n], draft->vocab), n, fixed,
                 policy->prices.token))
        n++;
    return n;
}

const spec_policy_kind spec_policy_trim = {
    .name = "trim",
    .usage = "trim?c=&token=&every=100&sizes=",
    .summary = "drafts K tokens and keeps those that raise expected tokens per unit of time, like "
               "goodput; all K calls are charged. With sizes, such as 1.2.4.8, a pass costs as "
               "much as the next larger size, which is WRONG for sampled drafts",
    .reference = "vLLM",
    .init = trim_init,
    .state_size = goodput_state_size,
    .begin = goodput_begin,
    .cut = trim_cut,
    .observe = goodput_observe,
};

/* ---- trim-drawn: WRONG on purpose ------------------------------------------------------------ */

/* The probability of the drawn token predicts its acceptance better than that of the row's most
 * probable one. But then tokens are dropped because of their value, if the draft finds them
 * unlikely. */
static int trim_drawn_cut(const spec_policy *policy, const spec_draft *draft)
{
    const double fixed = fixed_time(policy, draft);
    int n = 0;
    while (n < draft->n_nodes &&
           gains(policy->state, spec_row_score_of(spec_draft_confidence(draft, n)), n, fixed,
                 policy->prices.token))
        n++;
    return n;
}

const spec_policy_kind spec_policy_trim_drawn = {
    .name = "trim-drawn",
    .usage = "trim-drawn?c=&token=&every=100",
    .summary = "WRONG on purpose: like trim, but with chances from the probability of the drawn "
               "token",
    .reference = "",
    .anticipates = true,
    .init = goodput_init,
    .state_size = goodput_state_size,
    .begin = goodput_begin,
    .cut = trim_drawn_cut,
    .observe = goodput_observe,
};
