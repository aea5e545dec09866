/* kernels_columns: what is done column by column, and what is read out of logits.
 * What a column comes to depends on it and on its width alone: a column is one block's, or each of its values one
 * lane's; sums run in an order that the width says. Logits are read in pieces of LOGITS_PIECE, a warp each. */
#ifndef SPECLAB_KERNELS_COLUMNS_H
#define SPECLAB_KERNELS_COLUMNS_H

#include "models/gpu/kernels_sampling.h"
#include "models/gpu/pass_batch.h"

enum {
    NORM_NARROW = 512,       /* columns up to this width are one warp's */
    GATE_THREADS = 128,
    LOGITS_THREADS = 128,
    LOGITS_PIECE = SAMPLING_PIECE
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

/* Block (x, u): pieces of row u of logits (n, vocab), a warp each. `largest` and `sum` are (n, pieces). */
struct largest_args {
    sampling_largest *largest;
    const float *logits;
    int vocab;
};

/* Block u: the largest of row u. */
struct argmax_args {
    int32_t *token; /* (n) */
    const sampling_largest *largest;
    int pieces;
};

/* row = exp((logits - largest) * factor), and the sums of the pieces; ret_bad[u] for each row. Then row /= its sum.
 * Bits as on the host: its exponential, its order of sums (models/transformer/engine/logits.c). */
struct row_exps_args {
    double *row; /* (n, vocab) */
    double *sum;
    int32_t *bad; /* (n) */
    const float *logits;
    const sampling_largest *largest;
    int vocab;
    double factor;
};

struct row_scale_args {
    double *row;
    const double *sum;
    int vocab;
};

#define SPEC_KERNELS_COLUMNS(X)                                                                                        \
    X(columns, norm, 512) X(columns, norm_narrow, 32) X(columns, gate, 128) X(columns, largest, 128)                   \
        X(columns, argmax, 32) X(columns, row_exps, 128) X(columns, row_scale, 128)

#endif
