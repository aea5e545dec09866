/* SPDX-License-Identifier: GPL-3.0-or-later */
/* train_plan: what speclab train trains: the shapes and settings that its arguments stand for. */
#ifndef SPECLAB_TRAIN_PLAN_H
#define SPECLAB_TRAIN_PLAN_H

#include "cli/train_args.h"
#include "experiments/train/training.h"

/* Tokens of judging texts that come from other texts, and the default draft length. */
enum { SPEC_TRAIN_PROMPT = 32, SPEC_TRAIN_K = 5 };

/* The value, or the default where it is 0. */
int spec_train_or(int given, int otherwise);

typedef struct {
    spec_training_plan plan;
    spec_head_shape head; /* plan.opt_head points here */
} spec_train_plan;

/* Models of the arguments, borrowed. */
typedef struct {
    const spec_checkpoint *vocabulary_of; /* the target, or for lm the bytes */
    const spec_checkpoint *opt_start;
    const spec_head *opt_start_head;
} spec_train_models;

/* GSL_EINVAL, with the option at fault. */
int spec_train_plan_fill(spec_train_plan *ret_plan, const spec_train_args *args,
                         const spec_train_models *models, spec_error *error);

/* All that the trained weights depend on, as lines of a training_state. */
void spec_train_plan_describe(char *text, size_t size, const spec_training *training,
                              const spec_train_args *args);

#endif
