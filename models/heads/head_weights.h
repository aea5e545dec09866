/* SPDX-License-Identifier: GPL-3.0-or-later */
/* head_weights: a draft head's tensors in a backend's layout, ready for passes.
 * Immutable, shared by sessions. Owns its matrices; borrows the shape's rope factors from the
 * head. */
#ifndef SPECLAB_HEAD_WEIGHTS_H
#define SPECLAB_HEAD_WEIGHTS_H

#include "models/heads/head.h"
#include "models/transformer/engine/weights.h"

typedef struct {
    /* Layers, and except with nextn, final norm, output and an embedding of its own. The shape is
     * that of the head's passes: its vocabulary is the head's. */
    spec_weights base;
    /* All other parts: matrices; vectors and the mask's tables as floats. */
    spec_matrix matrix[SPEC_HEAD_PARTS][SPEC_HEAD_REACH_MAX];
    float *vector[SPEC_HEAD_PARTS][SPEC_HEAD_REACH_MAX];
    int widest; /* columns of a matrix, at most */
} spec_head_weights;

int spec_head_weights_init(spec_head_weights *weights, const spec_head *head,
                           const spec_backend *backend, spec_error *error);
void spec_head_weights_free(spec_head_weights *weights); /* may be zeroed */

#endif
