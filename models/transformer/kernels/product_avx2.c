/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/product_kernels.h"

#if defined(__AVX2__)
#include "models/transformer/kernels/product_avx2.h"

/* The sums of all columns do not fit into 16 registers, so for the remaining columns we read a
 * panel again, from the first-level cache. */
enum {
    STRETCH = 512, /* bytes that are prefetched together */
    FLOATS = 6,
    BLOCKS = 4
};

/* ---- floats ---------------------------------------------------------------------------------- */

INLINE __m256 load_floats(const unsigned char *at, spec_tensor_type type)
{
    const __m128i *const halves = (const __m128i *)(const void *)at;
    switch (type) {
    case SPEC_TENSOR_F16: return _mm256_cvtph_ps(_mm_loadu_si128(halves));
    case SPEC_TENSOR_BF16:
        return _mm256_castsi256_ps(
            _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(halves)), 16));
    default: return _mm256_castsi256_ps(load(at));
    }
}

/* Computes columns c..c+n-1 of a panel whose first row is r. */
INLINE void floats(const spec_product_task *task, const unsigned char *w, int r, int c,
                   spec_tensor_type type, const int n)
{
    const int bytes = SPEC_PANEL_ROWS * (type == SPEC_TENSOR_F32 ? 4 : 2);
    const float *x = (const float *)(const void *)task->x + c;
    __m256 sum[FLOATS][2];
    SPEC_UNROLL
    for (int u = 0; u < n; u++) sum[u][0] = sum[u][1] = _mm256_setzero_ps();
    for (int k = 0; k < task->cols;) {
        const int end = task->cols - k < STRETCH / bytes ? task->cols : k + STRETCH / bytes;
        if (c == 0) spec_product_fetch(task, w, STRETCH);
        for (; k < end; k++, w += bytes, x += task->N) {
            const __m256 low = load_floats(w, type), high = load_floats(w + bytes / 2, type);
            SPEC_UNROLL
            for (int u = 0; u < n; u++) {
                const __m256 one = _mm256_set1_ps(x[u]);
                sum[u][0] = _mm256_fmadd_ps(low, one, sum[u][0]);
                sum[u][1] = _mm256_fmadd_ps(high, one, sum[u][1]);
            }
        }
    }
    SPEC_UNROLL
    for (int u = 0; u < n; u++) put(task, c + u, r, sum[u][0], sum[u][1]);
}

INLINE void all_floats(const spec_product_task *task, spec_tensor_type type)
{
    const unsigned char *panel = task->panel;
    for (int r = 0; r < task->R; r += SPEC_PANEL_ROWS, panel += task->bytes) {
        for (int c = 0, n; c < task->N; c += n) {
            n = share(task->N - c, FLOATS);
            switch (n) {
            case 1: floats(task, panel, r, c, type, 1); break;
            case 2: floats(task, panel, r, c, type, 2); break;
            case 3: floats(task, panel, r, c, type, 3); break;
            case 4: floats(task, panel, r, c, type, 4); break;
            case 5: floats(task, panel, r, c, type, 5); break;
            default: floats(task, panel, r, c, type, 6); break;
            }
        }
    }
}

void spec_product_f32_avx2(const spec_product_task *task) { all_floats(task, SPEC_TENSOR_F32); }
void spec_product_f16_avx2(const spec_product_task *task) { all_floats(task, SPEC_TENSOR_F16); }
void spec_product_bf16_avx2(const spec_product_task *task) { all_floats(task, SPEC_TENSOR_BF16); }

/* ---- blocks of 8 bits ------------------------------------------------------------------------ */

/* Computes dot products of a block's rows with n columns: |w| times x with the sign of w. Two such
 * products fit into 16 bits, 2 * 128 * 127, even for w = -128. */
