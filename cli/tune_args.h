/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tune_args: the arguments of speclab tune. Bad usage prints one line and exits 2. */
#ifndef SPECLAB_TUNE_ARGS_H
#define SPECLAB_TUNE_ARGS_H

#include "cli/options.h"
#include "experiments/tune/skip_search.h"

typedef struct {
    spec_options common; /* output: the trials */
    const char *target, *data;
    bool method[SPEC_SKIP_EXHAUSTIVE + 1];
    int texts, tokens, trials, runs, top, check; /* tokens 0: not given */
    spec_assumed assumed;                        /* the relevant options that were not given */
} spec_tune_args;

void spec_tune_args_parse(spec_tune_args *args, spec_context *context, int argc, char **argv);

#endif
