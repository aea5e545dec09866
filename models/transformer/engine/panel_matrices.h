/* SPDX-License-Identifier: GPL-3.0-or-later */
/* panel_matrices: allocates the weights of the CPU backend, and packs them with all threads.
 * The functions implement those of the same names in backend.h. */
#ifndef SPECLAB_PANEL_MATRICES_H
#define SPECLAB_PANEL_MATRICES_H

#include "models/transformer/engine/backend.h"

int spec_panel_matrices_init(const spec_backend *backend, spec_matrix *ret_matrix,
                             spec_tensor_type type, const spec_tensor *part, int n_parts,
                             bool gated, spec_error *error);
void spec_panel_matrices_free(const spec_backend *backend, spec_matrix *matrix);
size_t spec_panel_matrices_bytes(spec_tensor_type type, int rows, int cols);
int spec_panel_matrices_stack_init(const spec_backend *backend, spec_matrix_stack *ret_stack,
                                   spec_tensor_type type, const spec_tensor *tensor, int n,
                                   spec_error *error);
void spec_panel_matrices_stack_free(const spec_backend *backend, spec_matrix_stack *stack);

/* Returns expert e of a stack; the stack owns the data. */
spec_matrix spec_panel_matrices_of(const spec_matrix_stack *stack, int expert);

/* Threads pack and multiply in chunks. Return the panels of a chunk, and the chunks of a matrix. */
int spec_panel_matrices_chunk(const spec_matrix *matrix);
int spec_panel_matrices_chunks(const spec_matrix *matrix);

#endif
