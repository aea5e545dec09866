/* trajectory: averages along the target's own text, the text that speculation emits whatever the draft is.
 * The text is cut into batches with streams of their own, which run in parallel; the result depends on the seed and not
 * on the threads. Standard errors are those of batch means, so they stand where neighbouring positions are
 * correlated. */
#ifndef SPECLAB_TRAJECTORY_H
#define SPECLAB_TRAJECTORY_H

#include "models/model.h"

#include <stdint.h>

/* Most batches, and tokens of a batch that are passed over before the first position. */
enum { SPEC_TRAJECTORY_BATCHES = 32, SPEC_TRAJECTORY_BURN_IN = 32 };

typedef struct {
    const double *target, *opt_draft; /* (V) the rows at this position */
    const int *context;               /* (n_context) the text before it */
    size_t n_context;
    int vocab;
    int worker; /* 0..SPEC_TRAJECTORY_BATCHES-1: visits of one worker come one after the other */
} spec_position;

typedef struct {
    const spec_model *target, *opt_draft; /* of one vocabulary */
    /* Fill value (n_values) at a position; called from several threads. */
    int (*visit)(double *value, const spec_position *position, const void *self, spec_error *error);
    const void *self;
    int n_values;
    uint64_t positions; /* at least so many, spread evenly over the batches; 1: the first position after the target's
                           first prompt */
    int length; /* tokens after a prompt until the next one begins; 0: as long as a text may be */
    const int *opt_text; /* (positions) walk along this text instead: position i is after its first i tokens */
    double *opt_value;   /* (positions, n_values) with opt_text: the values at each position */
    uint64_t seed;
    int threads;
    const volatile int *opt_stop;
} spec_trajectory;

/* Means and their standard errors (NaN for a single batch), both (n_values); of a given text the errors tell how far
 * others like it may be. After an end of text, or `length` tokens, the next prompt begins. The status and line of the
 * first batch, by number, that failed. */
int spec_trajectory_means(double *ret_mean, double *ret_se, const spec_trajectory *trajectory, spec_error *error);

#endif
