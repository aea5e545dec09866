/* SPDX-License-Identifier: GPL-3.0-or-later */
/* product_kernels: the functions that multiply some panels with at most 16 columns.
 * Internal to models/transformer/kernels/product*. Columns are laid out for the kernels. Floats:
 * (cols, n). Quantised: for each block of 32 the columns' 32 bytes (n, 32), their scales (n), and a
 * number computed from the sum of their bytes, which is needed because weights are unsigned. Q8_0,
 * Q4_0: -128 or -8 times the sum (n, int32), where dot products start. Q6_K: -32 times the sum of
 * the first and of the last 16 bytes, (n) and (n). Q4_K, Q5_K: the scale times the sum (n,
 * float). */
#ifndef SPECLAB_PRODUCT_KERNELS_H
#define SPECLAB_PRODUCT_KERNELS_H

#include "models/transformer/kernels/product.h"

#include <math.h>
#include <string.h>

enum {
    SPEC_PRODUCT_COLUMNS = 16,
    SPEC_PRODUCT_AHEAD = 8192, /* bytes */
    SPEC_PRODUCT_NEAR = 6144,  /* bytes */
    SPEC_PRODUCT_LINE = 64,
    SPEC_PRODUCT_SCALES = SPEC_PANEL_ROWS * 2, /* bytes of a block's scales */
    SPEC_PRODUCT_Q8_0 =
        SPEC_PRODUCT_SCALES + SPEC_PANEL_ROWS * SPEC_TENSOR_BLOCK, /* bytes of a block in a panel */
    SPEC_PRODUCT_Q4_0 = SPEC_PRODUCT_SCALES + SPEC_PANEL_ROWS * SPEC_TENSOR_BLOCK / 2,
    SPEC_PRODUCT_X = SPEC_TENSOR_BLOCK + (int)sizeof(float) +
                     (int)sizeof(int32_t), /* bytes of a block of a column */
    SPEC_PRODUCT_X_HALVES = SPEC_PRODUCT_X + (int)sizeof(int32_t), /* the same in Q6_K */

    /* Blocks of 256: words of a row; SPEC_PRODUCT_WORD bytes hold one word of each row. */
    SPEC_PRODUCT_SUPER = 256,
    SPEC_PRODUCT_RUNS = SPEC_PRODUCT_SUPER / SPEC_TENSOR_BLOCK,
    SPEC_PRODUCT_WORD = SPEC_PANEL_ROWS * 4,
    SPEC_PRODUCT_Q4_K = SPEC_PANEL_ROWS * 144,
    SPEC_PRODUCT_Q5_K = SPEC_PANEL_ROWS * 176,
    SPEC_PRODUCT_Q6_K = SPEC_PANEL_ROWS * 210
};

#define SPEC_PRODUCT_LEAST 0x1p-100f /* blocks with all |x| below this are zeros */

/* Letters: N columns, R rows from the first panel on (the last panel may be short), u a column, r a
 * row.
 *   y      y[u * stride + r]
 *   panel  the first of the panels, bytes each
 *   x      N columns, in the layout above
 *   bias   (R), or NULL */
typedef struct {
    float *y;
    size_t stride;
    const unsigned char *panel;
    size_t bytes;
    const unsigned char *x;
    int cols, R, N;
    const float *opt_bias;
    bool add;

    /* If several tasks read the same weights one after the other, task `phase` of `phases`
     * prefetches its share of the lines `ahead` bytes further on. */
    int phase, phases;
    size_t ahead;
} spec_product_task;

typedef void spec_product_panels(const spec_product_task *task);

/* Fills blocks of column u of N, from `block` on, from x (n_blocks, 32), for weights of a type. */
typedef void spec_product_quantise(unsigned char *block, int u, int N, const float *x, int n_blocks,
                                   spec_tensor_type type);

struct spec_product_kernels {
    spec_product_panels *product[SPEC_TENSOR_TYPES];
    spec_product_quantise *quantise;
};

