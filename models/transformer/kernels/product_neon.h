/* SPDX-License-Identifier: GPL-3.0-or-later */
/* product_neon: the code shared by the products of NEON with and without dot products of bytes.
 * For Q8_0 and Q4_0 the including file sets BLOCKS, the most columns per pass, and AT_ONCE. AT_ONCE
 * is the number of vectors of four rows whose dot products dots_q8_0 and dots_q4_0 compute at once.
 * For product*_neon.c and product*_dotprod.c only. */
#ifndef SPECLAB_PRODUCT_NEON_H
#define SPECLAB_PRODUCT_NEON_H

#include "models/transformer/kernels/product_kernels.h"

#include <arm_neon.h>

enum {
    QUADS = SPEC_PANEL_ROWS / 4, /* vectors of four rows */
    VECTOR = 16,                 /* bytes: four columns of four rows */
    GROUP = VECTOR * QUADS       /* bytes: four columns of a panel's rows */
};

#define INLINE static inline __attribute__((always_inline))

/* Adds the sums of a panel's rows for column u, from row r on, to y. */
INLINE void put(const spec_product_task *task, int u, int r, float32x4_t sum[QUADS])
{
    if (task->R - r < SPEC_PANEL_ROWS) {
        float row[SPEC_PANEL_ROWS];
        for (int i = 0; i < QUADS; i++) vst1q_f32(row + 4 * i, sum[i]);
        spec_product_put(task, u, r, row);
        return;
    }
    float *const y = task->y + (size_t)u * task->stride + r;
    SPEC_UNROLL
    for (int i = 0; i < QUADS; i++) {
        float32x4_t value = sum[i];
        if (task->opt_bias != NULL)
            value = vaddq_f32(value, vld1q_f32(task->opt_bias + r + 4 * i));
        if (task->add) value = vaddq_f32(vld1q_f32(y + 4 * i), value);
        vst1q_f32(y + 4 * i, value);
    }
}

/* Returns how many of `left` columns the next pass takes, at most `most`, in even shares. */
INLINE int share(int left, int most)
{
    const int passes = (left + most - 1) / most;
    return (left + passes - 1) / passes;
}

INLINE void load_halves(float32x4_t value[QUADS], const unsigned char *at)
{
    SPEC_UNROLL
    for (int i = 0; i < QUADS; i += 2) {
        const float16x8_t halves = vreinterpretq_f16_u8(vld1q_u8(at + VECTOR / 2 * i));
        value[i] = vcvt_f32_f16(vget_low_f16(halves));
        value[i + 1] = vcvt_high_f32_f16(halves);
    }
}

#ifdef AT_ONCE
/* Compute exact dot products of 4 AT_ONCE rows of a block with columns x[0..n-1]: w is the first
 * row's bytes in the block's first group; x (n, 32); with unsigned weights, sums begin at start
 * (n). */
INLINE void dots_q8_0(int32x4_t dot[][AT_ONCE], const unsigned char *w, const unsigned char *x,
                      const int n);
INLINE void dots_q4_0(int32x4_t dot[][AT_ONCE], const unsigned char *w, const unsigned char *x,
                      const unsigned char *start, const int n);

/* Computes columns c..c+n-1 of a panel whose first row is r. */
INLINE void blocks(const spec_product_task *task, const unsigned char *w, int r, int c,
                   spec_tensor_type type, const int n)
{
    const int bytes = type == SPEC_TENSOR_Q8_0 ? SPEC_PRODUCT_Q8_0 : SPEC_PRODUCT_Q4_0, N = task->N;
    const unsigned char *x = task->x;
    float32x4_t sum[BLOCKS][QUADS];
    SPEC_UNROLL
    for (int u = 0; u < n; u++)
        for (int i = 0; i < QUADS; i++) sum[u][i] = vdupq_n_f32(0.0f);
    for (int k = 0; k < task->cols; k += SPEC_TENSOR_BLOCK, w += bytes, x += SPEC_PRODUCT_X * N) {
        const unsigned char *const x_scale = x + SPEC_TENSOR_BLOCK * N + 4 * c, *const start =
                                                                                    x_scale + 4 * N;
        if (c == 0) spec_product_fetch(task, w, bytes);
        float32x4_t scale[QUADS];
        load_halves(scale, w);
        SPEC_UNROLL
        for (int q = 0; q < QUADS; q += AT_ONCE) {
            const unsigned char *const rows = w + SPEC_PRODUCT_SCALES + VECTOR * q;
            int32x4_t dot[BLOCKS][AT_ONCE];
            if (type == SPEC_TENSOR_Q8_0) dots_q8_0(dot, rows, x + SPEC_TENSOR_BLOCK * c, n);
            else dots_q4_0(dot, rows, x + SPEC_TENSOR_BLOCK * c, start, n);
            SPEC_UNROLL
            for (int u = 0; u < n; u++) {
                const float of_x = spec_product_float_at(x_scale + 4 * u);
                SPEC_UNROLL
                for (int i = 0; i < AT_ONCE; i++)
                    sum[u][q + i] = vfmaq_f32(sum[u][q + i], vcvtq_f32_s32(dot[u][i]),
                                              vmulq_n_f32(scale[q + i], of_x));
            }
        }
    }
    SPEC_UNROLL
    for (int u = 0; u < n; u++) put(task, c + u, r, sum[u]);
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
#if BLOCKS > 2
            case 3: blocks(task, panel, r, c, type, 3); break;
            case 4: blocks(task, panel, r, c, type, 4); break;
#endif
            }
        }
    }
}

#endif
#endif
