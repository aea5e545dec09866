/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vector_x86: the sums of lanes, shared only by AVX2 and AVX-512.
 * The including file defines the vectors; internal to models/transformer/kernels/vector_avx2.c and
 * vector_avx512.c. */
#include "models/transformer/kernels/vector_parts.h"

#include <immintrin.h>

/* Reduces a sum's lanes, of which the including file adds eight or four: lanes 8, then 4, 2 and 1
 * apart. */
static inline float added(const floats *sum)
{
    const __m256 half = eight(sum);
    const __m128 lanes = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1)),
                 two = _mm_add_ps(lanes, _mm_movehl_ps(lanes, lanes));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

static inline double added_double(const doubles *sum)
{
    const __m256d lanes = four(sum);
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(lanes), _mm256_extractf128_pd(lanes, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
}