spec_product_panels spec_product_f32_ref, spec_product_f16_ref, spec_product_bf16_ref,
    spec_product_q8_0_ref, spec_product_q4_0_ref, spec_product_q4_k_ref, spec_product_q5_k_ref,
    spec_product_q6_k_ref;
spec_product_panels spec_product_f32_avx2, spec_product_f16_avx2, spec_product_bf16_avx2,
    spec_product_q8_0_avx2, spec_product_q4_0_avx2, spec_product_q4_k_avx2, spec_product_q5_k_avx2,
    spec_product_q6_k_avx2;
spec_product_panels spec_product_f32_avx512, spec_product_f16_avx512, spec_product_bf16_avx512;
spec_product_panels spec_product_q8_0_vnni, spec_product_q4_0_vnni, spec_product_q4_k_vnni,
    spec_product_q5_k_vnni, spec_product_q6_k_vnni;
spec_product_panels spec_product_f32_neon, spec_product_f16_neon, spec_product_bf16_neon,
    spec_product_q8_0_neon, spec_product_q4_0_neon, spec_product_q4_k_neon, spec_product_q5_k_neon,
    spec_product_q6_k_neon;
spec_product_panels spec_product_q8_0_dotprod, spec_product_q4_0_dotprod, spec_product_q4_k_dotprod,
    spec_product_q5_k_dotprod, spec_product_q6_k_dotprod;
spec_product_quantise spec_product_quantise_ref, spec_product_quantise_avx2,
    spec_product_quantise_avx512;

static inline float spec_product_float_at(const unsigned char *at)
{
    float value;
    memcpy(&value, at, sizeof value);
    return value;
}

