/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/acceptance_kernels.h"

#if defined(__AVX2__)

/* Four vectors of 8 lanes; each lane is all ones or 0. */
typedef struct {
    __m256i part[4];
} mask;

static inline mask mask_of_bits(uint32_t bits)
{
    const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    mask m;
    for (int g = 0; g < 4; g++) {
        const __m256i byte = _mm256_set1_epi32((int)(bits >> (8 * g) & 255));
        m.part[g] = _mm256_cmpeq_epi32(_mm256_and_si256(byte, bit), bit);
    }
    return m;
}

/* Returns the number of lanes set. The packing permutes lanes but keeps their number. */
static inline uint32_t mask_gather(const mask *m)
{
    const __m256i low = _mm256_packs_epi32(m->part[0], m->part[1]);
    const __m256i high = _mm256_packs_epi32(m->part[2], m->part[3]);
    return (uint32_t)_mm256_movemask_epi8(_mm256_packs_epi16(low, high));
}

static inline __m256i at_most(__m256i u, __m256i limit)
{
    return _mm256_cmpeq_epi32(_mm256_min_epu32(u, limit), u);
}

void spec_acceptance_positional_avx2(uint64_t *tail, spec_lanes *lanes, const uint32_t *limit,
                                     int K, uint64_t N)
{
    spec_lanes_avx2 v;
    spec_lanes_load_avx2(&v, lanes);
    for (uint64_t left = N; left > 0; left -= left < SPEC_LANES ? left : SPEC_LANES) {
        mask alive = mask_of_bits(spec_acceptance_alive(left));
        uint32_t gathered = 1;
        for (int i = 0; i < K && gathered != 0; i++) {
            const __m256i bound = _mm256_set1_epi32((int)limit[i]);
            for (int g = 0; g < 4; g++) {
                alive.part[g] =
                    _mm256_and_si256(alive.part[g], at_most(spec_lanes_step_avx2(&v, g), bound));
            }
            gathered = mask_gather(&alive);
            tail[i] += (uint64_t)__builtin_popcount(gathered);
        }
    }
    spec_lanes_store_avx2(lanes, &v);
}

void spec_acceptance_markov_avx2(uint64_t *tail, spec_lanes *lanes,
                                 const spec_acceptance_hidden *hidden, int K, uint64_t N)
{
    const __m256i limit[2] = {_mm256_set1_epi32((int)hidden->pass[0].limit),
                              _mm256_set1_epi32((int)hidden->pass[1].limit)};
    const __m256i can[2] = {_mm256_set1_epi32((int)hidden->pass[0].can),
                            _mm256_set1_epi32((int)hidden->pass[1].can)};
    spec_lanes_avx2 v;
    spec_lanes_load_avx2(&v, lanes);
    for (uint64_t left = N; left > 0; left -= left < SPEC_LANES ? left : SPEC_LANES) {
        mask alive = mask_of_bits(spec_acceptance_alive(left)), state = mask_of_bits(UINT32_MAX);
        uint32_t gathered = 1;
        for (int i = 0; i < K && gathered != 0; i++) {
            const spec_event flip = i == 0 ? hidden->begin : hidden->flip;
            const __m256i flip_limit = _mm256_set1_epi32((int)flip.limit),
                          flip_can = _mm256_set1_epi32((int)flip.can);
            for (int g = 0; g < 4; g++) {
                const __m256i flips = at_most(spec_lanes_step_avx2(&v, g), flip_limit);
                state.part[g] = _mm256_xor_si256(state.part[g], _mm256_and_si256(flips, flip_can));
            }
            for (int g = 0; g < 4; g++) {
                const __m256i bound = _mm256_blendv_epi8(limit[0], limit[1], state.part[g]);
                const __m256i possible = _mm256_blendv_epi8(can[0], can[1], state.part[g]);
                const __m256i passes = at_most(spec_lanes_step_avx2(&v, g), bound);
                alive.part[g] = _mm256_and_si256(alive.part[g], _mm256_and_si256(passes, possible));
            }
            gathered = mask_gather(&alive);
            tail[i] += (uint64_t)__builtin_popcount(gathered);
        }
    }
    spec_lanes_store_avx2(lanes, &v);
}

#endif
