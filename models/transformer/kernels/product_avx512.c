/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/product_kernels.h"

#if defined(__AVX512F__)
#include "models/transformer/kernels/product_avx512.h"

enum { STRETCH = 512 /* bytes that are prefetched together */ };

static inline __m512 load(const unsigned char *at, spec_tensor_type type)
{
    switch (type) {
    case SPEC_TENSOR_F16:
        return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)at));
    case SPEC_TENSOR_BF16:
        return _mm512_castsi512_ps(_mm512_slli_epi32(
            _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)at)), 16));
    default: return _mm512_loadu_ps(at);
    }
}

/* Each step of k is one vector of weights and one fused operation per column. */
static inline __attribute__((always_inline)) void floats(const spec_product_task *task,
                                                         spec_tensor_type type, const int N)
{
    const int bytes = SPEC_PANEL_ROWS * (type == SPEC_TENSOR_F32 ? 4 : 2);
    const unsigned char *panel = task->panel;
    for (int r = 0; r < task->R; r += SPEC_PANEL_ROWS, panel += task->bytes) {
        const unsigned char *w = panel;
        const float *x = (const float *)(const void *)task->x;
        __m512 sum[SPEC_PRODUCT_COLUMNS];
        SPEC_UNROLL
        for (int u = 0; u < N; u++) sum[u] = _mm512_setzero_ps();
        for (int k = 0; k < task->cols;) {
            const int end = task->cols - k < STRETCH / bytes ? task->cols : k + STRETCH / bytes;
            spec_product_fetch(task, w, STRETCH);
            for (; k < end; k++, w += bytes, x += N) {
                const __m512 weight = load(w, type);
                SPEC_UNROLL
                for (int u = 0; u < N; u++)
                    sum[u] = _mm512_fmadd_ps(weight, _mm512_set1_ps(x[u]), sum[u]);
            }
        }
        SPEC_UNROLL
        for (int u = 0; u < N; u++) spec_product_put_avx512(task, u, r, sum[u]);
    }
}

#define FLOATS(type, N) floats(task, type, N)
void spec_product_f32_avx512(const spec_product_task *task)
{
    SPEC_PRODUCT_BY_COLUMNS(FLOATS, SPEC_TENSOR_F32);
}
void spec_product_f16_avx512(const spec_product_task *task)
{
    SPEC_PRODUCT_BY_COLUMNS(FLOATS, SPEC_TENSOR_F16);
}
void spec_product_bf16_avx512(const spec_product_task *task)
{
    SPEC_PRODUCT_BY_COLUMNS(FLOATS, SPEC_TENSOR_BF16);
}

void spec_product_quantise_avx512(unsigned char *block, int u, int N, const float *x, int n_blocks,
                                  spec_tensor_type type)
{
    for (; n_blocks > 0;
         n_blocks--, block += spec_product_x_bytes(type) * N, x += SPEC_TENSOR_BLOCK) {
        const __m512 low = _mm512_loadu_ps(x), high = _mm512_loadu_ps(x + 16);
        const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
        const uint32_t bits = (uint32_t)_mm512_reduce_max_epi32(
            _mm512_max_epi32(_mm512_and_si512(_mm512_castps_si512(low), magnitude),
                             _mm512_and_si512(_mm512_castps_si512(high), magnitude)));
        const spec_product_step step = spec_product_step_of(bits);
        const __m512 inverse = _mm512_set1_ps(step.inverse);
        /* The mask sets non-finite values to 0: times an inverse of 0 they would be NaN. */
        const __mmask16 some = (__mmask16)(step.inverse > 0.0f ? 0xffffU : 0U);
        const __m512i q[2] = {_mm512_maskz_cvtps_epi32(some, _mm512_mul_ps(low, inverse)),
                              _mm512_maskz_cvtps_epi32(some, _mm512_mul_ps(high, inverse))};
        unsigned char *const bytes = block + SPEC_TENSOR_BLOCK * u;
        _mm_storeu_si128((__m128i *)(void *)bytes, _mm512_cvtepi32_epi8(q[0]));
        _mm_storeu_si128((__m128i *)(void *)(bytes + 16), _mm512_cvtepi32_epi8(q[1]));
        if (type == SPEC_TENSOR_Q6_K)
            spec_product_put_step(block, u, N, type, step.scale, _mm512_reduce_add_epi32(q[0]),
                                  _mm512_reduce_add_epi32(q[1]));
        else
            spec_product_put_step(block, u, N, type, step.scale,
                                  _mm512_reduce_add_epi32(_mm512_add_epi32(q[0], q[1])), 0);
    }
}
#else
typedef int spec_product_avx512_is_empty; /* ISO C requires a declaration */
#endif
