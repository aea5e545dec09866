/* SPDX-License-Identifier: GPL-3.0-or-later */
/* head_weights: a draft head's tensors in a backend's layout, ready for passes.
 * Immutable and shared by sessions. Owns its matrices; borrows rope factors from the head. */
#ifndef SPECLAB_HEAD_WEIGHTS_H
#define SPECLAB_HEAD_WEIGHTS_H

#include "models/heads/head.h"
#include "models/transformer/engine/weights.h"

typedef struct {
    /* The layers and, except with nextn, the head's own final norm, output and embedding. The shape
     * describes the head's passes: its vocabulary is the head's. */
    spec_weights base;
    /* All other parts: matrices in the backend's layout, vectors and the mask's tables as
     * floats. */
    spec_matrix matrix[SPEC_HEAD_PARTS][SPEC_HEAD_REACH_MAX];
    float *vector[SPEC_HEAD_PARTS][SPEC_HEAD_REACH_MAX];
    int widest; /* most columns of a matrix */
} spec_head_weights;

int spec_head_weights_init(spec_head_weights *weights, const spec_head *head,
                           const spec_backend *backend, spec_error *error);
void spec_head_weights_free(spec_head_weights *weights); /* may be zeroed */

#endif
