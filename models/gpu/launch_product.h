/* SPDX-License-Identifier: GPL-3.0-or-later */
/* launch_product: launches of matrix products and embedding lookups.
 * `bucket`: the number of columns that a launch must cover: 8, 16, 32 or 64. The actual number, and
 * which columns are wanted, is in the batch in GPU memory. A column's result does not depend on the
 * bucket. */
#ifndef SPECLAB_LAUNCH_PRODUCT_H
#define SPECLAB_LAUNCH_PRODUCT_H

#include "models/gpu/card.h"
#include "models/transformer/engine/backend.h"

/* The format of activations for a matrix of this type. */
operand_format spec_launch_format(spec_tensor_type reader);

/* y (columns, rows) (+)= w x (+ bias); x is an operand of w's format. wanted: only the batch's n -
 * first wanted columns, with which x and y begin. workspace: _product_bytes of GPU memory, zeroed
 * when allocated and used by one stream: several blocks share the rows of matrices with few rows
 * and many columns. */
size_t spec_launch_product_bytes(void);
void spec_launch_product(spec_stream *stream, float *y, const spec_matrix *w, const void *x,
                         const float *opt_bias, bool add, bool wanted, void *workspace,
                         const pass_batch *batch, int bucket);

/* x[u] = row token[u] of the table; x is (n, cols) floats. */
void spec_launch_embed(spec_stream *stream, float *x, const spec_matrix *table,
                       const pass_batch *batch, int bucket);

#endif
