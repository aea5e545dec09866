/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/acceptance_kernels.h"

#include <stdbool.h>

static bool draw_at_most(spec_lanes *lanes, int l, uint32_t limit)
{
    return spec_lanes_step(&lanes->state[l], lanes->increment[l]) <= limit;
}

/* As in the vector kernels, every lane keeps drawing after its round has ended, until all rounds of
 * the block have ended. */
void spec_acceptance_positional_ref(uint64_t *tail, spec_lanes *lanes, const uint32_t *limit, int K,
                                    uint64_t N)
{
    for (uint64_t left = N; left > 0; left -= left < SPEC_LANES ? left : SPEC_LANES) {
        uint32_t alive = spec_acceptance_alive(left);
        for (int i = 0; i < K && alive != 0; i++) {
            uint32_t passes = 0;
            for (int l = 0; l < SPEC_LANES; l++)
                passes |= (uint32_t)draw_at_most(lanes, l, limit[i]) << l;
            alive &= passes;
            tail[i] += (uint64_t)__builtin_popcount(alive);
        }
    }
}

void spec_acceptance_markov_ref(uint64_t *tail, spec_lanes *lanes,
                                const spec_acceptance_hidden *hidden, int K, uint64_t N)
{
    for (uint64_t left = N; left > 0; left -= left < SPEC_LANES ? left : SPEC_LANES) {
        uint32_t alive = spec_acceptance_alive(left), state = UINT32_MAX;
        for (int i = 0; i < K && alive != 0; i++) {
            const spec_event flip = i == 0 ? hidden->begin : hidden->flip;
            uint32_t passes = 0;
            for (int l = 0; l < SPEC_LANES; l++) {
                state ^= ((uint32_t)draw_at_most(lanes, l, flip.limit) & flip.can) << l;
                const spec_event pass = hidden->pass[state >> l & 1];
                passes |= ((uint32_t)draw_at_most(lanes, l, pass.limit) & pass.can) << l;
            }
            alive &= passes;
            tail[i] += (uint64_t)__builtin_popcount(alive);
        }
    }
}
