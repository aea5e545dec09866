/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kernels_columns: norms, reductions of logits, and small uploads.
 * A column's result depends only on the column and its width: one block computes the column, and
 * the width fixes the order of its sums. A warp reads LOGITS_PIECE logits. */
#ifndef SPECLAB_KERNELS_COLUMNS_H
#define SPECLAB_KERNELS_COLUMNS_H

#include "models/gpu/kernels_sampling.h"
#include "models/gpu/pass_batch.h"

enum {
    NORM_NARROW = 512, /* wider columns need a whole block */
    LOGITS_THREADS = 128,
    LOGITS_PIECE = SAMPLING_PIECE,
    WRITE_WORDS = 1000 /* a launch takes at most 4 KB of arguments */
};

/* Block u computes column u. `wanted`: only the columns of x from batch->first on. norm_narrow does
 * the same with one warp, for dim <= NORM_NARROW. */
struct norm_args {
    void *y;
    const float *x, *gain; /* (n, dim), (dim) */
    int dim;
    float eps;
    int wanted;
    operand_format format;
    const pass_batch *batch;
};
struct norm_narrow_args {
    struct norm_args norm;
};

/* Block (x, u): pieces of row u of logits (n, vocab), one warp each. `largest` is (n, pieces). */
struct largest_args {
    sampling_largest *largest;
    const float *logits;
    int vocab;
};

/* Block u finds the argmax of row u. */
struct argmax_args {
    int32_t *token; /* (n) */
    const sampling_largest *largest;
    int pieces;
};

/* One block copies n words of its arguments: an upload that needs no copy and no pinned memory. */
struct write_args {
    uint32_t *to;
    int32_t n;
    uint32_t word[WRITE_WORDS];
};

#define SPEC_KERNELS_COLUMNS(X)                                                                    \
    X(columns, norm, 512)                                                                          \
    X(columns, norm_narrow, 32)                                                                    \
    X(columns, largest, 128) X(columns, argmax, 32) X(columns, write, 128)

#endif
