/* SPDX-License-Identifier: GPL-3.0-or-later */
/* experts: computes a mixture of experts on the CPU, instead of a layer's feed-forward network.
 * Columns are grouped by expert, and each chosen expert multiplies all its columns at once, so that
 * its weights are read once. The results of a column's experts are added in the order in which the
 * column chose them, so its bits depend only on the column. The workspace belongs to one queue. */
#ifndef SPECLAB_EXPERTS_H
#define SPECLAB_EXPERTS_H

#include "models/transformer/engine/expert_choice.h"
#include "models/transformer/kernels/product.h"

typedef struct spec_expert_workspace spec_expert_workspace;

/* Creates a workspace for passes of a model of this shape, with experts. May return GSL_ENOMEM. */
int spec_experts_init(spec_expert_workspace **ret_workspace, const spec_shape *shape,
                      const spec_vector_kernels *kernels, const spec_product_kernels *products,
                      spec_error *error);
void spec_experts_free(spec_expert_workspace *workspace); /* accepts NULL */

/* Returns the array into which the caller writes the router logits of a pass: (SPEC_COLUMNS_MAX,
 * n_experts). */
float *spec_experts_logits(spec_expert_workspace *workspace);

/* Adds the mixture of y[u] to x[u] for n columns, whose router logits are in the workspace; x, y
 * (n, dim). Returns the number of experts that some column chose. */
int spec_experts_add(spec_expert_workspace *workspace, float *x, const spec_experts *experts,
                     const float *y, int n, spec_thread_pool *opt_locked);

#endif
