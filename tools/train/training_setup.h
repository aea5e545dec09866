/* SPDX-License-Identifier: GPL-3.0-or-later */
/* training_setup: a training made from settings: its models, its texts and its plan.
 * The setup owns all of it. It must not move after _init, because its parts point to each other. */
#ifndef SPECLAB_TRAINING_SETUP_H
#define SPECLAB_TRAINING_SETUP_H

#include "models/context.h"
#include "models/model.h"
#include "models/transformer/tokenizer/byte_vocabulary.h"
#include "tools/train/training_settings.h"

typedef struct {
    const spec_training_settings *settings; /* borrowed */
    spec_model *target, *start;             /* NULL: none */
    spec_head start_head;
    /* the checkpoint whose vocabulary is used: the target's, or `bytes` */
    const spec_checkpoint *vocabulary_of;
    spec_checkpoint bytes;
    spec_byte_vocabulary byte_data;
    spec_training_texts learn, judge[2]; /* judge: texts of the target at temperatures 0 and 1 */
    spec_head_shape head;
    spec_training training;
} spec_training_setup;

/* Opens the models, samples or reads the texts, and sets up the training with 0 steps done.
 * Settings must be checked (spec_training_settings_check). Returns GSL_EINVAL, naming the wrong
 * setting. */
int spec_training_setup_init(spec_training_setup *setup, const spec_training_settings *settings,
                             spec_context *context, spec_error *error);
void spec_training_setup_free(spec_training_setup *setup); /* may be zeroed */

/* Writes the trained model or head to a GGUF file; *ret_kept as in base/new_file.h. */
int spec_training_setup_write(int *ret_kept, const spec_training_setup *setup, const char *path,
                              spec_error *error);

#endif
