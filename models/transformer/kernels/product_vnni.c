/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/product_kernels.h"

#if defined(__AVX512VNNI__)
#include "models/transformer/kernels/product_vnni.h"

/* Unpacks a block's unsigned weights: four columns of 16 rows in each vector. */
INLINE void weights(__m512i w[GROUPS], const unsigned char *at, spec_tensor_type type)
{
    if (type == SPEC_TENSOR_Q8_0) {
        SPEC_UNROLL
        for (int j = 0; j < GROUPS; j++) w[j] = load(at + VECTOR * j);
    } else {
        const __m512i nibble = _mm512_set1_epi8(15);
        SPEC_UNROLL
        for (int j = 0; j < GROUPS / 2; j++) {
            const __m512i pair = load(at + VECTOR * j);
            w[j] = _mm512_and_si512(pair, nibble);
            w[j + GROUPS / 2] = _mm512_and_si512(_mm512_srli_epi16(pair, 4), nibble);
        }
    }
}

/* Adds a block's products with columns c..c+n-1 of N. */
INLINE void add_block(__m512 *sum, const __m512i w[GROUPS], __m512 scale, const unsigned char *x,
                      const int N, const int c, const int n)
{
    const unsigned char *const x_scale = x + SPEC_TENSOR_BLOCK * N + 4 * c, *const start =
                                                                                x_scale + 4 * N;
    __m512i dot[FOUR];
    SPEC_UNROLL
    for (int u = 0; u < n; u++) dot[u] = four(start + 4 * u);
    add_dots(dot, w, x + SPEC_TENSOR_BLOCK * c, 0, GROUPS, n);
    SPEC_UNROLL
    for (int u = 0; u < n; u++) {
        sum[c + u] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot[u]),
                                     _mm512_mul_ps(scale, one(x_scale + 4 * u)), sum[c + u]);
    }
}

/* The weights of a block stay in registers for all columns. */
INLINE void quantised(const spec_product_task *task, spec_tensor_type type, const int N)
{
    const int bytes = type == SPEC_TENSOR_Q8_0 ? SPEC_PRODUCT_Q8_0 : SPEC_PRODUCT_Q4_0;
    const unsigned char *panel = task->panel;
    for (int r = 0; r < task->R; r += SPEC_PANEL_ROWS, panel += task->bytes) {
        const unsigned char *block = panel, *x = task->x;
        __m512 sum[SPEC_PRODUCT_COLUMNS];
        SPEC_UNROLL
        for (int u = 0; u < N; u++) sum[u] = _mm512_setzero_ps();
        for (int k = 0; k < task->cols;
             k += SPEC_TENSOR_BLOCK, block += bytes, x += SPEC_PRODUCT_X * N) {
            spec_product_fetch(task, block, bytes);
            const __m512 scale =
                _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)block));
            __m512i w[GROUPS];
            weights(w, block + SPEC_PRODUCT_SCALES, type);
#define ADD_BLOCK(c, n) add_block(sum, w, scale, x, N, c, n)
            SPEC_PRODUCT_BY_FOURS(ADD_BLOCK, N);
        }
        SPEC_UNROLL
        for (int u = 0; u < N; u++) spec_product_put_avx512(task, u, r, sum[u]);
    }
}

#define QUANTISED(type, N) quantised(task, type, N)
void spec_product_q8_0_vnni(const spec_product_task *task)
{
    SPEC_PRODUCT_BY_COLUMNS(QUANTISED, SPEC_TENSOR_Q8_0);
}
void spec_product_q4_0_vnni(const spec_product_task *task)
{
    SPEC_PRODUCT_BY_COLUMNS(QUANTISED, SPEC_TENSOR_Q4_0);
}
#else
typedef int spec_product_vnni_is_empty; /* ISO C requires a declaration */
#endif
