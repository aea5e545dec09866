/* SPDX-License-Identifier: GPL-3.0-or-later */
/* train_args: the arguments of speclab train. Bad usage prints one line and exits 2. */
#ifndef SPECLAB_TRAIN_ARGS_H
#define SPECLAB_TRAIN_ARGS_H

#include "cli/options.h"
#include "models/heads/head.h"

/* 0 or NULL: not given. */
typedef struct {
    spec_options common; /* output: the trained model */
    const char *method;  /* "lm", "distill" or a name of a head */
    int head;            /* its spec_head_kind, or -1 */
    const char *target, *data, *start;
    int layers, dim, heads, kv_heads, ffn; /* of a new model or head */
    int K, ttt, tap[SPEC_HEAD_TAPS_MAX];
    int batch, window, own_texts, judges;
    int loss; /* a spec_losses_kind, or -1 */
    long steps;
    double minutes, rate;
    double save; /* seconds between writes of the state */
    bool resume;
} spec_train_args;

void spec_train_args_parse(spec_train_args *args, spec_context *context, int argc, char **argv);

#endif
