/* SPDX-License-Identifier: GPL-3.0-or-later */
/* launch_product: launches the kernels of matrix products and embedding lookups. */
#ifndef SPECLAB_LAUNCH_PRODUCT_H
#define SPECLAB_LAUNCH_PRODUCT_H

#include "models/gpu/launch.h"
#include "models/transformer/engine/backend.h"

/* Returns the format of activations for a matrix of this type. */
operand_format spec_launch_format(spec_tensor_type reader);

/* Computes y (columns, rows) (+)= w x (+ bias); x is an operand of w's format. x and y begin with
 * the first column of the launch. The workspace has _product_bytes of GPU memory, zeroed when
 * allocated and used by one stream: several blocks may share the rows of a small matrix. */
size_t spec_launch_product_bytes(void);
void spec_launch_product(spec_launch launch, float *y, const spec_matrix *w, const void *x,
                         const float *opt_bias, bool add, void *workspace);

/* Computes y (columns, rows / 2) = silu(gate x) * up x and writes it as an operand of `format`. w
 * was packed as gated (layout.h). */
void spec_launch_product_gated(spec_launch launch, void *y, const spec_matrix *w, const void *x,
                               operand_format format, void *workspace);

/* x[u] = row token[u] of the table; x is (n, cols) floats. */
void spec_launch_embed(spec_launch launch, float *x, const spec_matrix *table);

#endif
