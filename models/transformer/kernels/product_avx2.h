/* SPDX-License-Identifier: GPL-3.0-or-later */
/* product_avx2: the code shared by the products of AVX2.
 * Only for files compiled for this instruction set. */
#ifndef SPECLAB_PRODUCT_AVX2_H
#define SPECLAB_PRODUCT_AVX2_H

#include "models/transformer/kernels/product_kernels.h"

#include <immintrin.h>

enum { HALF = 8 /* rows per vector */ };

#define INLINE static inline __attribute__((always_inline))

/* Put this after an addition to a sum in an unrolled loop. Without it, gcc moves all products
 * before the sums, runs out of registers and spills them. */
#define KEEP_ORDER(sum) __asm__ volatile("" : "+x"(sum))

INLINE __m256i load(const unsigned char *at)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)at);
}

INLINE __m256i four(const unsigned char *at)
{
    return _mm256_set1_epi32(spec_product_int_at(at));
}

INLINE __m256 one(const unsigned char *at)
{
    return _mm256_set1_ps(spec_product_float_at(at));
}

/* Adds the sums of a panel's rows for column u, from row r on, to y. */
INLINE void put(const spec_product_task *task, int u, int r, __m256 low, __m256 high)
{
    if (task->R - r < SPEC_PANEL_ROWS) {
        float sum[SPEC_PANEL_ROWS];
        _mm256_storeu_ps(sum, low);
        _mm256_storeu_ps(sum + HALF, high);
        spec_product_put(task, u, r, sum);
        return;
    }
    float *const y = task->y + (size_t)u * task->stride + r;
    if (task->opt_bias != NULL) {
        low = _mm256_add_ps(low, _mm256_loadu_ps(task->opt_bias + r));
        high = _mm256_add_ps(high, _mm256_loadu_ps(task->opt_bias + r + HALF));
    }
    if (task->add) {
        low = _mm256_add_ps(_mm256_loadu_ps(y), low);
        high = _mm256_add_ps(_mm256_loadu_ps(y + HALF), high);
    }
    _mm256_storeu_ps(y, low);
    _mm256_storeu_ps(y + HALF, high);
}

/* Returns how many of `left` columns the next pass takes, at most `most`, in even shares. */
INLINE int share(int left, int most)
{
    const int passes = (left + most - 1) / most;
    return (left + passes - 1) / passes;
}

#endif
