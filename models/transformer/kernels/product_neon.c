/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/transformer/kernels/product_kernels.h"

#if defined(__aarch64__)
#define BLOCKS 2 /* columns whose dot products, 8 registers each, fit with a group of weights */
#define AT_ONCE 4
#include "models/transformer/kernels/product_neon.h"

enum {
    STRETCH = 512, /* bytes that are prefetched together */
    FLOATS = 6     /* sums of this many columns, 4 registers each, fit into registers with the
                      weights */
};

/* If the loop is unrolled, gcc loads the weights of many steps first and runs out of registers. */
#if defined(__clang__)
#define KEEP_LOOP _Pragma("clang loop unroll(disable)")
#else
#define KEEP_LOOP _Pragma("GCC unroll 1")
#endif

/* ---- floats ---------------------------------------------------------------------------------- */

INLINE void load_floats(float32x4_t weight[QUADS], const unsigned char *at, spec_tensor_type type)
{
    if (type == SPEC_TENSOR_F16) {
        load_halves(weight, at);
    } else if (type == SPEC_TENSOR_BF16) {
        const uint16x8_t zero = vdupq_n_u16(0);
        SPEC_UNROLL
        for (int i = 0; i < QUADS; i += 2) {
            const uint16x8_t halves = vreinterpretq_u16_u8(vld1q_u8(at + VECTOR / 2 * i));
            weight[i] = vreinterpretq_f32_u16(vzip1q_u16(zero, halves));
            weight[i + 1] = vreinterpretq_f32_u16(vzip2q_u16(zero, halves));
        }
    } else {
        SPEC_UNROLL
        for (int i = 0; i < QUADS; i++)
            weight[i] = vreinterpretq_f32_u8(vld1q_u8(at + VECTOR * i));
    }
}

/* Computes columns c..c+n-1 of a panel whose first row is r. */
INLINE void floats(const spec_product_task *task, const unsigned char *w, int r, int c,
                   spec_tensor_type type, const int n)
{
    const int bytes = SPEC_PANEL_ROWS * (type == SPEC_TENSOR_F32 ? 4 : 2);
    const float *x = (const float *)(const void *)task->x + c;
    float32x4_t sum[FLOATS][QUADS];
    SPEC_UNROLL
    for (int u = 0; u < n; u++)
        for (int i = 0; i < QUADS; i++) sum[u][i] = vdupq_n_f32(0.0f);
    for (int k = 0; k < task->cols;) {
        const int end = task->cols - k < STRETCH / bytes ? task->cols : k + STRETCH / bytes;
        if (c == 0) spec_product_fetch(task, w, STRETCH);
        for (; k < end; k++, w += bytes, x += task->N) {
            float32x4_t weight[QUADS];
            load_floats(weight, w, type);
            SPEC_UNROLL
            for (int u = 0; u < n; u++) {
                SPEC_UNROLL
                for (int i = 0; i < QUADS; i++)
                    sum[u][i] = vfmaq_n_f32(sum[u][i], weight[i], x[u]);
            }
        }
    }
    SPEC_UNROLL
    for (int u = 0; u < n; u++) put(task, c + u, r, sum[u]);
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

void spec_product_f32_neon(const spec_product_task *task) { all_floats(task, SPEC_TENSOR_F32); }
void spec_product_f16_neon(const spec_product_task *task) { all_floats(task, SPEC_TENSOR_F16); }
void spec_product_bf16_neon(const spec_product_task *task) { all_floats(task, SPEC_TENSOR_BF16); }

/* ---- blocks of 8 bits ------------------------------------------------------------------------ */

/* Returns four bytes of x, in each quarter of a vector. */
INLINE int8x16_t four_of(const unsigned char *at)
{
    return vreinterpretq_s8_s32(vdupq_n_s32(spec_product_int_at(at)));
}

/* Two products of signed bytes fit into 16 bits, 2 * 128 * 127. Each lane of `half` holds two of
 * the four columns of a row. */
INLINE void dots_q8_0(int32x4_t dot[][AT_ONCE], const unsigned char *w, const unsigned char *x,
                      const int n)
{
    const uint8x16_t top = vdupq_n_u8(0x80);
    int32x4_t half[BLOCKS][AT_ONCE][2];
    SPEC_UNROLL
    for (int u = 0; u < n; u++)
        for (int i = 0; i < AT_ONCE; i++) half[u][i][0] = half[u][i][1] = vdupq_n_s32(0);
    KEEP_LOOP
    for (int j = 0; j < SPEC_TENSOR_BLOCK; j += 8, w += 2 * GROUP) {
        int8x16_t v[BLOCKS][2];
        SPEC_UNROLL
        for (int u = 0; u < n; u++) {
            v[u][0] = four_of(x + SPEC_TENSOR_BLOCK * u + j);
            v[u][1] = four_of(x + SPEC_TENSOR_BLOCK * u + j + 4);
        }
        SPEC_UNROLL
        for (int i = 0; i < QUADS; i++) {
            const int8x16_t a = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(w + VECTOR * i), top));
            const int8x16_t b =
                vreinterpretq_s8_u8(veorq_u8(vld1q_u8(w + GROUP + VECTOR * i), top));
            SPEC_UNROLL
            for (int u = 0; u < n; u++) {
                int16x8_t low = vmull_s8(vget_low_s8(a), vget_low_s8(v[u][0]));
                int16x8_t high = vmull_high_s8(a, v[u][0]);
                low = vmlal_s8(low, vget_low_s8(b), vget_low_s8(v[u][1]));
                high = vmlal_high_s8(high, b, v[u][1]);
                half[u][i][0] = vpadalq_s16(half[u][i][0], low);
                half[u][i][1] = vpadalq_s16(half[u][i][1], high);
            }
        }
    }
    SPEC_UNROLL
    for (int u = 0; u < n; u++)
        for (int i = 0; i < AT_ONCE; i++) dot[u][i] = vpaddq_s32(half[u][i][0], half[u][i][1]);
}

