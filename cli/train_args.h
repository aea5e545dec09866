/* SPDX-License-Identifier: GPL-3.0-or-later */
/* train_args: the arguments of speclab train. Bad usage prints one line and exits 2. */
#ifndef SPECLAB_TRAIN_ARGS_H
#define SPECLAB_TRAIN_ARGS_H

#include "cli/options.h"
#include "experiments/train/training_settings.h"

typedef struct {
    spec_options common; /* output: the trained model */
    spec_training_settings settings;
    double save; /* seconds between writes of the state */
    bool resume;
} spec_train_args;

void spec_train_args_parse(spec_train_args *args, spec_context *context, int argc, char **argv);

/* Lists what the plan assumes: the values of relevant options that were not given. */
void spec_train_args_say_assumed(const spec_train_args *args, const spec_training_plan *plan,
                                 const char *verb);

#endif
