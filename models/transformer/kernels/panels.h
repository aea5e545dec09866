/* SPDX-License-Identifier: GPL-3.0-or-later */
/* panels: a weight matrix packed in the order in which the CPU's products read it.
 * Panel p holds rows 16p..16p+15, with zeros past the last row. F32, F16, BF16: column after
 * column, 16 weights each. Q8_0, Q4_0: blocks of 32 columns, each with 16 scales (F16) and then,
 * for each four columns, 4 bytes of each row in turn. These bytes are w + 128 in Q8_0; in Q4_0, the
 * low half holds w + 8 of columns 4j..4j+3, the high half that of columns 16 + 4j and so on. Q4_K,
 * Q5_K, Q6_K: blocks of 256 columns in which word i of the file's block follows word i of the row
 * above; blocks of Q6_K start with the 16 scales (F16), which are at the end of the block in the
 * file. A panel takes no more bytes than its rows take in the file. The caller owns the memory. */
#ifndef SPECLAB_PANELS_H
#define SPECLAB_PANELS_H

#include "models/transformer/engine/backend.h"

enum { SPEC_PANEL_ROWS = 16, SPEC_PANEL_ALIGNMENT = 64 };

/* Return the number of panels of a matrix, and the bytes of each. Their memory must be aligned to
 * SPEC_PANEL_ALIGNMENT; large pages make reads faster. cols as spec_tensor_row_bytes requires. */
int spec_panels_count(int rows);
size_t spec_panels_bytes(spec_tensor_type type, int cols);

/* Fills panels first..end-1 of a matrix from the stacked rows of all parts, converted to its type.
 * Several threads may each fill a range. May return GSL_ENOMEM. */
int spec_panels_pack(spec_matrix *matrix, const spec_tensor *part, int n_parts, int first, int end,
                     spec_error *error);

/* Writes row `row` as floats (cols), with exactly the packed values. */
void spec_panels_row(float *ret_value, const spec_matrix *matrix, int row);

#endif