/* Does the same for weights 0..15, from which 8 is subtracted: 16 bits hold a lane's eight
 * products, 8 * 15 * 127. */
INLINE void dots_q4_0(int32x4_t dot[][AT_ONCE], const unsigned char *w, const unsigned char *x,
                      const unsigned char *start, const int n)
{
    const uint8x16_t nibble = vdupq_n_u8(15);
    int16x8_t part[BLOCKS][AT_ONCE][2];
    SPEC_UNROLL
    for (int u = 0; u < n; u++)
        for (int i = 0; i < AT_ONCE; i++) part[u][i][0] = part[u][i][1] = vdupq_n_s16(0);
    KEEP_LOOP
    for (int j = 0; j < SPEC_TENSOR_BLOCK / 2; j += 4, w += GROUP) {
        int8x16_t v[BLOCKS][2];
        SPEC_UNROLL
        for (int u = 0; u < n; u++) {
            v[u][0] = four_of(x + SPEC_TENSOR_BLOCK * u + j);
            v[u][1] = four_of(x + SPEC_TENSOR_BLOCK * u + j + SPEC_TENSOR_BLOCK / 2);
        }
        SPEC_UNROLL
        for (int i = 0; i < QUADS; i++) {
            const uint8x16_t pair = vld1q_u8(w + VECTOR * i);
            const int8x16_t a = vreinterpretq_s8_u8(vandq_u8(pair, nibble)),
                            b = vreinterpretq_s8_u8(vshrq_n_u8(pair, 4));
            SPEC_UNROLL
            for (int u = 0; u < n; u++) {
                int16x8_t low = part[u][i][0], high = part[u][i][1];
                low = vmlal_s8(low, vget_low_s8(a), vget_low_s8(v[u][0]));
                high = vmlal_high_s8(high, a, v[u][0]);
                part[u][i][0] = vmlal_s8(low, vget_low_s8(b), vget_low_s8(v[u][1]));
                part[u][i][1] = vmlal_high_s8(high, b, v[u][1]);
            }
        }
    }
    SPEC_UNROLL
    for (int u = 0; u < n; u++) {
        const int32x4_t from = vdupq_n_s32(spec_product_int_at(start + 4 * u));
        for (int i = 0; i < QUADS; i++)
            dot[u][i] = vaddq_s32(
                from, vpaddq_s32(vpaddlq_s16(part[u][i][0]), vpaddlq_s16(part[u][i][1])));
    }
}

void spec_product_q8_0_neon(const spec_product_task *task) { all_blocks(task, SPEC_TENSOR_Q8_0); }
void spec_product_q4_0_neon(const spec_product_task *task) { all_blocks(task, SPEC_TENSOR_Q4_0); }
#else
typedef int spec_product_neon_is_empty; /* ISO C requires a declaration */
#endif
