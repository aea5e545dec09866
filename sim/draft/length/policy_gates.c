/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Policies that set a round's length from the outcomes of the last few rounds: gate and tiers of
 * mlx-vlm 0.7.10, whose block sizes count the bonus token, and the switch of TensorRT-LLM. */
#include "base/int_math.h"
#include "sim/draft/policy.h"

/* ---- gate ------------------------------------------------------------------------------------ */

typedef struct {
    uint64_t reached; /* bit i: the round i + 1 rounds ago accepted at least `base` tokens */
    int rounds;       /* rounds in the ring, at most the window */
} gate_state;

static int gate_init(spec_policy *policy, spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_settings_int(&policy->gate.base, settings, "base", 3, 1, SPEC_K_MAX, error));
    SPEC_TRY(spec_settings_double(&policy->gate.share, settings, "share", 0.65, 0.0, 1.0, error));
    SPEC_TRY(
        spec_settings_int(&policy->gate.window, settings, "window", 32, 1, SPEC_ROUNDS_MAX, error));
    SPEC_TRY(spec_settings_int(&policy->gate.warm, settings, "warm",
                               spec_int_min(8, policy->gate.window), 1, policy->gate.window,
                               error));
    policy->now = spec_int_min(policy->gate.base, policy->K);
done:
    return status;
}

static size_t gate_state_size(const spec_policy *policy)
{
    (void)policy;
    return sizeof(gate_state);
}

static int gate_observe(spec_policy *policy, const spec_draft *draft, const spec_round *round,
                        spec_error *error)
{
    gate_state *state = policy->state;
    const int base = spec_int_min(policy->gate.base, policy->K);
    int reached = 0;
    (void)draft, (void)error;
    state->reached = state->reached << 1 | (round->n_accepted >= base);
    state->rounds = spec_int_min(state->rounds + 1, policy->gate.window);
    for (int i = 0; i < state->rounds; i++) reached += (int)(state->reached >> i & 1);
    const bool open =
        state->rounds >= policy->gate.warm && (double)reached / state->rounds >= policy->gate.share;
    policy->now = open ? policy->K : base;
    return GSL_SUCCESS;
}

const spec_policy_kind spec_policy_gate = {
    .name = "gate",
    .usage = "gate?base=3&share=0.65&window=32&warm=8",
    .summary = "K tokens while a share of the last rounds has accepted base tokens or more, else "
               "base",
    .reference = "mlx-vlm",
    .drops = true,
    .init = gate_init,
    .state_size = gate_state_size,
    .observe = gate_observe,
};

/* ---- tiers ----------------------------------------------------------------------------------- */

typedef struct {
    int accepted[SPEC_ROUNDS_MAX], drafted[SPEC_ROUNDS_MAX]; /* ring of the last rounds */
    int at;                                                  /* the tier */
    uint64_t rounds;
} tiers_state;

static int tiers_init(spec_policy *policy, spec_settings *settings, spec_error *error)
{
    static const int between[] = {7, 11, 15};
    const int K = policy->K;
    int most, status = GSL_SUCCESS;
    SPEC_TRY(spec_settings_int(&most, settings, "max", K > 15 || K == 0 ? K : 15, K,
                               K == 0 ? 0 : SPEC_K_MAX, error));
    SPEC_TRY(
        spec_settings_int(&policy->tiers.window, settings, "window", 6, 1, SPEC_ROUNDS_MAX, error));
    SPEC_TRY(spec_settings_double(&policy->tiers.full, settings, "full", 0.33, 0.0, 1.0, error));
    SPEC_TRY(spec_settings_double(&policy->tiers.mean, settings, "mean", 0.75, 0.0, 1.0, error));
    policy->tiers.length[policy->tiers.n++] = K;
    for (int i = 0; i < 3; i++)
        if (between[i] > K && between[i] < most)
            policy->tiers.length[policy->tiers.n++] = between[i];
    if (most > K) policy->tiers.length[policy->tiers.n++] = most;
    policy->K = most;
done:
    return status;
}

static size_t tiers_state_size(const spec_policy *policy)
{
    (void)policy;
    return sizeof(tiers_state);
}

/* Returns the next tier, from the last `window` rounds. At the end of the first window, goes
 * straight from the first tier to the last. */
