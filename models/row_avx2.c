#include "models/row_kernels.h"

#if defined(__AVX2__)

#include <immintrin.h>

/* Sixteen values at a time are looked at, and single ones where there are any. */
int spec_row_above_avx2(int *ret_index, const double *value, int n, double least)
{
    const __m256d bound = _mm256_set1_pd(least);
    int found = 0, i = 0;
    for (; n - i >= 16; i += 16) {
        unsigned above = 0;
        for (int part = 0; part < 4; part++) {
            const __m256d v = _mm256_loadu_pd(value + i + 4 * part);
            above |= (unsigned)_mm256_movemask_pd(_mm256_cmp_pd(v, bound, _CMP_GE_OQ)) << 4 * part;
        }
        for (; above != 0; above &= above - 1) ret_index[found++] = i + __builtin_ctz(above);
    }
    for (; i < n; i++)
        if (value[i] >= least) ret_index[found++] = i;
    return found;
}

#endif
