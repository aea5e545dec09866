/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bench_online: speclab bench --online: compares a draft that learns with the same draft unchanged.
 * An argp child with its options, and the function that opens the models, runs and prints the
 * result. */
#ifndef SPECLAB_BENCH_ONLINE_H
#define SPECLAB_BENCH_ONLINE_H

#include "cli/options.h"
#include "cli/pair_options.h"
#include "timing/timing_online.h"

typedef struct {
    bool on;       /* --online is given */
    int positions; /* a spec_online_positions, or -1: not given */
    int loss;      /* a spec_losses_kind, or -1: not given */
    double rate;   /* 0: not given */
} spec_bench_online_options;

extern const struct argp spec_bench_online_argp; /* its input: spec_bench_online_options */

/* The values of bench's other options. */
typedef struct {
    const spec_options *common;
    spec_pair_options *pair;
    const char *opt_prompts; /* a file */
    const char *asked;       /* the command as the user typed it */
    int context;             /* maximum tokens of a prompt */
    int texts;               /* 0: one for each prompt of the file */
    int tokens, K;
    bool K_given;
    spec_clock clock;
} spec_bench_online_request;

/* Runs the comparison. Returns the exit code. */
int spec_bench_online_run(const spec_bench_online_options *options,
                          const spec_bench_online_request *request, const char *verb);

#endif
