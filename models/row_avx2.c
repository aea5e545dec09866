/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/row_kernels.h"

#if defined(__AVX2__)

#include <immintrin.h>

/* Bytes for a shuffle that moves the lanes with set bits in a mask to the front, the lowest
 * first. */
#define TAKE(i) 4 * (i), 4 * (i) + 1, 4 * (i) + 2, 4 * (i) + 3
#define NONE -1, -1, -1, -1
static const signed char places[16][16] = {
    {NONE, NONE, NONE, NONE},
    {TAKE(0), NONE, NONE, NONE},
    {TAKE(1), NONE, NONE, NONE},
    {TAKE(0), TAKE(1), NONE, NONE},
    {TAKE(2), NONE, NONE, NONE},
    {TAKE(0), TAKE(2), NONE, NONE},
    {TAKE(1), TAKE(2), NONE, NONE},
    {TAKE(0), TAKE(1), TAKE(2), NONE},
    {TAKE(3), NONE, NONE, NONE},
    {TAKE(0), TAKE(3), NONE, NONE},
    {TAKE(1), TAKE(3), NONE, NONE},
    {TAKE(0), TAKE(1), TAKE(3), NONE},
    {TAKE(2), TAKE(3), NONE, NONE},
    {TAKE(0), TAKE(2), TAKE(3), NONE},
    {TAKE(1), TAKE(2), TAKE(3), NONE},
    {TAKE(0), TAKE(1), TAKE(2), TAKE(3)},
};

/* Takes four values at a time, without branches. Each store writes four indices; the surplus lies
 * before n and is overwritten or ignored. */
int spec_row_above_avx2(int *ret_index, const double *value, int n, double least)
{
    const __m256d bound = _mm256_set1_pd(least);
    __m128i index = _mm_setr_epi32(0, 1, 2, 3);
    int found = 0, i = 0;
    for (; n - i >= 4; i += 4) {
        const int above =
            _mm256_movemask_pd(_mm256_cmp_pd(_mm256_loadu_pd(value + i), bound, _CMP_GE_OQ));
        const __m128i order = _mm_loadu_si128((const __m128i *)(const void *)places[above]);
        _mm_storeu_si128((__m128i *)(void *)(ret_index + found), _mm_shuffle_epi8(index, order));
        found += __builtin_popcount((unsigned)above);
        index = _mm_add_epi32(index, _mm_set1_epi32(4));
    }
    for (; i < n; i++)
        if (value[i] >= least) ret_index[found++] = i;
    return found;
}

#endif
