/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The assistant of Hugging Face transformers 5.24: stops by confidence, with a threshold that is
 * fitted after each round to all pairs (draft probability, accepted) of the text so far. */
#include "base/int_math.h"
#include "sim/draft/policy.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

/* The tested tokens with the same draft probability. */
typedef struct {
    double confidence;
    uint64_t accepted, rejected;
} refit_bin;

typedef struct {
    double threshold;
    refit_bin *bin; /* (n) in order of decreasing confidence */
    size_t n, capacity;
    uint64_t accepted, rejected; /* sums over the bins */
} refit_state;

static int refit_init(spec_policy *policy, spec_settings *settings, spec_error *error)
{
    static const char *const schedules[] = {"constant", "heuristic", NULL};
    int schedule, cap, status = GSL_SUCCESS;
    SPEC_TRY(spec_settings_double(&policy->threshold, settings, "threshold", 0.4, 0.0, 1.0, error));
    SPEC_TRY(spec_settings_choice(&schedule, settings, "schedule", 0, schedules, error));
    SPEC_TRY(spec_settings_int(&cap, settings, "cap", spec_int_min(4 * policy->K, SPEC_K_MAX),
                               policy->K, SPEC_K_MAX, error));
    SPEC_TRY(spec_settings_int(&policy->refit.pairs, settings, "pairs", 6, 2, 1 << 30, error));
    policy->refit.schedule = schedule == 1;
    if (policy->refit.schedule)
        policy->K = cap;
    else if (spec_settings_text(settings, "cap") != NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "refit: cap= limits schedule=heuristic, and the schedule is constant"));
done:
    return status;
}

static size_t refit_state_size(const spec_policy *policy)
{
    (void)policy;
    return sizeof(refit_state);
}

static void refit_begin(spec_policy *policy)
{
    ((refit_state *)policy->state)->threshold = policy->threshold;
}

static void refit_end(void *state)
{
    free(((refit_state *)state)->bin);
}

static bool refit_go_on(const spec_policy *policy, const spec_draft *draft,
                        const double *opt_next_row)
{
    const refit_state *state = policy->state;
    (void)opt_next_row;
    return draft->n_nodes == 0 ||
           spec_draft_confidence(draft, draft->n_nodes - 1) >= state->threshold;
}

/* Returns the bin of a confidence, adding it if there is none. NULL: out of memory. */
static refit_bin *bin_of(refit_state *state, double confidence)
{
    size_t low = 0, high = state->n;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (state->bin[middle].confidence > confidence)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < state->n && state->bin[low].confidence == confidence) return &state->bin[low];
    if (state->n == state->capacity) {
        const size_t capacity = 2 * state->capacity + 64;
        refit_bin *bin = realloc(state->bin, capacity * sizeof *bin);
        if (bin == NULL) return NULL;
        state->bin = bin;
        state->capacity = capacity;
    }
    memmove(&state->bin[low + 1], &state->bin[low], (state->n++ - low) * sizeof *state->bin);
    state->bin[low] = (refit_bin){.confidence = confidence};
    return &state->bin[low];
}

/* Finds the confidence t with the smallest cost of "go on if confidence >= t": the share of
 * rejected tokens that pass plus three times the share of accepted ones that do not. Among equal
 * costs it takes the largest t. It computes in integers, so that equal costs compare equal. */
static void fit(refit_state *state)
{
    const uint64_t all_accepted = state->accepted, all_rejected = state->rejected;
    uint64_t least = UINT64_MAX, accepted = 0, rejected = 0;
    for (size_t i = 0; i < state->n; i++) {
        accepted += state->bin[i].accepted;
        rejected += state->bin[i].rejected;
        const uint64_t cost =
            rejected * all_accepted + 3 * (all_accepted - accepted) * all_rejected;
        if (cost < least) least = cost, state->threshold = state->bin[i].confidence;
    }
}

static int refit_observe(spec_policy *policy, const spec_draft *draft, const spec_round *round,
                         spec_error *error)
{
    refit_state *state = policy->state;
    for (int i = 0; i <= round->n_accepted && i < round->n_drafted; i++) {
        refit_bin *bin = bin_of(state, spec_draft_confidence(draft, i));
        if (bin == NULL) return spec_no_memory(error);
        const bool accepted = i < round->n_accepted;
        *(accepted ? &bin->accepted : &bin->rejected) += 1;
        *(accepted ? &state->accepted : &state->rejected) += 1;
    }
    if (state->accepted > 0 && state->rejected > 0 &&
        state->accepted + state->rejected >= (uint64_t)policy->refit.pairs)
        fit(state);
    if (policy->refit.schedule) {
        /* Unlike heuristic: a draft that stopped early counts as full if all of it was accepted. */
        const int next = round->n_accepted == round->n_drafted ? policy->now + 2 : policy->now - 1;
        policy->now = spec_int_min(next > 1 ? next : 1, policy->K);
    }
    return GSL_SUCCESS;
}

const spec_policy_kind spec_policy_refit = {
    .name = "refit",
    .usage = "refit?threshold=0.4&pairs=6&schedule=constant&cap=4K",
    .summary = "like confidence, but the threshold is fitted after each round to the tested "
               "tokens of the text, once there are `pairs` of them; schedule=heuristic also "
               "varies the largest length, starting from K",
    .reference = "HF",
    .init = refit_init,
    .state_size = refit_state_size,
    .begin = refit_begin,
    .end = refit_end,
    .go_on = refit_go_on,
    .observe = refit_observe,
};
