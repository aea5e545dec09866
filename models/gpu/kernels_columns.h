/* kernels_columns: what is done column by column, and what is read out of logits.
 * What a column comes to depends on it and on its width alone: a column is one block's, or each of its values one
 * lane's; sums run in an order that the width says. Logits are read in pieces of LOGITS_PIECE, a warp each. */
#ifndef SPECLAB_KERNELS_COLUMNS_H
#define SPECLAB_KERNELS_COLUMNS_H

#include "models/gpu/pass_batch.h"

enum {
    NORM_NARROW = 512,       /* columns up to this width are one warp's */
    GATE_THREADS = 128,
    LOGITS_THREADS = 128,
    LOGITS_PIECE = 512
};

/* Block u: column u; `wanted`: of x's columns, those from batch->first on. norm_narrow is the same by one warp, for
 * dim <= NORM_NARROW. */
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

/* Block (x, u): columns u, OPERAND_WARP values for each warp. */
struct gate_args {
    void *y;
    const float *h; /* (n, 2 ffn) */
    int ffn;
    operand_format format;
    const pass_batch *batch;
};

/* The largest of a piece of logits and where it stands first; -1 where one of the piece is not finite. */
typedef struct {
    float value;
    int32_t index;
} logits_largest;

/* The sum of a piece's exponentials, and what rounding left out of it. */
typedef struct {
    double value, rest;
} logits_sum;

/* Block (x, u): pieces of row u of logits (n, vocab), a warp each. `largest` and `sum` are (n, pieces). */
struct largest_args {
    logits_largest *largest;
    const float *logits;
    int vocab;
};

/* Block u: the largest of row u. */
struct argmax_args {
    int32_t *token; /* (n) */
    const logits_largest *largest;
    int pieces;
};

/* row = exp((logits - largest) * factor), and the sums of the pieces; ret_bad[u] for each row. */
struct row_exps_args {
    double *row; /* (n, vocab) */
    logits_sum *sum;
    int32_t *bad; /* (n) */
    const float *logits;
    const logits_largest *largest;
    int vocab;
    double factor;
};

/* row /= its sum. */
struct row_scale_args {
    double *row;
    const logits_sum *sum;
    int vocab;
};

#define SPEC_KERNELS_COLUMNS(X)                                                                                        \
    X(columns, norm, 512) X(columns, norm_narrow, 32) X(columns, gate, 128) X(columns, largest, 128)                   \
        X(columns, argmax, 32) X(columns, row_exps, 128) X(columns, row_scale, 128)

#endif
