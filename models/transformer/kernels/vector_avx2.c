/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/vector_parts.h"

#if defined(__AVX2__)
#include <immintrin.h>

enum { FLOATS = 8, DOUBLES = 4 };
typedef __m256 floats;
typedef __m256d doubles;

#define load _mm256_loadu_ps
#define store _mm256_storeu_ps
#define all _mm256_set1_ps
#define fused _mm256_fmadd_ps
#define plus _mm256_add_ps
#define minus _mm256_sub_ps
#define times _mm256_mul_ps
#define over _mm256_div_ps
#define larger _mm256_max_ps /* returns the second operand if either is NaN */
#define smaller _mm256_min_ps
#define load_double _mm256_loadu_pd
#define store_double _mm256_storeu_pd
#define all_double _mm256_set1_pd
#define fused_double _mm256_fmadd_pd
#define plus_double _mm256_add_pd
#define minus_double _mm256_sub_pd
#define times_double _mm256_mul_pd

/* a b - c in even lanes, a b + c in odd ones */
#define fused_minus_plus _mm256_fmaddsub_ps

/* Returns the largest lane; none may be NaN. */
static inline float highest(floats x)
{
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1)),
                 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

static inline floats exchanged(floats x)
{
    return _mm256_permute_ps(x, 0xb1);
}

static inline floats twice(const float *x)
{
    const __m256i from = _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3);
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(x)), from);
}

static inline bool any_equal(floats a, floats b)
{
    return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_EQ_OQ)) != 0;
}

static inline doubles widened(const float *x)
{
    return _mm256_cvtps_pd(_mm_loadu_ps(x));
}

static inline doubles unless_less(doubles a, doubles b, doubles value)
{
    return _mm256_and_pd(_mm256_cmp_pd(a, b, _CMP_GE_OQ), value);
}

static inline floats from_f16(const uint16_t *x)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)x));
}

static inline void to_f16(uint16_t *to, floats x)
{
    _mm_storeu_si128((__m128i *)to, _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
}

static inline floats half_power(floats shifted)
{
    const __m256i bits = _mm256_add_epi32(_mm256_castps_si256(shifted), _mm256_set1_epi32(126));
    return _mm256_castsi256_ps(_mm256_slli_epi32(bits, 23));
}

static inline doubles eighth_power(doubles shifted)
{
    const __m256i bits = _mm256_castpd_si256(shifted), seven = _mm256_set1_epi64x(7);
    const __m256d power = _mm256_i64gather_pd(spec_exp_eighth, _mm256_and_si256(bits, seven), 8);
    const __m256i exponent = _mm256_slli_epi64(_mm256_andnot_si256(seven, bits), 49);
    return _mm256_castsi256_pd(_mm256_add_epi64(_mm256_castpd_si256(power), exponent));
}

static inline __m256 eight(const floats *sum)
{
    return _mm256_add_ps(sum[0], sum[1]);
}

static inline __m256d four(const doubles *sum)
{
    return _mm256_add_pd(_mm256_add_pd(sum[0], sum[2]), _mm256_add_pd(sum[1], sum[3]));
}

#include "models/transformer/kernels/vector_x86.h"

#include "models/transformer/kernels/vector_wide.h"

const spec_vector_kernels spec_vector_kernels_avx2 = {
    norm, rotate,    score, weigh,      mix,  widen, narrow,
    gate, gelu_gate, cap,   largest_of, find, exps,  spec_vector_scale};

#endif
