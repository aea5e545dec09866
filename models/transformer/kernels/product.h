/* product: a packed matrix times up to SPEC_COLUMNS_MAX columns, each weight read once for every 16 of them.
 * The order of operations is the same on all instruction sets and for any number of columns, so the results are too,
 * bit for bit. One fused operation for each step, k = 0, 1, ..., from acc = 0:
 *     F32, F16, BF16:  acc = fma(w[k], x[k], acc)
 *     Q8_0, Q4_0:      acc = fma((float)dot, wscale * xscale, acc) for each block of 32, dot its exact integer product
 *                      with x rounded to 8 bits: xscale = max|x| / 127, to nearest, ties to even
 * then y = acc, + bias, and y + that where it is added. Rows are shared among threads by panels. */
#ifndef SPECLAB_PRODUCT_H
#define SPECLAB_PRODUCT_H

#include "base/cpu.h"
#include "models/transformer/kernels/panels.h"

/* The kernels of an instruction set: ask once. */
typedef struct spec_product_kernels spec_product_kernels;
const spec_product_kernels *spec_product_kernels_of(spec_isa isa);

/* What a product reads of n columns x (n, cols): floats, or blocks of 8 bits where the weights are quantised. Made in
 * pieces of 32 of cols, so that several threads can share the work; of any alignment. _bytes is enough for weights of
 * every type. */
size_t spec_activation_bytes(int cols, int n);
int spec_activation_pieces(int cols);

/* Fill pieces first..end-1. In quantised blocks whose largest magnitude is below 2^-100 count as zeros; a block that is
 * not finite makes the whole column's results NaN. */
void spec_activation_fill(void *ret_activation, const spec_product_kernels *kernels, spec_tensor_type type,
                          const float *x, int cols, int n, int first, int end);

/* y[u] (+)= w x[u] (+ bias), for the rows of panels first..end-1 and all n columns. y (n, rows), opt_bias (rows). */
void spec_product(float *y, const spec_product_kernels *kernels, const spec_matrix *w, const void *activation,
                  const float *opt_bias, bool add, int n, int first, int end);

#endif
