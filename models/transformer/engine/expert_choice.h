/* SPDX-License-Identifier: GPL-3.0-or-later */
/* expert_choice: chooses the experts of each token, weights them, and groups tokens by expert.
 * A token takes the n_active experts with the largest router logits; ties go to the lower index.
 * Their weights are the softmax of these logits; this equals the softmax of all logits,
 * renormalised. [Shazeer17], [Qwen25], [OpenAI25] */
#ifndef SPECLAB_EXPERT_CHOICE_H
#define SPECLAB_EXPERT_CHOICE_H

#include "models/transformer/engine/backend.h"
#include "models/transformer/kernels/vector.h"

/* Writes the experts of one token, in order of decreasing logit, and their weights; both
 * (n_active). All weights are NaN if a logit is not finite. */
void spec_expert_choice_make(int *ret_expert, float *ret_weight, const float *logit,
                             const spec_shape *shape, const spec_vector_kernels *kernels);

/* The experts that some of n columns chose, ascending; expert[i] has the pairs begin[i] ..
 * begin[i+1]-1. A pair is a column and one of its experts; an expert's pairs are in the order of
 * the columns. */
typedef struct {
    int n;
    int expert[SPEC_EXPERTS_MAX], begin[SPEC_EXPERTS_MAX + 1];
} spec_expert_groups;

/* Groups the choices of all columns (n, n_active): pair p belongs to column ret_column[p], and
 * choice i, counted over all columns, is pair ret_pair[i]; both (n * n_active). */
void spec_expert_choice_group(spec_expert_groups *ret, int *ret_column, int *ret_pair,
                              const int *expert, int n, const spec_shape *shape);

#endif
