/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/product_kernels.h"

#if defined(__AVX512VNNI__)
#include "models/transformer/kernels/product_avx512.h"

enum { GROUPS = SPEC_TENSOR_BLOCK / 4, VECTOR = 64 };

static inline __m512i load(const unsigned char *at)
{
    return _mm512_loadu_si512(at);
}

/* Unpack a block's unsigned weights: four columns of 16 rows per vector. */
static inline __attribute__((always_inline)) void weights(__m512i w[GROUPS],
                                                          const unsigned char *at,
                                                          spec_tensor_type type)
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

/* The weights of a block stay in registers for all columns. */
static inline __attribute__((always_inline)) void quantised(const spec_product_task *task,
                                                            spec_tensor_type type, const int N)
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
            spec_product_fetch(block, bytes, (GROUPS + 2) * N);
            const __m512 scale =
                _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)block));
            __m512i w[GROUPS];
            weights(w, block + SPEC_PRODUCT_SCALES, type);
            SPEC_UNROLL
            for (int u = 0; u < N; u++) {
                __m512i dot =
                    _mm512_set1_epi32(spec_product_int_at(x + (SPEC_TENSOR_BLOCK + 4) * N + 4 * u));
                SPEC_UNROLL
                for (int j = 0; j < GROUPS; j++) {
                    const int32_t four = spec_product_int_at(x + SPEC_TENSOR_BLOCK * u + 4 * j);
                    dot = _mm512_dpbusd_epi32(dot, w[j], _mm512_set1_epi32(four));
                }
                const __m512 x_scale =
                    _mm512_set1_ps(spec_product_float_at(x + SPEC_TENSOR_BLOCK * N + 4 * u));
                sum[u] =
                    _mm512_fmadd_ps(_mm512_cvtepi32_ps(dot), _mm512_mul_ps(scale, x_scale), sum[u]);
            }
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
