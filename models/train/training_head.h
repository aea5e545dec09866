/* SPDX-License-Identifier: GPL-3.0-or-later */
/* training_head: a draft head in training, with its weights as parameters.
 * The queries, keys and values of a layer form one parameter, and so do gate and up. `head` shows
 * the parameters as separate tensors, for files and sessions. The head owns its parameters. */
#ifndef SPECLAB_TRAINING_HEAD_H
#define SPECLAB_TRAINING_HEAD_H

#include "models/heads/head.h"
#include "models/train/training_model.h"

typedef struct {
    spec_parameters parameters;
    int index[SPEC_HEAD_PARTS][SPEC_HEAD_REACH_MAX]; /* index of a part's parameter, [part][copy] */
    spec_head head; /* tensors are F32; the caller sets the fingerprint */
} spec_training_head;

/* Returns the shape of the head that is trained by default. Its layer is like the target's layers,
 * and kinds that read three hidden states read the lowest, middle and last one.
 *   reach  K, for kinds whose rows end at some depth */
spec_head_shape spec_training_head_shape(spec_head_kind kind, const spec_shape *target, int reach);

/* Sets initial weights. If the head has its own output, final norm or embedding, they are copied
 * from the target; a Medusa block is zero; all others are random, the same on every machine. */
int spec_training_head_draw(spec_training_head *head, const spec_head_shape *shape,
                            const spec_training_model *target, uint64_t seed, spec_error *error);

/* Copies a trained head. Returns GSL_EINVAL if its vocabulary is reduced. */
int spec_training_head_load(spec_training_head *head, const spec_head *from, spec_error *error);

void spec_training_head_free(spec_training_head *head); /* may be zeroed */

#endif
