/* SPDX-License-Identifier: GPL-3.0-or-later */
/* product_avx512: the code shared by the products of AVX-512 and VNNI.
 * Only for files compiled for these instruction sets. */
#ifndef SPECLAB_PRODUCT_AVX512_H
#define SPECLAB_PRODUCT_AVX512_H

#include "models/transformer/kernels/product_kernels.h"

#include <immintrin.h>

/* Adds the sums of a panel's rows, from row r on, to y; rows past the last are not written. */
static inline void spec_product_put_avx512(const spec_product_task *task, int u, int r, __m512 sum)
{
    const int left = task->R - r;
    const __mmask16 rows = (__mmask16)(left < SPEC_PANEL_ROWS ? (1U << left) - 1 : 0xffffU);
    float *const y = task->y + (size_t)u * task->stride + r;
    if (task->opt_bias != NULL)
        sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(rows, task->opt_bias + r));
    if (task->add) sum = _mm512_add_ps(_mm512_maskz_loadu_ps(rows, y), sum);
    _mm512_mask_storeu_ps(y, rows, sum);
}

#endif
