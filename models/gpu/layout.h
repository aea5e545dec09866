/* layout: how a card's kernels read weights: every load of a warp is one stretch of memory, in the order in which it is
 * multiplied; made on the host, by all threads, and uploaded once.
 * All five types of models/transformer/files/tensor.h keep their values: F32 as floats; F16 and BF16 as 16 bits; Q8_0 and Q4_0
 * as whole numbers with F16 scales. Rows come in tiles of 16, the last one filled up with zeros, and columns in groups. */
#ifndef SPECLAB_LAYOUT_H
#define SPECLAB_LAYOUT_H

#include "models/transformer/engine/backend.h"

enum { SPEC_LAYOUT_ROWS = 16 }; /* of a tile */

size_t spec_layout_bytes(spec_tensor_type type, int rows, int cols);
size_t spec_layout_tile_bytes(spec_tensor_type type, int cols);

/* Tiles first..end-1 of the matrix that has the rows of all parts under one another, into ret_data, where tile `first`
 * begins. Parts of another type are converted. GSL_ENOMEM. */
int spec_layout_pack(void *ret_data, spec_tensor_type type, const spec_tensor *part, int n_parts, int first, int end,
                     spec_error *error);

/* Row `row` of such a matrix as floats: the second route, for tests. */
void spec_layout_row(float *ret_value, const void *data, spec_tensor_type type, int cols, int row);

#endif