INLINE void dots_q8_0(__m256i dot[BLOCKS][2], const unsigned char *w, const unsigned char *x,
                      const int n)
{
    const __m256i ones = _mm256_set1_epi16(1), top = _mm256_set1_epi8(-128);
    SPEC_UNROLL
    for (int u = 0; u < n; u++) dot[u][0] = dot[u][1] = _mm256_setzero_si256();
    SPEC_UNROLL
    for (int j = 0; j < SPEC_TENSOR_BLOCK; j += 4, w += 4 * SPEC_PANEL_ROWS) {
        const __m256i low = _mm256_xor_si256(load(w), top), low_most = _mm256_abs_epi8(low);
        const __m256i high = _mm256_xor_si256(load(w + 4 * HALF), top),
                      high_most = _mm256_abs_epi8(high);
        SPEC_UNROLL
        for (int u = 0; u < n; u++) {
            const __m256i v = four(x + SPEC_TENSOR_BLOCK * u + j);
            const __m256i a = _mm256_maddubs_epi16(low_most, _mm256_sign_epi8(v, low));
            const __m256i b = _mm256_maddubs_epi16(high_most, _mm256_sign_epi8(v, high));
            dot[u][0] = _mm256_add_epi32(dot[u][0], _mm256_madd_epi16(a, ones));
            dot[u][1] = _mm256_add_epi32(dot[u][1], _mm256_madd_epi16(b, ones));
            KEEP_ORDER(dot[u][0]);
            KEEP_ORDER(dot[u][1]);
        }
    }
}

/* Does the same for weights 0..15, from which 8 is subtracted. Sums of 16 bits hold a whole block:
 * 16 * 15 * 127. */
INLINE void dots_q4_0(__m256i dot[BLOCKS][2], const unsigned char *w, const unsigned char *x,
                      const unsigned char *start, const int n)
{
    const __m256i ones = _mm256_set1_epi16(1), nibble = _mm256_set1_epi8(15);
    SPEC_UNROLL
    for (int u = 0; u < n; u++) dot[u][0] = dot[u][1] = _mm256_setzero_si256();
    SPEC_UNROLL
    for (int j = 0; j < SPEC_TENSOR_BLOCK / 2; j += 4, w += 4 * SPEC_PANEL_ROWS) {
        __m256i part[2][2];
        for (int h = 0; h < 2; h++) {
            const __m256i pair = load(w + 4 * HALF * h);
            part[h][0] = _mm256_and_si256(pair, nibble);
            part[h][1] = _mm256_and_si256(_mm256_srli_epi16(pair, 4), nibble);
        }
        SPEC_UNROLL
        for (int u = 0; u < n; u++) {
            SPEC_UNROLL
            for (int i = 0; i < 2; i++) {
                const __m256i v = four(x + SPEC_TENSOR_BLOCK * u + j + SPEC_TENSOR_BLOCK / 2 * i);
                dot[u][0] = _mm256_add_epi16(dot[u][0], _mm256_maddubs_epi16(part[0][i], v));
                dot[u][1] = _mm256_add_epi16(dot[u][1], _mm256_maddubs_epi16(part[1][i], v));
                KEEP_ORDER(dot[u][0]);
                KEEP_ORDER(dot[u][1]);
            }
        }
    }
    SPEC_UNROLL
    for (int u = 0; u < n; u++) {
        const __m256i s = four(start + 4 * u);
        dot[u][0] = _mm256_add_epi32(_mm256_madd_epi16(dot[u][0], ones), s);
        dot[u][1] = _mm256_add_epi32(_mm256_madd_epi16(dot[u][1], ones), s);
    }
}

