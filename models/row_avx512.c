/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/row_kernels.h"

#if defined(__AVX512F__) && defined(__AVX512VL__)

#include <immintrin.h>

/* Takes eight values at a time, without branches. Indices are compressed in a register and stored
 * whole, since compressing to memory is slow on some processors. The surplus lies before n and is
 * overwritten or ignored. */
int spec_row_above_avx512(int *ret_index, const double *value, int n, double least)
{
    const __m512d bound = _mm512_set1_pd(least);
    __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    int found = 0, i = 0;
    for (; n - i >= 8; i += 8) {
        const __mmask8 above = _mm512_cmp_pd_mask(_mm512_loadu_pd(value + i), bound, _CMP_GE_OQ);
        _mm256_storeu_si256((__m256i *)(void *)(ret_index + found),
                            _mm256_maskz_compress_epi32(above, index));
        found += __builtin_popcount(above);
        index = _mm256_add_epi32(index, _mm256_set1_epi32(8));
    }
    for (; i < n; i++)
        if (value[i] >= least) ret_index[found++] = i;
    return found;
}

#endif
