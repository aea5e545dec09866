/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The calibrated confidence of exllamav3 1.6.5: acceptance in bins of a score of the draft's row,
 * with decaying counts. There the score is the largest logit; rows have no logits, so here it is
 * the log-odds of the largest probability. */
#include "sim/draft/length/row_score.h"
#include "sim/draft/policy.h"

#include <math.h>

typedef struct {
    double tested, accepted;
} bin;

typedef struct {
    double total; /* sum over all bins */
    int n_scored; /* number of positions of this round with a score */
    double score[SPEC_K_MAX];
    int token[SPEC_K_MAX]; /* the most probable token at the position */
    double reach;          /* product: the chance that all tokens so far are accepted */
    bin bin[];
} bins_state;

static int n_bins(const spec_policy *policy)
{
    return 2 * (int)ceil(SPEC_SCORE_MAX / policy->bins.width) + 1;
}

static int bins_init(spec_policy *policy, spec_settings *settings, spec_error *error)
{
    static const char *const cuts[] = {"each", "product", NULL};
    int cut, status = GSL_SUCCESS;
    SPEC_TRY(
        spec_settings_double(&policy->threshold, settings, "confidence", 0.4, 0.0, 1.0, error));
    SPEC_TRY(spec_settings_choice(&cut, settings, "cut", 0, cuts, error));
    SPEC_TRY(spec_settings_double(&policy->bins.width, settings, "width", 1.0, 0.01, 40.0, error));
    SPEC_TRY(spec_settings_double(&policy->bins.decay, settings, "decay", 0.995, 0.0, 1.0, error));
    SPEC_TRY(spec_settings_double(&policy->bins.least, settings, "least", 8.0, 1e-6, 1e9, error));
    SPEC_TRY(spec_settings_double(&policy->bins.burn, settings, "burn", 64.0, 0.0, 1e9, error));
    policy->bins.product = cut == 1;
    policy->looks_ahead = cut == 0;
done:
    return status;
}

static size_t bins_state_size(const spec_policy *policy)
{
    return sizeof(bins_state) + (size_t)n_bins(policy) * sizeof(bin);
}

static int bin_of(const spec_policy *policy, double score)
{
    return (int)floor(score / policy->bins.width) + n_bins(policy) / 2;
}

/* Returns the lower edge of the lowest bin such that it and all populated bins above it pass. */
static double lower_edge(const spec_policy *policy)
{
    const bins_state *state = policy->state;
    double edge = INFINITY;
    bool populated = false;
    if (state->total < policy->bins.burn) return -INFINITY;
    for (int i = n_bins(policy) - 1; i >= 0; i--) {
        const bin *at = &state->bin[i];
        if (at->tested < policy->bins.least) continue;
        populated = true;
        if (!(at->accepted / at->tested >= policy->threshold)) break;
        edge = (i - n_bins(policy) / 2) * policy->bins.width;
    }
    return populated ? edge : -INFINITY;
}

/* Returns the acceptance of the next populated bin at or below the score, else of the lowest one.
 * Returns 1 until there are enough counts. */
static double estimate(const spec_policy *policy, double score)
{
    const bins_state *state = policy->state;
    const int at = bin_of(policy, score);
    int nearest = -1;
    if (state->total < policy->bins.burn) return 1.0;
    for (int i = n_bins(policy) - 1; i >= 0; i--) {
        if (state->bin[i].tested < policy->bins.least) continue;
        nearest = i;
        if (i <= at) break;
    }
    return nearest < 0 ? 1.0 : state->bin[nearest].accepted / state->bin[nearest].tested;
}

static double note(bins_state *state, const double *opt_row, int vocab)
{
    const int i = state->n_scored++;
    return state->score[i] = spec_row_score(&state->token[i], opt_row, vocab);
}

static bool bins_go_on(const spec_policy *policy, const spec_draft *draft,
                       const double *opt_next_row)
{
    bins_state *state = policy->state;
    const int n = draft->n_nodes;
    if (n == 0) {
        state->n_scored = 0;
        state->reach = 1.0;
    }
    if (!policy->bins.product) return note(state, opt_next_row, draft->vocab) >= lower_edge(policy);
    if (n == 0) return true;
    state->reach *= estimate(policy, note(state, draft->row[n - 1], draft->vocab));
    return state->reach >= policy->threshold;
}

static void label(const spec_policy *policy, double score, bool accepted)
{
    bins_state *state = policy->state;
    bin *at = &state->bin[bin_of(policy, score)];
    at->tested += 1.0;
    at->accepted += accepted;
    state->total += 1.0;
}

static int bins_observe(spec_policy *policy, const spec_draft *draft, const spec_round *round,
                        spec_error *error)
{
    bins_state *state = policy->state;
    const int accepted = round->n_accepted, drafted = round->n_drafted;
    (void)error;
    if (policy->now == 0) return GSL_SUCCESS;
    while (state->n_scored < drafted) note(state, draft->row[state->n_scored], draft->vocab);
    for (int i = 0; i < accepted; i++) label(policy, state->score[i], true);
    /* The last observation is the rejected token or, if all were accepted, the first position that
     * was cut: the bonus token shows whether the draft's most probable token would have been
     * accepted there. */
    if (accepted < drafted)
        label(policy, state->score[accepted], false);
    else if (accepted < state->n_scored)
        label(policy, state->score[accepted], state->token[accepted] == round->token[accepted]);
    for (int i = 0; i < n_bins(policy); i++) {
        state->bin[i].tested *= policy->bins.decay;
        state->bin[i].accepted *= policy->bins.decay;
    }
    state->total *= policy->bins.decay;
    state->n_scored = 0;
    return GSL_SUCCESS;
}

const spec_policy_kind spec_policy_bins = {
    .name = "bins",
    .usage = "bins?confidence=0.4&cut=each&width=1&decay=0.995&least=8&burn=64",
    .summary = "stops where acceptance, counted by bins of the log-odds of the draft's largest "
               "probability, is below the confidence: that of the next token, before it is drawn, "
               "or the product so far",
    .reference = "exllamav3",
    .looks_ahead = true,
    .init = bins_init,
    .state_size = bins_state_size,
    .go_on = bins_go_on,
    .observe = bins_observe,
};
