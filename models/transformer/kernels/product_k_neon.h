/* SPDX-License-Identifier: GPL-3.0-or-later */
/* product_k_neon: products with K-quants on NEON, with and without dot products of bytes.
 * The including file sets COLUMNS, the most columns per pass, and defines add_dots. For
 * product_k_neon.c and product_k_dotprod.c only. */
#ifndef SPECLAB_PRODUCT_K_NEON_H
#define SPECLAB_PRODUCT_K_NEON_H

#include "models/transformer/kernels/product_k_parts.h"
#include "models/transformer/kernels/product_neon.h"

/* Adds to dot[u] the products of groups first..end-1 of four rows' weights with n columns (n, 32).
 * No lane exceeds 16 bits: 8 * 31 * 127 or 4 * 63 * 127. */
INLINE void add_dots(int32x4_t dot[COLUMNS], const int8x16_t w[GROUPS], const unsigned char *x,
                     const int first, const int end, const int n);

INLINE float32x4_t floats_of(uint16x4_t half)
{
    return vcvt_f32_f16(vreinterpret_f16_u16(half));
}

INLINE uint32x4_t words_at(const unsigned char *at)
{
    return vreinterpretq_u32_u8(vld1q_u8(at));
}

/* ---- Q4_K and Q5_K --------------------------------------------------------------------------- */

/* Converts bytes 0..3 of each word, which are integers of four runs, to floats times `unit`. */
INLINE void spread(float (*scale)[SPEC_PANEL_ROWS], int at, uint8x16_t bytes, float32x4_t unit)
{
    const uint32x4_t words = vreinterpretq_u32_u8(bytes), byte = vdupq_n_u32(255);
    vst1q_f32(scale[0] + at, vmulq_f32(vcvtq_f32_u32(vandq_u32(words, byte)), unit));
    vst1q_f32(scale[1] + at,
              vmulq_f32(vcvtq_f32_u32(vandq_u32(vshrq_n_u32(words, 8), byte)), unit));
    vst1q_f32(scale[2] + at,
              vmulq_f32(vcvtq_f32_u32(vandq_u32(vshrq_n_u32(words, 16), byte)), unit));
    vst1q_f32(scale[3] + at, vmulq_f32(vcvtq_f32_u32(vshrq_n_u32(words, 24)), unit));
}

/* The words are two F16 scales, then 12 bytes with 8 steps and 8 minima of 6 bits: those of runs
 * 0..3 are in the low bits of bytes 0..7, those of runs 4..7 in bytes 8..11 and in the high bits of
 * the other bytes. */
INLINE void read_scales(run_scales *ret, const unsigned char *block)
{
    const uint8x16_t six = vdupq_n_u8(63), low = vdupq_n_u8(15), top = vdupq_n_u8(48);
    for (int at = 0; at < SPEC_PANEL_ROWS; at += 4, block += VECTOR) {
        const uint32x4_t units = words_at(block);
        const uint8x16_t low_steps = vld1q_u8(block + WORD), low_below = vld1q_u8(block + 2 * WORD),
                         rest = vld1q_u8(block + 3 * WORD);
        const float32x4_t unit = floats_of(vmovn_u32(units)),
                          unit_below = floats_of(vshrn_n_u32(units, 16));
        spread(ret->step, at, vandq_u8(low_steps, six), unit);
        spread(ret->below, at, vandq_u8(low_below, six), unit_below);
        spread(ret->step + RUNS / 2, at,
               vorrq_u8(vandq_u8(rest, low), vandq_u8(vshrq_n_u8(low_steps, 2), top)), unit);
        spread(ret->below + RUNS / 2, at,
               vorrq_u8(vshrq_n_u8(rest, 4), vandq_u8(vshrq_n_u8(low_below, 2), top)), unit_below);
    }
}