static inline int32_t spec_product_int_at(const unsigned char *at)
{
    int32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* The quantisation step of a block, from the bits of its largest magnitude. The bits of magnitudes
 * have the order finite, infinite, NaN. */
typedef struct {
    float scale, inverse; /* inverse 0: all bytes are 0 */
} spec_product_step;

static inline spec_product_step spec_product_step_of(uint32_t largest)
{
    float most;
    memcpy(&most, &largest, sizeof most);
    if (!isfinite(most)) return (spec_product_step){NAN, 0.0f};
    if (most < SPEC_PRODUCT_LEAST) return (spec_product_step){0.0f, 0.0f};
    return (spec_product_step){most / 127.0f, 127.0f / most};
}

/* Returns the bytes of a column's block. */
static inline int spec_product_x_bytes(spec_tensor_type type)
{
    return type == SPEC_TENSOR_Q6_K ? SPEC_PRODUCT_X_HALVES : SPEC_PRODUCT_X;
}

/* Writes a column's scale, and the numbers that depend on the sums of its first and last 16
 * bytes. */
static inline void spec_product_put_step(unsigned char *block, int u, int N, spec_tensor_type type,
                                         float scale, int32_t low, int32_t high)
{
    unsigned char *const at = block + SPEC_TENSOR_BLOCK * N + 4 * u;
    memcpy(at, &scale, sizeof scale);
    int32_t start[2] = {(type == SPEC_TENSOR_Q8_0 ? -128 : -8) * (low + high), 0};
    switch (type) {
    case SPEC_TENSOR_Q4_K:
    case SPEC_TENSOR_Q5_K: {
        const float sum = scale * (float)(low + high);
        memcpy(start, &sum, sizeof sum);
        break;
    }
    case SPEC_TENSOR_Q6_K:
        start[0] = -32 * low;
        start[1] = -32 * high;
        memcpy(at + 8 * N, &start[1], sizeof start[1]);
        break;
    default: break;
    }
    memcpy(at + 4 * N, &start[0], sizeof start[0]);
}

/* Put this before a loop over columns that must be unrolled, because an array stays in registers
 * only if its indices are constants. */
#if defined(__clang__)
#define SPEC_UNROLL _Pragma("clang loop unroll(full)")
#else
#define SPEC_UNROLL _Pragma("GCC unroll 16")
#endif

/* Returns a task's share of the lines. Without this, the first of several tasks would wait for
 * memory, and then memory would be idle during the others. */
static inline void spec_product_fetch_share(const spec_product_task *task, const unsigned char *at,
                                            const int bytes)
{
    const uintptr_t ahead = (uintptr_t)at + task->ahead;
    for (int i = task->phase * SPEC_PRODUCT_LINE; i < bytes; i += task->phases * SPEC_PRODUCT_LINE)
        __builtin_prefetch((const void *)(ahead + (uintptr_t)i), 0, 2);
}

/* Prefetches the lines some kB beyond the `bytes` bytes at `at`. Panels are contiguous, and past
 * the last one a prefetch has no effect. */
static inline __attribute__((always_inline)) void spec_product_fetch(const spec_product_task *task,
                                                                     const unsigned char *at,
                                                                     const int bytes)
{
    const uintptr_t ahead = (uintptr_t)at + SPEC_PRODUCT_AHEAD;
    if (task->phases > 1) {
        spec_product_fetch_share(task, at, bytes);
        return;
    }
    SPEC_UNROLL
    for (int i = 0; i < bytes; i += SPEC_PRODUCT_LINE)
        __builtin_prefetch((const void *)(ahead + (uintptr_t)i), 0, 2);
}

/* Prefetches the lines a little beyond a block of `bytes` bytes, in order of address. This is one
 * of `steps` equal steps. Use it for blocks whose words are read in another order, because the
 * hardware prefetcher cannot follow that. */
static inline __attribute__((always_inline)) void spec_product_fetch_step(
    const spec_product_task *task, const unsigned char *block, int bytes, int step, int steps)
{
    bytes /= steps;
    const unsigned char *const at = block + bytes * step;
    const uintptr_t near = (uintptr_t)at + SPEC_PRODUCT_NEAR;
    if (task->phases > 1) {
        spec_product_fetch_share(task, at, bytes);
        return;
    }
    SPEC_UNROLL
    for (int i = 0; i < bytes; i += SPEC_PRODUCT_LINE)
        __builtin_prefetch((const void *)(near + (uintptr_t)i), 0, 2);
}

/* Calls body(a, N) with a constant N, so that the sums stay in registers. */
#define SPEC_PRODUCT_BY_COLUMNS(body, a)                                                           \
    switch (task->N) {                                                                             \
    case 1: body(a, 1); break;                                                                     \
    case 2: body(a, 2); break;                                                                     \
    case 3: body(a, 3); break;                                                                     \
    case 4: body(a, 4); break;                                                                     \
    case 5: body(a, 5); break;                                                                     \
    case 6: body(a, 6); break;                                                                     \
    case 7: body(a, 7); break;                                                                     \
    case 8: body(a, 8); break;                                                                     \
    case 9: body(a, 9); break;                                                                     \
    case 10: body(a, 10); break;                                                                   \
    case 11: body(a, 11); break;                                                                   \
    case 12: body(a, 12); break;                                                                   \
    case 13: body(a, 13); break;                                                                   \
    case 14: body(a, 14); break;                                                                   \
    case 15: body(a, 15); break;                                                                   \
    default: body(a, 16); break;                                                                   \
    }

/* Adds the sums of a panel's rows for one column, from row r on, to y. */
static inline void spec_product_put(const spec_product_task *task, int u, int r,
                                    const float sum[SPEC_PANEL_ROWS])
{
    float *restrict y = task->y + (size_t)u * task->stride + r;
    const int rows = task->R - r < SPEC_PANEL_ROWS ? task->R - r : SPEC_PANEL_ROWS;
    for (int i = 0; i < rows; i++) {
        const float value = task->opt_bias != NULL ? sum[i] + task->opt_bias[r + i] : sum[i];
        y[i] = task->add ? y[i] + value : value;
    }
}

#endif
