/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lanes_step: one inline step of the lanes per instruction set; internal to lanes and acceptance.
 * On x86-64 a kernel keeps the 64-bit states of even and odd lanes apart; the 32-bit outputs of a
 * pair then interleave without a shuffle. NEON cannot multiply 64-bit numbers, so its kernel keeps
 * the low and high halves apart. */
#ifndef SPECLAB_LANES_STEP_H
#define SPECLAB_LANES_STEP_H

#include "sim/chance/lanes.h"

#define SPEC_LANES_MULTIPLIER 6364136223846793005u

/* Letters: x is the state of a lane, h = x ^ x >> 18, and the draw is bits 27..58 of h, rotated
 * right by bits 59..63 of x. */
static inline uint32_t spec_lanes_step(uint64_t *state, uint64_t increment)
{
    const uint64_t x = *state;
    *state = x * SPEC_LANES_MULTIPLIER + increment;
    const uint32_t bits = (uint32_t)((x ^ x >> 18) >> 27);
    const unsigned turn = (unsigned)(x >> 59);
    return bits >> turn | bits << (-turn & 31);
}

void spec_lanes_fill_avx2(spec_lanes *lanes, uint32_t *out, size_t n_steps);
void spec_lanes_fill_avx512(spec_lanes *lanes, uint32_t *out, size_t n_steps);
void spec_lanes_fill_neon(spec_lanes *lanes, uint32_t *out, size_t n_steps);

#if defined(__AVX512F__) && defined(__AVX512DQ__)
#include <immintrin.h>

/* 32 lanes: group g = 0, 1 holds lanes 16g..16g+15. */
typedef struct {
    __m512i even[2], odd[2];           /* states */
    __m512i even_step[2], odd_step[2]; /* increments */
} spec_lanes_avx512;

static inline void spec_lanes_load_avx512(spec_lanes_avx512 *v, const spec_lanes *lanes)
{
    const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    const __m512i odd = _mm512_setr_epi64(1, 3, 5, 7, 9, 11, 13, 15);
    for (int g = 0; g < 2; g++) {
        __m512i low = _mm512_loadu_si512(lanes->state + 16 * g),
                high = _mm512_loadu_si512(lanes->state + 16 * g + 8);
        v->even[g] = _mm512_permutex2var_epi64(low, even, high);
        v->odd[g] = _mm512_permutex2var_epi64(low, odd, high);
        low = _mm512_loadu_si512(lanes->increment + 16 * g);
        high = _mm512_loadu_si512(lanes->increment + 16 * g + 8);
        v->even_step[g] = _mm512_permutex2var_epi64(low, even, high);
        v->odd_step[g] = _mm512_permutex2var_epi64(low, odd, high);
    }
}

static inline void spec_lanes_store_avx512(spec_lanes *lanes, const spec_lanes_avx512 *v)
{
    const __m512i first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    const __m512i second = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    for (int g = 0; g < 2; g++) {
        _mm512_storeu_si512(lanes->state + 16 * g,
                            _mm512_permutex2var_epi64(v->even[g], first, v->odd[g]));
        _mm512_storeu_si512(lanes->state + 16 * g + 8,
                            _mm512_permutex2var_epi64(v->even[g], second, v->odd[g]));
    }
}

/* Returns the draws of lanes 16g..16g+15. The even lane's 32 bits are computed in the low half of
 * its element, the odd lane's in the high half. */
static inline __m512i spec_lanes_step_avx512(spec_lanes_avx512 *v, int g)
{
    const __m512i multiplier = _mm512_set1_epi64((long long)SPEC_LANES_MULTIPLIER);
    const __mmask16 high_half = 0xaaaa;
    const __m512i a = v->even[g], b = v->odd[g];
    v->even[g] = _mm512_add_epi64(_mm512_mullo_epi64(a, multiplier), v->even_step[g]);
    v->odd[g] = _mm512_add_epi64(_mm512_mullo_epi64(b, multiplier), v->odd_step[g]);

    const __m512i low = _mm512_xor_si512(_mm512_srli_epi64(a, 27), _mm512_srli_epi64(a, 45));
    const __m512i bits =
        _mm512_mask_xor_epi32(low, high_half, _mm512_slli_epi64(b, 5), _mm512_srli_epi64(b, 13));
    const __m512i turn = _mm512_mask_srli_epi32(_mm512_srli_epi64(a, 59), high_half, b, 27);
    return _mm512_rorv_epi32(bits, turn);
}
#endif

