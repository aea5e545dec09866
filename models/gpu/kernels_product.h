/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kernels_product: matrix products and embedding lookups; layouts are in layout.h and tile.h.
 * docs/gpu.md#kernels gives their memory traffic, loads in flight and limits; `make gpu-report`
 * prints their registers. */
#ifndef SPECLAB_KERNELS_PRODUCT_H
#define SPECLAB_KERNELS_PRODUCT_H

#include "models/gpu/pass_batch.h"

enum {
    PRODUCT_WARPS = 8,
    PRODUCT_PARTS = 8,
    PRODUCT_SLICES = 4 /* most parts of a sum, and most blocks that share rows */
};

/* y (columns, rows) = w x (+ bias) (+ y). The sum over the columns of w is split into `parts` parts
 * (1, 2, 4, 8): part p takes groups p, p + parts, ... of tile.h, one warp each, and a binary tree
 * adds the parts. A block has block_parts of them, which BLOCK_Y selects. Blocks that share rows
 * write `partial` (parts / block_parts, PASS_COLUMNS, rows rounded up to 16), and the last one adds
 * them. `count` (a number per BLOCK_X, 0 between launches) shows which is last.
 *
 * gated: w has the rows of gate and up (tile.h), and y is silu(gate x) * up x, written as an
 * operand of `format`. */
struct product_args {
    void *y; /* floats, or an operand */
    const unsigned char *w;
    const void *x;
    const float *bias; /* or NULL */
    const pass_batch *batch;
    float *partial;
    uint32_t *count;
    int32_t rows, cols, parts, block_parts;
    int32_t add, wanted, gated; /* 0 or 1 */
    operand_format format;
};

/* Same values as spec_tensor_type. */
enum { PRODUCT_F32, PRODUCT_F16, PRODUCT_BF16, PRODUCT_Q8_0, PRODUCT_Q4_0 };

struct embed_args {
    float *x; /* (n, cols) */
    const unsigned char *table;
    const pass_batch *batch;
    int32_t cols, type;
};

/* A kernel for each type and for 8, 16, 32 and 64 columns, in tiles of eight. */
#define SPEC_KERNELS_PRODUCT_OF(X, type)                                                           \
    X(product, product_##type##_1, 256)                                                            \
    X(product, product_##type##_2, 256)                                                            \
    X(product, product_##type##_4, 256)                                                            \
    X(product, product_##type##_8, 256)
#define SPEC_KERNELS_PRODUCT_TYPES(X)                                                              \
    SPEC_KERNELS_PRODUCT_OF(X, f32)                                                                \
    SPEC_KERNELS_PRODUCT_OF(X, f16)                                                                \
    SPEC_KERNELS_PRODUCT_OF(X, bf16)                                                               \
    SPEC_KERNELS_PRODUCT_OF(X, q8_0)                                                               \
    SPEC_KERNELS_PRODUCT_OF(X, q4_0)
#define SPEC_KERNELS_PRODUCT(X) SPEC_KERNELS_PRODUCT_TYPES(X) X(product, embed, 256)

#define SPEC_PRODUCT_ARGS(theme, name, threads)                                                    \
    struct name##_args {                                                                           \
        struct product_args product;                                                               \
    };
SPEC_KERNELS_PRODUCT_TYPES(SPEC_PRODUCT_ARGS)
#undef SPEC_PRODUCT_ARGS

#endif