static int next_tier(const spec_policy *policy, const tiers_state *state)
{
    const int window = policy->tiers.window, last = policy->tiers.n - 1;
    int emitted = 0, full = 0;
    for (int i = 0; i < window; i++) {
        emitted += state->accepted[i] + 1;
        full += state->accepted[i] >= state->drafted[i];
    }
    const double mean = (double)emitted / window;
    if (state->rounds == (uint64_t)window && state->at == 0) return last;
    if (mean < 2.0 || (mean < 3.0 && full == 0)) return state->at > 0 ? state->at - 1 : 0;
    if ((double)full / window >= policy->tiers.full ||
        mean >= policy->tiers.mean * (policy->now + 1))
        return spec_int_min(state->at + 1, last);
    return state->at;
}

static int tiers_observe(spec_policy *policy, const spec_draft *draft, const spec_round *round,
                         spec_error *error)
{
    tiers_state *state = policy->state;
    const size_t i = (size_t)(state->rounds++ % (uint64_t)policy->tiers.window);
    (void)draft, (void)error;
    state->accepted[i] = round->n_accepted;
    state->drafted[i] = round->n_drafted > 1 ? round->n_drafted : 1;
    if (state->rounds < (uint64_t)policy->tiers.window) return GSL_SUCCESS;
    state->at = next_tier(policy, state);
    policy->now = policy->tiers.length[state->at];
    return GSL_SUCCESS;
}

const spec_policy_kind spec_policy_tiers = {
    .name = "tiers",
    .usage = "tiers?max=15&window=6&full=0.33&mean=0.75",
    .summary = "one of the lengths K, 7, 11, 15 up to max: the next longer one after a window of "
               "rounds with enough full acceptances or tokens, the next shorter one after few "
               "tokens; the first window leads to max",
    .reference = "mlx-vlm",
    .drops = true,
    .init = tiers_init,
    .state_size = tiers_state_size,
    .observe = tiers_observe,
};

/* ---- switch-off ------------------------------------------------------------------------------ */

/* A ring of the last `window` rounds that drafted. */
typedef struct {
    int n, next;
    double sum;
    double value[];
} off_state;

enum { WINDOW_MAX = 1 << 20 };

static int off_init(spec_policy *policy, spec_settings *settings, spec_error *error)
{
    static const char *const means[] = {"tokens", "share", NULL};
    int of, status = GSL_SUCCESS;
    SPEC_TRY(spec_settings_choice(&of, settings, "of", 0, means, error));
    policy->off.share = of == 1;
    SPEC_TRY(spec_settings_int(&policy->off.window, settings, "window", 100, 1, WINDOW_MAX, error));
    SPEC_TRY(spec_settings_double(&policy->threshold, settings, "threshold",
                                  policy->off.share ? 0.2 : 0.5, 0.0, SPEC_K_MAX, error));
done:
    return status;
}

static size_t off_state_size(const spec_policy *policy)
{
    return sizeof(off_state) + (size_t)policy->off.window * sizeof(double);
}

static int off_observe(spec_policy *policy, const spec_draft *draft, const spec_round *round,
                       spec_error *error)
{
    off_state *state = policy->state;
    (void)draft, (void)error;
    if (round->n_drafted == 0) return GSL_SUCCESS;
    const double value =
        policy->off.share ? (double)round->n_accepted / round->n_drafted : round->n_accepted;
    if (state->n < policy->off.window)
        state->n++;
    else
        state->sum -= state->value[state->next];
    state->sum += state->value[state->next] = value;
    state->next = (state->next + 1) % policy->off.window;
    if (state->n == policy->off.window && state->sum / state->n < policy->threshold)
        policy->now = 0;
    return GSL_SUCCESS;
}

const spec_policy_kind spec_policy_switch_off = {
    .name = "switch-off",
    .usage = "switch-off?of=tokens&window=100&threshold=0.5",
    .summary = "K tokens, and none for the rest of the text once the mean of accepted tokens, or "
               "of their share, over the last rounds is below the threshold",
    .reference = "TRT-LLM",
    .drops = true,
    .init = off_init,
    .state_size = off_state_size,
    .observe = off_observe,
};
