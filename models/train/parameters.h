/* SPDX-License-Identifier: GPL-3.0-or-later */
/* parameters: the named weights of a model in training, with gradients and AdamW's moments.
 * All of them lie in one array, in the order in which they were added; each begins at a multiple of
 * 16 numbers. A frozen set has only values. The set owns its arrays. */
#ifndef SPECLAB_PARAMETERS_H
#define SPECLAB_PARAMETERS_H

#include "base/thread_pool.h"
#include "models/train/elements.h"

#include <stddef.h>

enum { SPEC_PARAMETERS_NAME_SIZE = 48 };

typedef struct {
    char name[SPEC_PARAMETERS_NAME_SIZE];
    int rows, cols; /* a vector is one row */
    size_t at;      /* index of its first number in the set's arrays */
} spec_parameter;

typedef struct {
    int n, capacity;
    spec_parameter *item;
    size_t numbers; /* size of each of the arrays, in numbers */
    spec_real *value;
    spec_real *gradient, *m, *v; /* NULL if the set is frozen */
} spec_parameters;

/* How a step of AdamW changes the weights. */
typedef struct {
    double rate;         /* learning rate of this step */
    double beta1, beta2; /* decay of the moments, in [0,1) */
    double epsilon, decay;
    double clip; /* largest norm of all gradients together; larger ones are scaled down to it */
    long step;   /* 1 for the first step */
} spec_parameters_step;

/* AdamW's settings for all training in this project. The caller sets rate, clip and step. */
#define SPEC_PARAMETERS_ADAMW                                                                      \
    ((spec_parameters_step){.beta1 = 0.9, .beta2 = 0.95, .epsilon = 1e-8})

/* Allocates memory for the names of `capacity` parameters. */
int spec_parameters_init(spec_parameters *parameters, int capacity, spec_error *error);
void spec_parameters_free(spec_parameters *parameters); /* may be zeroed */

/* Adds a parameter, before _allocate; returns its index. rows, cols >= 1. */
int spec_parameters_add(spec_parameters *parameters, const char *name, int rows, int cols);

/* Allocates the arrays, all zero. */
int spec_parameters_allocate(spec_parameters *parameters, bool is_frozen, spec_error *error);

/* Return a parameter's values, and its gradient, which is NULL if frozen. */
spec_real *spec_parameters_value(const spec_parameters *parameters, int index);
spec_real *spec_parameters_gradient(const spec_parameters *parameters, int index);

void spec_parameters_clear_gradient(spec_parameters *parameters);

/* Changes the values by one step. Returns the norm of all gradients together, before clipping; if
 * it is not finite, nothing is changed. The bits do not depend on the number of threads. */
double spec_parameters_update(spec_parameters *parameters, const spec_parameters_step *step,
                              const spec_elements *elements, spec_thread_pool *opt_pool);

#endif
