/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/acceptance_kernels.h"

#if defined(__AVX512F__) && defined(__AVX512DQ__) && defined(__AVX512BW__)

/* Lanes whose draw is at most limit[g], g = 0, 1 for the two groups of 16. */
static inline __mmask32 draw_at_most(spec_lanes_avx512 *v, __m512i limit0, __m512i limit1)
{
    const __mmask16 first = _mm512_cmple_epu32_mask(spec_lanes_step_avx512(v, 0), limit0);
    const __mmask16 second = _mm512_cmple_epu32_mask(spec_lanes_step_avx512(v, 1), limit1);
    return _mm512_kunpackw(second, first);
}

void spec_acceptance_positional_avx512(uint64_t *tail, spec_lanes *lanes, const uint32_t *limit,
                                       int K, uint64_t N)
{
    spec_lanes_avx512 v;
    spec_lanes_load_avx512(&v, lanes);
    for (uint64_t left = N; left > 0; left -= left < SPEC_LANES ? left : SPEC_LANES) {
        uint32_t alive = spec_acceptance_alive(left);
        for (int i = 0; i < K && alive != 0; i++) {
            const __m512i bound = _mm512_set1_epi32((int)limit[i]);
            alive &= draw_at_most(&v, bound, bound);
            tail[i] += (uint64_t)__builtin_popcount(alive);
        }
    }
    spec_lanes_store_avx512(lanes, &v);
}

static inline __mmask32 draw_event(spec_lanes_avx512 *v, spec_event event)
{
    const __m512i limit = _mm512_set1_epi32((int)event.limit);
    return draw_at_most(v, limit, limit) & event.can;
}

void spec_acceptance_markov_avx512(uint64_t *tail, spec_lanes *lanes,
                                   const spec_acceptance_hidden *hidden, int K, uint64_t N)
{
    const __m512i low = _mm512_set1_epi32((int)hidden->pass[0].limit);
    const __m512i high = _mm512_set1_epi32((int)hidden->pass[1].limit);
    spec_lanes_avx512 v;
    spec_lanes_load_avx512(&v, lanes);
    for (uint64_t left = N; left > 0; left -= left < SPEC_LANES ? left : SPEC_LANES) {
        uint32_t alive = spec_acceptance_alive(left), state = UINT32_MAX;
        for (int i = 0; i < K && alive != 0; i++) {
            state ^= draw_event(&v, i == 0 ? hidden->begin : hidden->flip);
            const __m512i limit0 = _mm512_mask_mov_epi32(low, (__mmask16)state, high);
            const __m512i limit1 = _mm512_mask_mov_epi32(low, (__mmask16)(state >> 16), high);
            const uint32_t can = (state & hidden->pass[1].can) | (~state & hidden->pass[0].can);
            alive &= draw_at_most(&v, limit0, limit1) & can;
            tail[i] += (uint64_t)__builtin_popcount(alive);
        }
    }
    spec_lanes_store_avx512(lanes, &v);
}

#endif
