/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sgemm: multiplies float matrices for training, with the same bits on every machine.
 * For every instruction set, block size and matrix size, each element is summed in the same order:
 * c = fma(a_k, b_k, c) for k = 0, 1, .... So trained weights do not depend on the machine. One
 * thread computes a product; the work owns its buffers. */
#ifndef SPECLAB_SGEMM_H
#define SPECLAB_SGEMM_H

#include "base/cpu.h"
#include "models/train/real.h"

#include <stdbool.h>
#include <stddef.h>

/* Element (i, j) is at[i * row + j * col]: a transposed matrix swaps row and col. */
typedef struct {
    const spec_real *at;
    size_t row, col;
} spec_sgemm_matrix;

/* c = a b, or c += a b if `add` is set. a (m, k), b (k, n), c (m, n) with rows `stride` floats
 * apart; c overlaps neither a nor b. m, n, k >= 0; for k = 0 the product is zero. */
typedef struct {
    int m, n, k;
    spec_sgemm_matrix a, b;
    spec_real *c;
    size_t stride;
    bool add;
} spec_sgemm_product;

typedef struct spec_sgemm_kernel spec_sgemm_kernel; /* models/train/sgemm_kernels.h */

/* The workspace of one thread. */
typedef struct {
    const spec_sgemm_kernel *kernel;
    float *a, *b; /* packed blocks of the operands */
} spec_sgemm;

int spec_sgemm_init(spec_sgemm *work, spec_isa isa, spec_error *error);
void spec_sgemm_free(spec_sgemm *work); /* may be zeroed */

void spec_sgemm_run(const spec_sgemm *work, const spec_sgemm_product *product);

#endif
