/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chooses one K for the batch, the one with the largest upper confidence bound on its measured
 * tokens per second. Batches in the same octave (1, 2-3, 4-7, ...) share what they learn. The
 * choice uses no random numbers. */
#include "sim/serving/length_kind.h"

#include <math.h>

enum { OCTAVES = 32 };

typedef struct {
    double tokens, seconds;
    uint64_t n;
} arm;

typedef struct {
    int octave, K; /* for the step that is under way */
    arm arms[];    /* (OCTAVES, K_max + 1) */
} bandit_state;

static int bandit_init(spec_length_choice *choice, const spec_settings *settings, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_settings_int(&choice->K_max, settings, "K_max", 8, 0, SPEC_K_MAX, error));
    SPEC_TRY(
        spec_settings_double(&choice->bandit.explore, settings, "explore", 0.1, 0.0, 1e3, error));
done:
    return status;
}

static size_t bandit_state_size(const spec_length_choice *choice, int slots)
{
    (void)slots;
    return sizeof(bandit_state) + OCTAVES * ((size_t)choice->K_max + 1) * sizeof(arm);
}

static int bandit_choose(const spec_length_choice *choice, void *state,
                         const spec_step_batch *batch, int32_t *ret_K)
{
    bandit_state *run = state;
    (void)ret_K;
    run->octave = 0;
    while (batch->n >> (run->octave + 1) != 0) run->octave++;
    const arm *arms = run->arms + run->octave * (choice->K_max + 1);
    uint64_t pulls = 0;
    double fastest = 0.0, best = -1.0;
    for (int K = 0; K <= choice->K_max; K++) {
        if (arms[K].n == 0) return run->K = K;
        pulls += arms[K].n;
        fastest = fmax(fastest, arms[K].tokens / arms[K].seconds);
    }
    for (int K = 0; K <= choice->K_max; K++) {
        const double bound =
            arms[K].tokens / arms[K].seconds / fastest +
            choice->bandit.explore * sqrt(2.0 * log((double)pulls) / (double)arms[K].n);
        if (bound > best) best = bound, run->K = K;
    }
    return run->K;
}

static void bandit_observe(const spec_length_choice *choice, void *state,
                           const spec_step_batch *batch, const int32_t *K, const int32_t *accepted,
                           double seconds)
{
    bandit_state *run = state;
    arm *pulled = run->arms + run->octave * (choice->K_max + 1) + run->K;
    (void)K;
    pulled->tokens += batch->n;
    for (int i = 0; i < batch->n; i++) pulled->tokens += accepted[i];
    pulled->seconds += seconds;
    pulled->n++;
}

const spec_length_kind spec_length_bandit = {
    .name = "bandit",
    .usage = "bandit?K_max=8&explore=0.1",
    .summary = "one K for the batch, chosen by the upper confidence bound of measured tokens per "
               "second, for each octave of batch sizes",
    .reference = "Auer02",
    .init = bandit_init,
    .state_size = bandit_state_size,
    .choose = bandit_choose,
    .observe = bandit_observe,
};
