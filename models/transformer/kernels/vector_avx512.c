/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/vector_parts.h"

#if defined(__AVX512F__)
#include <immintrin.h>

enum { FLOATS = 16, DOUBLES = 8 };
typedef __m512 floats;
typedef __m512d doubles;

#define load _mm512_loadu_ps
#define store _mm512_storeu_ps
#define all _mm512_set1_ps
#define fused _mm512_fmadd_ps
#define plus _mm512_add_ps
#define minus _mm512_sub_ps
#define times _mm512_mul_ps
#define over _mm512_div_ps
#define larger _mm512_max_ps /* returns the second operand if either is NaN */
#define smaller _mm512_min_ps
#define highest _mm512_reduce_max_ps /* the largest lane; none may be NaN */
#define load_double _mm512_loadu_pd
#define store_double _mm512_storeu_pd
#define all_double _mm512_set1_pd
#define fused_double _mm512_fmadd_pd
#define plus_double _mm512_add_pd
#define minus_double _mm512_sub_pd
#define times_double _mm512_mul_pd

/* a b - c in even lanes, a b + c in odd ones */
#define fused_minus_plus _mm512_fmaddsub_ps

/* x[1], x[0], x[3], x[2], ... */
static inline floats exchanged(floats x)
{
    return _mm512_permute_ps(x, 0xb1);
}

/* x[0], x[0], x[1], x[1], ... of 8 */
static inline floats twice(const float *x)
{
    const __m512i from = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    return _mm512_permutexvar_ps(from, _mm512_castps256_ps512(_mm256_loadu_ps(x)));
}

static inline bool any_equal(floats a, floats b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ) != 0;
}

static inline doubles widened(const float *x)
{
    return _mm512_cvtps_pd(_mm256_loadu_ps(x));
}

/* value, or 0 where a < b */
static inline doubles unless_less(doubles a, doubles b, doubles value)
{
    return _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(a, b, _CMP_GE_OQ), value);
}

static inline floats from_f16(const uint16_t *x)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)x));
}

static inline void to_f16(uint16_t *to, floats x)
{
    _mm256_storeu_si256((__m256i *)to, _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

static inline floats half_power(floats shifted)
{
    const __m512i bits = _mm512_add_epi32(_mm512_castps_si512(shifted), _mm512_set1_epi32(126));
    return _mm512_castsi512_ps(_mm512_slli_epi32(bits, 23));
}

/* 2^(K/8), K in the low bits; see vector_ref.c. The permutation uses the low three bits only. */
static inline doubles eighth_power(doubles shifted)
{
    const __m512i bits = _mm512_castpd_si512(shifted);
    const __m512d power = _mm512_permutexvar_pd(bits, _mm512_loadu_pd(spec_exp_eighth));
    const __m512i exponent = _mm512_slli_epi64(_mm512_andnot_si512(_mm512_set1_epi64(7), bits), 49);
    return _mm512_castsi512_pd(_mm512_add_epi64(_mm512_castpd_si512(power), exponent));
}

static inline __m256 eight(const floats *sum)
{
    return _mm256_add_ps(_mm512_castps512_ps256(sum[0]), _mm512_extractf32x8_ps(sum[0], 1));
}

static inline __m256d four(const doubles *sum)
{
    const __m512d lanes = _mm512_add_pd(sum[0], sum[1]);
    return _mm256_add_pd(_mm512_castpd512_pd256(lanes), _mm512_extractf64x4_pd(lanes, 1));
}

#include "models/transformer/kernels/vector_x86.h"

#include "models/transformer/kernels/vector_wide.h"

const spec_vector_kernels spec_vector_kernels_avx512 = {
    norm, rotate,    score, weigh,      mix,  widen, narrow,
    gate, gelu_gate, cap,   largest_of, find, exps,  spec_vector_scale};

#endif
