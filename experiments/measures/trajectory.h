/* SPDX-License-Identifier: GPL-3.0-or-later */
/* trajectory: averages along the target's own text, which speculation emits whatever the draft.
 * The text is cut into batches with their own random streams, which run in parallel; the result
 * depends on the seed, not on the threads. Standard errors come from batch means, so they remain
 * valid if neighbouring positions are correlated. */
#ifndef SPECLAB_TRAJECTORY_H
#define SPECLAB_TRAJECTORY_H

#include "base/thread_pool.h"
#include "models/model.h"
#include "speclab/listener.h"

#include <stdint.h>

/* Maximum batches; tokens of a batch that come before its first position. */
enum { SPEC_TRAJECTORY_BATCHES = 32, SPEC_TRAJECTORY_BURN_IN = 32 };

typedef struct {
    const double *target, *opt_draft; /* (V) rows at this position */
    const int *context;               /* (n_context) the text before it */
    size_t n_context;
    int vocab;
    uint64_t number; /* number of this position, for random streams; unique in the run */
    int worker; /* 0..SPEC_TRAJECTORY_BATCHES-1; visits of one worker are sequential */
} spec_position;

typedef struct {
    const spec_model *target, *opt_draft; /* models with the same vocabulary */
    /* Fills value (n_values) at a position; called by several threads. */
    int (*visit)(double *value, const spec_position *position, const void *self, spec_error *error);
    const void *self;
    int n_values;
    /* minimum number of positions, spread evenly over the batches; 1: the first position after the
     * target's first prompt */
    uint64_t positions;
    int gap;    /* tokens from a position to the next one (0: 1); not used with opt_text */
    int length; /* tokens of a text, after its prompt; 0: as many as possible */
    const int *opt_text; /* (positions) a given text; position i is after its first i tokens */
    double *opt_value;   /* (positions, n_values) with opt_text: the values at each position */
    uint64_t seed;
    spec_thread_pool *opt_pool;
    const volatile int *opt_stop;
    const spec_listener *opt_listener;
} spec_trajectory;

/* Computes means and standard errors (NaN for a single batch), both (n_values). For a given text
 * the errors show how much similar texts may differ. The next prompt begins after an end of text,
 * or after `length` tokens. If batches fail, returns the status and line of the one with the lowest
 * number. */
int spec_trajectory_means(double *ret_mean, double *ret_se, const spec_trajectory *trajectory,
                          spec_error *error);

#endif
