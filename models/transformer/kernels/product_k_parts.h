/* SPDX-License-Identifier: GPL-3.0-or-later */
/* product_k_parts: the code shared by the products of K-quants with 4 or 8 rows per vector.
 * For product_k_avx2.c and product_k_neon.h only. */
#ifndef SPECLAB_PRODUCT_K_PARTS_H
#define SPECLAB_PRODUCT_K_PARTS_H

#include "models/transformer/kernels/product_kernels.h"

enum {
    GROUPS = SPEC_TENSOR_BLOCK / 4, /* number of groups of four columns in a run of 32 */
    BLOCK = SPEC_TENSOR_BLOCK,
    RUNS = SPEC_PRODUCT_RUNS,
    WORD = SPEC_PRODUCT_WORD,
    PART = GROUPS * WORD /* 32 bytes of each row */
};

/* Columns from c on, of N, in a block of the operand. */
typedef struct {
    const unsigned char *x;
    int N, c;
} place;

/* A half of a block of Q6_K; the scales are those of the whole block. */
typedef struct {
    const unsigned char *low, *high, *steps, *scales;
} half_block;

/* The scales of a block of Q4_K or Q5_K, for each run and row; `below` is subtracted. */
typedef struct {
    float step[RUNS][SPEC_PANEL_ROWS], below[RUNS][SPEC_PANEL_ROWS];
} run_scales;

#endif
