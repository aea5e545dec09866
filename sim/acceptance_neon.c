/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/acceptance_kernels.h"

#if defined(__aarch64__)

enum { QUADS = SPEC_LANES_QUADS };

/* Eight vectors of 4 lanes; each lane is all ones or 0. */
typedef struct {
    uint32x4_t part[QUADS];
} mask;

static inline mask mask_of_bits(uint32_t bits)
{
    static const uint32_t bit[4] = {1, 2, 4, 8};
    mask m;
    for (int g = 0; g < QUADS; g++)
        m.part[g] = vtstq_u32(vdupq_n_u32(bits >> (4 * g)), vld1q_u32(bit));
    return m;
}

/* Returns the number of lanes set: each is -1 as an integer. */
static inline uint32_t mask_count(const mask *m)
{
    const uint32x4_t first = vaddq_u32(vaddq_u32(m->part[0], m->part[1]),
                                       vaddq_u32(m->part[2], m->part[3])),
                     second = vaddq_u32(vaddq_u32(m->part[4], m->part[5]),
                                        vaddq_u32(m->part[6], m->part[7]));
    return 0 - vaddvq_u32(vaddq_u32(first, second));
}

void spec_acceptance_positional_neon(uint64_t *tail, spec_lanes *lanes, const uint32_t *limit,
                                     int K, uint64_t N)
{
    spec_lanes_neon v;
    spec_lanes_load_neon(&v, lanes);
    for (uint64_t left = N; left > 0; left -= left < SPEC_LANES ? left : SPEC_LANES) {
        mask alive = mask_of_bits(spec_acceptance_alive(left));
        uint32_t count = 1;
        for (int i = 0; i < K && count != 0; i++) {
            const uint32x4_t bound = vdupq_n_u32(limit[i]);
            for (int g = 0; g < QUADS; g++)
                alive.part[g] =
                    vandq_u32(alive.part[g], vcleq_u32(spec_lanes_step_neon(&v, g), bound));
            count = mask_count(&alive);
            tail[i] += count;
        }
    }
    spec_lanes_store_neon(lanes, &v);
}

void spec_acceptance_markov_neon(uint64_t *tail, spec_lanes *lanes,
                                 const spec_acceptance_hidden *hidden, int K, uint64_t N)
{
    const uint32x4_t limit[2] = {vdupq_n_u32(hidden->pass[0].limit),
                                 vdupq_n_u32(hidden->pass[1].limit)};
    const uint32x4_t can[2] = {vdupq_n_u32(hidden->pass[0].can),
                               vdupq_n_u32(hidden->pass[1].can)};
    spec_lanes_neon v;
    spec_lanes_load_neon(&v, lanes);
    for (uint64_t left = N; left > 0; left -= left < SPEC_LANES ? left : SPEC_LANES) {
        mask alive = mask_of_bits(spec_acceptance_alive(left)), state = mask_of_bits(UINT32_MAX);
        uint32_t count = 1;
        for (int i = 0; i < K && count != 0; i++) {
            const spec_event flip = i == 0 ? hidden->begin : hidden->flip;
            const uint32x4_t flip_limit = vdupq_n_u32(flip.limit),
                             flip_can = vdupq_n_u32(flip.can);
            for (int g = 0; g < QUADS; g++) {
                const uint32x4_t flips = vcleq_u32(spec_lanes_step_neon(&v, g), flip_limit);
                state.part[g] = veorq_u32(state.part[g], vandq_u32(flips, flip_can));
                const uint32x4_t bound = vbslq_u32(state.part[g], limit[1], limit[0]),
                                 possible = vbslq_u32(state.part[g], can[1], can[0]),
                                 passes = vcleq_u32(spec_lanes_step_neon(&v, g), bound);
                alive.part[g] = vandq_u32(alive.part[g], vandq_u32(passes, possible));
            }
            count = mask_count(&alive);
            tail[i] += count;
        }
    }
    spec_lanes_store_neon(lanes, &v);
}

#endif
