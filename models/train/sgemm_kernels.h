/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sgemm_kernels: the inner loops of models/train/sgemm.c, in a version for each instruction set.
 * Internal to models/train/sgemm*. A tile of the result stays in registers while k runs. */
#ifndef SPECLAB_SGEMM_KERNELS_H
#define SPECLAB_SGEMM_KERNELS_H

#include "models/train/sgemm.h"

/* The side of the blocks that `turn` transposes, and the largest tile. */
enum { SPEC_SGEMM_TURN = 16, SPEC_SGEMM_ROWS_MAX = 14, SPEC_SGEMM_COLS_MAX = 32 };

struct spec_sgemm_kernel {
    int rows, cols; /* of a tile; cols is a multiple of SPEC_SGEMM_TURN */

    /* c (rows, cols) = the product of a (k, rows) and b (k, cols), both packed; with `add` it is
     * added to c. */
    void (*tile)(float *c, size_t stride, const float *a, const float *b, int k, bool add);

    /* to[q * to_row + r] = from[r * from_row + q] for q < SPEC_SGEMM_TURN, r < n <=
     * SPEC_SGEMM_TURN. Reads and writes as if n were SPEC_SGEMM_TURN. */
    void (*turn)(float *to, size_t to_row, const float *from, size_t from_row, int n);
};

extern const spec_sgemm_kernel spec_sgemm_kernel_ref, spec_sgemm_kernel_avx2,
    spec_sgemm_kernel_avx512, spec_sgemm_kernel_neon;

#endif
