/* launch_product: which kernel multiplies, and in how many blocks.
 * `bucket` is the number of columns that a launch must be enough for: 8, 16, 32 or 64; how many there are stands in the
 * batch, in the card's memory, as does which of them are wanted. What a column comes to does not depend on it. */
#ifndef SPECLAB_LAUNCH_PRODUCT_H
#define SPECLAB_LAUNCH_PRODUCT_H

#include "models/gpu/card.h"
#include "models/transformer/engine/backend.h"

/* How the reader of activations wants them. */
operand_format spec_launch_format(spec_tensor_type reader);

/* y (columns, rows) (+)= w x (+ bias), x as an operand of w's format; wanted: for the batch's n - first wanted columns,
 * which x and y begin with.
 * workspace: _product_bytes of the card's memory, zeroed when it was allocated and used by one stream alone: where
 * columns are many, several blocks share the rows of matrices that have few. */
size_t spec_launch_product_bytes(void);
void spec_launch_product(spec_stream *stream, float *y, const spec_matrix *w, const void *x, const float *opt_bias,
                         bool add, bool wanted, void *workspace, const pass_batch *batch, int bucket);

/* x[u] = row token[u] of the table: x (n, cols) floats. */
void spec_launch_embed(spec_stream *stream, float *x, const spec_matrix *table, const pass_batch *batch, int bucket);

#endif