/* Adds a run for n columns. */
INLINE void add_run(float32x4_t sum[COLUMNS][QUADS], const unsigned char *low,
                    const unsigned char *opt_fifth, int run, const bool odd,
                    const run_scales *scales, place at, const int n)
{
    const unsigned char *const x = at.x + BLOCK * at.c, *const x_scale =
                                                            at.x + BLOCK * at.N + 4 * at.c;
    const uint8x16_t nibble = vdupq_n_u8(15), sixteen = vdupq_n_u8(16);
    const int8x16_t to_fourth = vdupq_n_s8((int8_t)(4 - run));
    SPEC_UNROLL
    for (int q = 0; q < QUADS; q++) {
        int8x16_t w[GROUPS];
        int32x4_t dot[COLUMNS];
        SPEC_UNROLL
        for (int j = 0; j < GROUPS; j++) {
            const uint8x16_t pair = vld1q_u8(low + WORD * j + VECTOR * q);
            uint8x16_t weight = odd ? vshrq_n_u8(pair, 4) : vandq_u8(pair, nibble);
            if (opt_fifth != NULL) {
                const uint8x16_t bits = vld1q_u8(opt_fifth + WORD * j + VECTOR * q);
                weight = vorrq_u8(weight, vandq_u8(vshlq_u8(bits, to_fourth), sixteen));
            }
            w[j] = vreinterpretq_s8_u8(weight);
        }
        SPEC_UNROLL
        for (int u = 0; u < n; u++) dot[u] = vdupq_n_s32(0);
        add_dots(dot, w, x, 0, GROUPS, n);
        const float32x4_t step = vld1q_f32(scales->step[run] + 4 * q),
                          below = vld1q_f32(scales->below[run] + 4 * q);
        SPEC_UNROLL
        for (int u = 0; u < n; u++) {
            sum[u][q] = vfmaq_f32(sum[u][q], vcvtq_f32_s32(dot[u]),
                                  vmulq_n_f32(step, spec_product_float_at(x_scale + 4 * u)));
            sum[u][q] = vfmsq_f32(sum[u][q], below,
                                  vdupq_n_f32(spec_product_float_at(x_scale + 4 * at.N + 4 * u)));
        }
    }
}

INLINE void with_minimum(const spec_product_task *task, const unsigned char *block, int r, int c,
                         const bool fifth, const int n)
{
    const int N = task->N, bytes = fifth ? SPEC_PRODUCT_Q5_K : SPEC_PRODUCT_Q4_K;
    const unsigned char *x = task->x;
    float32x4_t sum[COLUMNS][QUADS];
    SPEC_UNROLL
    for (int u = 0; u < n; u++)
        for (int i = 0; i < QUADS; i++) sum[u][i] = vdupq_n_f32(0.0f);
    for (int k = 0; k < task->cols; k += SPEC_PRODUCT_SUPER, block += bytes) {
        const unsigned char *const opt_fifth = fifth ? block + 4 * WORD : NULL;
        const unsigned char *low = block + (fifth ? 12 : 4) * WORD;
        run_scales scales;
        read_scales(&scales, block);
        for (int run = 0; run < RUNS; run += 2, low += PART) {
            if (c == 0) spec_product_fetch_step(task, block, bytes, run / 2, RUNS / 2);
            add_run(sum, low, opt_fifth, run, false, &scales, (place){x, N, c}, n);
            x += SPEC_PRODUCT_X * N;
            add_run(sum, low, opt_fifth, run + 1, true, &scales, (place){x, N, c}, n);
            x += SPEC_PRODUCT_X * N;
        }
    }
    SPEC_UNROLL
    for (int u = 0; u < n; u++) put(task, c + u, r, sum[u]);
}

/* ---- Q6_K ------------------------------------------------------------------------------------ */

/* Returns signed byte i of each word, as a float. */
INLINE float32x4_t byte_of(uint32x4_t words, const int i)
{
    const int32x4_t shift = vdupq_n_s32(24 - 8 * i);
    return vcvtq_f32_s32(vshrq_n_s32(vshlq_s32(vreinterpretq_s32_u32(words), shift), 24));
}

/* Adds quarter `q` of a half of the block. Sums of at most 2^24 are exact in float, and so are both
 * operations before the last two. */
