/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vector_x86: the sums of lanes, shared only by AVX2 and AVX-512.
 * The including file defines the vectors; internal to models/transformer/kernels/vector_avx2.c and
 * vector_avx512.c. */
#include "models/transformer/kernels/vector_parts.h"

#include <immintrin.h>

/* Reduces a sum's lanes, of which the including file adds eight or four: lanes 8, then 4, 2 and 1
 * apart. */
static inline __m128 added_to_four(const floats *sum)
{
    const __m256 lanes = eight(sum);
    return _mm_add_ps(_mm256_castps256_ps128(lanes), _mm256_extractf128_ps(lanes, 1));
}

static inline float added(const floats *sum)
{
    const __m128 lanes = added_to_four(sum), two = _mm_add_ps(lanes, _mm_movehl_ps(lanes, lanes));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

/* Adds up four sums at once. */
static inline void added4(float *ret_sum, floats (*sum)[SPEC_VECTOR_LANES / FLOATS])
{
    __m128 a = added_to_four(sum[0]), b = added_to_four(sum[1]), c = added_to_four(sum[2]),
           d = added_to_four(sum[3]);
    a = _mm_add_ps(_mm_movelh_ps(a, b), _mm_movehl_ps(b, a));
    c = _mm_add_ps(_mm_movelh_ps(c, d), _mm_movehl_ps(d, c));
    const __m128 even = _mm_shuffle_ps(a, c, _MM_SHUFFLE(2, 0, 2, 0));
    const __m128 odd = _mm_shuffle_ps(a, c, _MM_SHUFFLE(3, 1, 3, 1));
    _mm_storeu_ps(ret_sum, _mm_add_ps(even, odd));
}

static inline double added_double(const doubles *sum)
{
    const __m256d lanes = four(sum);
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(lanes), _mm256_extractf128_pd(lanes, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}
