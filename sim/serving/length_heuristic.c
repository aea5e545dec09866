/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lengths that depend on the last outcome: each request follows the heuristic schedule. */
#include "base/int_math.h"
#include "sim/serving/length_kind.h"

static int heuristic_init(spec_length_choice *choice, const spec_settings *settings,
                          spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_settings_int(&choice->heuristic.start, settings, "K", 5, 1, SPEC_K_MAX, error));
    SPEC_TRY(spec_settings_int(&choice->K_max, settings, "cap", 20, 1, SPEC_K_MAX, error));
    if (choice->heuristic.start > choice->K_max)
        status = spec_fail(error, GSL_EINVAL, "heuristic: K=%d is above cap=%d",
                           choice->heuristic.start, choice->K_max);
done:
    return status;
}

static size_t heuristic_state_size(const spec_length_choice *choice, int slots)
{
    (void)choice;
    return (size_t)slots * sizeof(int32_t);
}

static void heuristic_enter(const spec_length_choice *choice, void *state, int slot)
{
    ((int32_t *)state)[slot] = choice->heuristic.start;
}

static int heuristic_choose(const spec_length_choice *choice, void *state,
                            const spec_step_batch *batch, int32_t *ret_K)
{
    const int32_t *now = state;
    bool same = true;
    (void)choice;
    for (int i = 0; i < batch->n; i++) {
        ret_K[i] = now[batch->slot[i]];
        same = same && ret_K[i] == ret_K[0];
    }
    return same ? ret_K[0] : -1;
}

static void heuristic_observe(const spec_length_choice *choice, void *state,
                              const spec_step_batch *batch, const int32_t *K,
                              const int32_t *accepted, double seconds)
{
    int32_t *now = state;
    (void)seconds;
    for (int i = 0; i < batch->n; i++) {
        int32_t *next = &now[batch->slot[i]];
        /* If the engine cut a draft short, it is not fully accepted, as in the original. */
        const bool all = accepted[i] == *next && K[i] == *next;
        *next = all ? spec_int_min(*next + 2, choice->K_max) : *next > 1 ? *next - 1 : 1;
    }
}

const spec_length_kind spec_length_heuristic = {
    .name = "heuristic",
    .usage = "heuristic?K=5&cap=20",
    .summary = "each request begins with K; two more after a round whose tokens were all accepted, "
               "else one less, within 1..cap",
    .reference = "HF",
    .reads = true,
    .init = heuristic_init,
    .state_size = heuristic_state_size,
    .choose = heuristic_choose,
    .enter = heuristic_enter,
    .observe = heuristic_observe,
};
