/* SPDX-License-Identifier: GPL-3.0-or-later */
/* layout: packs weights in the order in which GPU kernels read them.
 * Each load of a warp is one contiguous stretch. All host threads pack. Each weight is uploaded
 * only once. The first five types of models/transformer/files/tensor.h keep their values: F32 as
 * floats, F16 and BF16 as 16 bits, and Q8_0 and Q4_0 as integers with F16 scales. Rows come in
 * tiles of 16, the last one padded with zeros, and columns in groups. */
#ifndef SPECLAB_LAYOUT_H
#define SPECLAB_LAYOUT_H

#include "models/transformer/engine/backend.h"

enum {
    SPEC_LAYOUT_ROWS = 16,               /* rows per tile */
    SPEC_LAYOUT_TYPES = SPEC_TENSOR_Q4_K /* the types before it have a layout and matrix products */
};

size_t spec_layout_bytes(spec_tensor_type type, int rows, int cols);
size_t spec_layout_tile_bytes(spec_tensor_type type, int cols);

/* Packs tiles first..end-1 of the matrix that stacks the rows of all parts; ret_data begins with
 * tile `first`. Parts of another type are converted. gated: there are two parts, gate and up, and a
 * tile has eight rows of each. May return GSL_ENOMEM. */
int spec_layout_pack(void *ret_data, spec_tensor_type type, const spec_tensor *part, int n_parts,
                     bool gated, int first, int end, spec_error *error);

/* Unpacks row `row` of such a matrix to floats, so that tests can compare. */
void spec_layout_row(float *ret_value, const void *data, spec_tensor_type type, int cols, int row);

#endif