#if defined(__AVX2__)
#include <immintrin.h>

/* 32 lanes: group g = 0..3 holds lanes 8g..8g+7. */
typedef struct {
    __m256i even[4], odd[4];
    __m256i even_step[4], odd_step[4];
} spec_lanes_avx2;

static inline void spec_lanes_load_avx2(spec_lanes_avx2 *v, const spec_lanes *lanes)
{
    for (int g = 0; g < 4; g++) {
        const uint64_t *x = lanes->state + 8 * g, *c = lanes->increment + 8 * g;
        v->even[g] =
            _mm256_setr_epi64x((long long)x[0], (long long)x[2], (long long)x[4], (long long)x[6]);
        v->odd[g] =
            _mm256_setr_epi64x((long long)x[1], (long long)x[3], (long long)x[5], (long long)x[7]);
        v->even_step[g] =
            _mm256_setr_epi64x((long long)c[0], (long long)c[2], (long long)c[4], (long long)c[6]);
        v->odd_step[g] =
            _mm256_setr_epi64x((long long)c[1], (long long)c[3], (long long)c[5], (long long)c[7]);
    }
}

static inline void spec_lanes_store_avx2(spec_lanes *lanes, const spec_lanes_avx2 *v)
{
    for (int g = 0; g < 4; g++) {
        const __m256i low = _mm256_unpacklo_epi64(v->even[g], v->odd[g]);  /* lanes 0 1 4 5 */
        const __m256i high = _mm256_unpackhi_epi64(v->even[g], v->odd[g]); /* lanes 2 3 6 7 */
        _mm256_storeu_si256((__m256i *)(lanes->state + 8 * g),
                            _mm256_permute2x128_si256(low, high, 0x20));
        _mm256_storeu_si256((__m256i *)(lanes->state + 8 * g + 4),
                            _mm256_permute2x128_si256(low, high, 0x31));
    }
}

/* x * multiplier + c (mod 2^64), from the 32-bit products of AVX2. The two cross products matter
 * only mod 2^32, so one 32-bit multiplication by the multiplier with its halves exchanged gives
 * both. */
static inline __m256i spec_lanes_advance_avx2(__m256i x, __m256i c)
{
    const __m256i multiplier = _mm256_set1_epi64x((long long)SPEC_LANES_MULTIPLIER);
    const __m256i exchanged =
        _mm256_set1_epi64x((long long)(SPEC_LANES_MULTIPLIER << 32 | SPEC_LANES_MULTIPLIER >> 32));
    const __m256i cross = _mm256_mullo_epi32(x, exchanged);
    const __m256i sum =
        _mm256_add_epi32(cross, _mm256_slli_epi64(cross, 32)); /* correct in its high half */
    const __m256i high = _mm256_blend_epi32(_mm256_setzero_si256(), sum, 0xaa);
    return _mm256_add_epi64(_mm256_add_epi64(_mm256_mul_epu32(x, multiplier), c), high);
}

/* Returns the draws of lanes 8g..8g+7; see spec_lanes_step_avx512. */
static inline __m256i spec_lanes_step_avx2(spec_lanes_avx2 *v, int g)
{
    const __m256i a = v->even[g], b = v->odd[g];
    v->even[g] = spec_lanes_advance_avx2(a, v->even_step[g]);
    v->odd[g] = spec_lanes_advance_avx2(b, v->odd_step[g]);

    const __m256i low = _mm256_xor_si256(_mm256_srli_epi64(a, 27), _mm256_srli_epi64(a, 45));
    const __m256i high = _mm256_xor_si256(_mm256_slli_epi64(b, 5), _mm256_srli_epi64(b, 13));
    const __m256i bits = _mm256_blend_epi32(low, high, 0xaa);
    const __m256i turn =
        _mm256_srli_epi32(_mm256_blend_epi32(_mm256_srli_epi64(a, 32), b, 0xaa), 27);
    /* A shift by 32 gives 0, so turn = 0 needs no special case. */
    return _mm256_or_si256(_mm256_srlv_epi32(bits, turn),
                           _mm256_sllv_epi32(bits, _mm256_sub_epi32(_mm256_set1_epi32(32), turn)));
}
#endif

