/* SPDX-License-Identifier: GPL-3.0-or-later */
/* product: multiplies a packed matrix with up to SPEC_COLUMNS_MAX columns.
 * Each weight is read once per 16 columns. Results have the same bits on all instruction sets and
 * for any number of columns, because the order of operations is the same: one fused operation per
 * step, k = 0, 1, ..., from acc = 0,
 *     F32, F16, BF16:  acc = fma(w[k], x[k], acc)
 *     quantised:       acc = fma((float)dot, wscale * xscale, acc) per block of 32, where dot
 *     is the exact integer product with x rounded to 8 bits: xscale = max|x| / 127, to nearest,
 *     ties to even
 *     Q4_K, Q5_K:      the same, with the weights 0..31 and wscale = scale * s, then per block
 *                      acc = fma(-(scale_2 * m), xscale * (float)sum, acc), with sum over x
 *     Q6_K:            the same, with the integer weights s * (q - 32) and wscale = scale
 * then y = acc (+ bias), or y + acc (+ bias) if it is added. Threads share the rows by panels. */
#ifndef SPECLAB_PRODUCT_H
#define SPECLAB_PRODUCT_H

#include "base/cpu.h"
#include "models/transformer/kernels/panels.h"

/* The kernels of an instruction set. Look them up once and keep the pointer. */
typedef struct spec_product_kernels spec_product_kernels;
const spec_product_kernels *spec_product_kernels_of(spec_isa isa);

/* The operand of a product for n columns x (n, cols): floats, or blocks of 8 bits for quantised
 * weights. Threads can fill it in pieces of 32 of cols, at any alignment. _bytes suffices for
 * weights of every type. */
size_t spec_product_activation_bytes(int cols, int n);
int spec_product_activation_pieces(int cols);

/* Fills pieces first..end-1. In quantised form, a block whose largest magnitude is below 2^-100
 * becomes zeros, and a block with a non-finite value makes the column's results NaN. */
void spec_product_activation_fill(void *ret_activation, const spec_product_kernels *kernels,
                                  spec_tensor_type type, const float *x, int cols, int n, int first,
                                  int end);

/* y[u] (+)= w x[u] (+ bias) for n columns. */
typedef struct {
    float *y; /* (n, rows) */
    const spec_matrix *w;
    const void *activation; /* the operand of x (n, cols) */
    const float *opt_bias;  /* (rows) */
    bool add;
    int n;
    int opt_stride; /* floats from one column of y to the next; 0: the matrix's rows */
} spec_product_request;

/* Computes the rows of panels first..end-1, for any number of rows and columns. */
void spec_product(const spec_product_request *request, const spec_product_kernels *kernels,
                  int first, int end);

#endif