INLINE void add_quarter(float32x4_t sum[COLUMNS][QUADS], half_block w_at, const int q, place at,
                        const int n)
{
    const unsigned char *const low = w_at.low + PART * (q % 2), *const high = w_at.high,
                               *const steps = w_at.steps + WORD * (q / 2);
    const unsigned char *const x = at.x + BLOCK * at.c, *const x_scale =
                                                            at.x + BLOCK * at.N + 4 * at.c;
    const uint8x16_t nibble = vdupq_n_u8(15), pair = vdupq_n_u8(48);
    const int8x16_t to_fourth = vdupq_n_s8((int8_t)(4 - 2 * q));
    SPEC_UNROLL
    for (int i = 0; i < QUADS; i++) {
        int8x16_t w[GROUPS];
        float32x4_t total[COLUMNS];
        SPEC_UNROLL
        for (int j = 0; j < GROUPS; j++) {
            const uint8x16_t bytes = vld1q_u8(low + WORD * j + VECTOR * i);
            const uint8x16_t upper = vshlq_u8(vld1q_u8(high + WORD * j + VECTOR * i), to_fourth);
            w[j] = vreinterpretq_s8_u8(vorrq_u8(
                q < 2 ? vandq_u8(bytes, nibble) : vshrq_n_u8(bytes, 4), vandq_u8(upper, pair)));
        }
        const uint32x4_t words = words_at(steps + VECTOR * i);
        const float32x4_t scale =
            floats_of(vreinterpret_u16_u8(vld1_u8(w_at.scales + VECTOR / 2 * i)));
        SPEC_UNROLL
        for (int side = 0; side < 2; side++) {
            const float32x4_t step = byte_of(words, 2 * (q % 2) + side);
            int32x4_t dot[COLUMNS];
            SPEC_UNROLL
            for (int u = 0; u < n; u++)
                dot[u] = vdupq_n_s32(spec_product_int_at(x_scale + 4 * (1 + side) * at.N + 4 * u));
            add_dots(dot, w, x, GROUPS / 2 * side, GROUPS / 2 * (side + 1), n);
            SPEC_UNROLL
            for (int u = 0; u < n; u++) {
                const float32x4_t part = vcvtq_f32_s32(dot[u]);
                total[u] = side == 0 ? vmulq_f32(part, step) : vfmaq_f32(total[u], part, step);
            }
        }
        SPEC_UNROLL
        for (int u = 0; u < n; u++) {
            const float of_x = spec_product_float_at(x_scale + 4 * u);
            sum[u][i] = vfmaq_f32(sum[u][i], total[u], vmulq_n_f32(scale, of_x));
        }
    }
}

INLINE void q6_k(const spec_product_task *task, const unsigned char *block, int r, int c,
                 const int n)
{
    const int N = task->N;
    const unsigned char *x = task->x;
    float32x4_t sum[COLUMNS][QUADS];
    SPEC_UNROLL
    for (int u = 0; u < n; u++)
        for (int i = 0; i < QUADS; i++) sum[u][i] = vdupq_n_f32(0.0f);
    for (int k = 0; k < task->cols; k += SPEC_PRODUCT_SUPER, block += SPEC_PRODUCT_Q6_K) {
        const unsigned char *low = block + SPEC_PRODUCT_SCALES, *high = low + 4 * PART,
                            *steps = high + 2 * PART;
        for (int half = 0; half < 2; half++) {
            SPEC_UNROLL
            for (int q = 0; q < 4; q++) {
                if (c == 0)
                    spec_product_fetch_step(task, block, SPEC_PRODUCT_Q6_K, 4 * half + q, RUNS);
                add_quarter(sum, (half_block){low, high, steps, block}, q, (place){x, N, c}, n);
                x += SPEC_PRODUCT_X_HALVES * N;
            }
            low += 2 * PART, high += PART, steps += 2 * WORD;
        }
    }
    SPEC_UNROLL
    for (int u = 0; u < n; u++) put(task, c + u, r, sum[u]);
}

/* ---- all columns ----------------------------------------------------------------------------- */

INLINE void panel_columns(const spec_product_task *task, const unsigned char *panel, int r, int c,
                          const spec_tensor_type type, const int n)
{
    if (type == SPEC_TENSOR_Q6_K)
        q6_k(task, panel, r, c, n);
    else
        with_minimum(task, panel, r, c, type == SPEC_TENSOR_Q5_K, n);
}

INLINE void all_columns(const spec_product_task *task, const spec_tensor_type type)
{
    const unsigned char *panel = task->panel;
    for (int r = 0; r < task->R; r += SPEC_PANEL_ROWS, panel += task->bytes) {
        for (int c = 0, n; c < task->N; c += n) {
            n = share(task->N - c, COLUMNS);
            switch (n) {
            case 1: panel_columns(task, panel, r, c, type, 1); break;
            case 2: panel_columns(task, panel, r, c, type, 2); break;
#if COLUMNS > 2
            case 3: panel_columns(task, panel, r, c, type, 3); break;
            case 4: panel_columns(task, panel, r, c, type, 4); break;
#endif
            }
        }
    }
}

#endif