#if defined(__aarch64__)
#include <arm_neon.h>

enum { SPEC_LANES_QUADS = SPEC_LANES / 4 };

/* 32 lanes: group g = 0..7 holds lanes 4g..4g+3. */
typedef struct {
    uint32x4_t low[SPEC_LANES_QUADS], high[SPEC_LANES_QUADS]; /* halves of the states */
    uint64x2_t step[SPEC_LANES_QUADS][2];                     /* increments */
} spec_lanes_neon;

static inline void spec_lanes_load_neon(spec_lanes_neon *v, const spec_lanes *lanes)
{
    for (int g = 0; g < SPEC_LANES_QUADS; g++) {
        const uint32x4_t first = vreinterpretq_u32_u64(vld1q_u64(lanes->state + 4 * g)),
                         second = vreinterpretq_u32_u64(vld1q_u64(lanes->state + 4 * g + 2));
        v->low[g] = vuzp1q_u32(first, second);
        v->high[g] = vuzp2q_u32(first, second);
        v->step[g][0] = vld1q_u64(lanes->increment + 4 * g);
        v->step[g][1] = vld1q_u64(lanes->increment + 4 * g + 2);
    }
}

static inline void spec_lanes_store_neon(spec_lanes *lanes, const spec_lanes_neon *v)
{
    for (int g = 0; g < SPEC_LANES_QUADS; g++) {
        vst1q_u64(lanes->state + 4 * g, vreinterpretq_u64_u32(vzip1q_u32(v->low[g], v->high[g])));
        vst1q_u64(lanes->state + 4 * g + 2,
                  vreinterpretq_u64_u32(vzip2q_u32(v->low[g], v->high[g])));
    }
}

/* Returns the draws of lanes 4g..4g+3. The 64-bit products of the low halves are added to the
 * increments; only the low 32 bits of the cross products matter. */
static inline uint32x4_t spec_lanes_step_neon(spec_lanes_neon *v, int g)
{
    const uint32_t multiplier = (uint32_t)SPEC_LANES_MULTIPLIER,
                   multiplier_high = (uint32_t)(SPEC_LANES_MULTIPLIER >> 32);
    const uint32x4_t low = v->low[g], high = v->high[g], factor = vdupq_n_u32(multiplier);
    const uint32x4_t first = vreinterpretq_u32_u64(
                         vmlal_u32(v->step[g][0], vget_low_u32(low), vget_low_u32(factor))),
                     second =
                         vreinterpretq_u32_u64(vmlal_high_u32(v->step[g][1], low, factor));
    const uint32x4_t cross =
        vmlaq_u32(vmulq_u32(high, factor), low, vdupq_n_u32(multiplier_high));
    v->low[g] = vuzp1q_u32(first, second);
    v->high[g] = vaddq_u32(vuzp2q_u32(first, second), cross);

    /* Bits 27..58 of the state, and of the state shifted by 18. */
    const uint32x4_t bits =
        veorq_u32(vsliq_n_u32(vshrq_n_u32(low, 27), high, 5), vshrq_n_u32(high, 13));
    const int32x4_t turn = vreinterpretq_s32_u32(vshrq_n_u32(high, 27));
    /* A negative count shifts right. A shift by 32 gives 0, so turn = 0 needs no special case. */
    return vorrq_u32(vshlq_u32(bits, vnegq_s32(turn)),
                     vshlq_u32(bits, vsubq_s32(vdupq_n_s32(32), turn)));
}
#endif

#endif
