/* panels: a matrix of weights packed as the products of the CPU read it: once, from front to back.
 * Panel p holds rows 16p..16p+15, and zeros where there are no more. F32, F16, BF16: column after column, 16 weights
 * each. Q8_0, Q4_0: block after block of 32 columns; a block has 16 scales (F16) and then, for each four columns, 4
 * bytes of each row in turn: w + 128 in Q8_0; in Q4_0 w + 8 of columns 4j..4j+3 in the low and of 16 + 4j.. in the high
 * half. So a panel takes no more bytes than the rows in their file. The caller owns the memory. */
#ifndef SPECLAB_PANELS_H
#define SPECLAB_PANELS_H

#include "models/transformer/engine/backend.h"

enum { SPEC_PANEL_ROWS = 16, SPEC_PANEL_ALIGNMENT = 64 };

/* Panels of a matrix, and the bytes of each. The memory of all begins at a multiple of SPEC_PANEL_ALIGNMENT; in large
 * pages it is read faster. cols as spec_tensor_row_bytes asks. */
int spec_panels_count(int rows);
size_t spec_panels_bytes(spec_tensor_type type, int cols);

/* Fill panels first..end-1 of a matrix from the rows of all parts under one another, converted to its type where theirs
 * is another. Several threads may fill ranges of their own. GSL_ENOMEM. */
int spec_panels_pack(spec_matrix *matrix, const spec_tensor *part, int n_parts, int first, int end, spec_error *error);

/* Row `row` as floats: (cols), exactly as packed. */
void spec_panels_row(float *ret_value, const spec_matrix *matrix, int row);

#endif