/* Computes columns c..c+n-1 of a panel whose first row is r. */
INLINE void blocks(const spec_product_task *task, const unsigned char *w, int r, int c,
                   spec_tensor_type type, const int n)
{
    const int bytes = type == SPEC_TENSOR_Q8_0 ? SPEC_PRODUCT_Q8_0 : SPEC_PRODUCT_Q4_0, N = task->N;
    const unsigned char *x = task->x;
    __m256 sum[BLOCKS][2];
    SPEC_UNROLL
    for (int u = 0; u < n; u++) sum[u][0] = sum[u][1] = _mm256_setzero_ps();
    for (int k = 0; k < task->cols; k += SPEC_TENSOR_BLOCK, w += bytes, x += SPEC_PRODUCT_X * N) {
        const unsigned char *const x_scale = x + SPEC_TENSOR_BLOCK * N + 4 * c, *const start =
                                                                                    x_scale + 4 * N;
        const __m128i *const scales = (const __m128i *)(const void *)w;
        if (c == 0) spec_product_fetch(task, w, bytes);
        __m256i dot[BLOCKS][2];
        if (type == SPEC_TENSOR_Q8_0)
            dots_q8_0(dot, w + SPEC_PRODUCT_SCALES, x + SPEC_TENSOR_BLOCK * c, n);
        else dots_q4_0(dot, w + SPEC_PRODUCT_SCALES, x + SPEC_TENSOR_BLOCK * c, start, n);
        const __m256 low = _mm256_cvtph_ps(_mm_loadu_si128(scales));
        const __m256 high = _mm256_cvtph_ps(_mm_loadu_si128(scales + 1));
        SPEC_UNROLL
        for (int u = 0; u < n; u++) {
            const __m256 scale = _mm256_set1_ps(spec_product_float_at(x_scale + 4 * u));
            sum[u][0] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot[u][0]), _mm256_mul_ps(low, scale),
                                        sum[u][0]);
            sum[u][1] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot[u][1]), _mm256_mul_ps(high, scale),
                                        sum[u][1]);
        }
    }
    SPEC_UNROLL
    for (int u = 0; u < n; u++) put(task, c + u, r, sum[u][0], sum[u][1]);
}

INLINE void all_blocks(const spec_product_task *task, spec_tensor_type type)
{
    const unsigned char *panel = task->panel;
    for (int r = 0; r < task->R; r += SPEC_PANEL_ROWS, panel += task->bytes) {
        for (int c = 0, n; c < task->N; c += n) {
            n = share(task->N - c, BLOCKS);
            switch (n) {
            case 1: blocks(task, panel, r, c, type, 1); break;
            case 2: blocks(task, panel, r, c, type, 2); break;
            case 3: blocks(task, panel, r, c, type, 3); break;
            default: blocks(task, panel, r, c, type, 4); break;
            }
        }
    }
}

void spec_product_q8_0_avx2(const spec_product_task *task) { all_blocks(task, SPEC_TENSOR_Q8_0); }
void spec_product_q4_0_avx2(const spec_product_task *task) { all_blocks(task, SPEC_TENSOR_Q4_0); }

/* ---- columns --------------------------------------------------------------------------------- */

INLINE int32_t lanes_max(__m256i v)
{
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1)));
}

INLINE int32_t lanes_sum(__m256i v)
{
    __m128i s = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1)));
}

void spec_product_quantise_avx2(unsigned char *block, int u, int N, const float *x, int n_blocks,
                                spec_tensor_type type)
{
    const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
    for (; n_blocks > 0;
         n_blocks--, block += spec_product_x_bytes(type) * N, x += SPEC_TENSOR_BLOCK) {
        __m256i most = _mm256_setzero_si256(), q[4];
        for (int i = 0; i < 4; i++)
            most = _mm256_max_epi32(
                most, _mm256_and_si256(_mm256_castps_si256(_mm256_loadu_ps(x + 8 * i)), magnitude));
        const spec_product_step step = spec_product_step_of((uint32_t)lanes_max(most));
        /* A non-finite value would give NaN times an inverse of 0. */
        const __m256i some = _mm256_set1_epi32(step.inverse > 0.0f ? -1 : 0);
        for (int i = 0; i < 4; i++) {
            const __m256 scaled =
                _mm256_mul_ps(_mm256_loadu_ps(x + 8 * i), _mm256_set1_ps(step.inverse));
            q[i] = _mm256_and_si256(_mm256_cvtps_epi32(scaled), some);
        }
        const __m256i bytes =
            _mm256_packs_epi16(_mm256_packs_epi32(q[0], q[1]), _mm256_packs_epi32(q[2], q[3]));
        /* Packing has interleaved groups of four from both halves. */
        const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        _mm256_storeu_si256((__m256i *)(void *)(block + SPEC_TENSOR_BLOCK * u),
                            _mm256_permutevar8x32_epi32(bytes, order));
        spec_product_put_step(block, u, N, type, step.scale,
                              lanes_sum(_mm256_add_epi32(q[0], q[1])),
                              lanes_sum(_mm256_add_epi32(q[2], q[3])));
    }
}
#else
typedef int spec_product_avx2_is_empty; /* ISO C requires a declaration */
#endif
