/* wrapper: a model that changes the rows of another one and hands everything else on.
 * The wrapper owns its base, is of the same size, order and name, and has a table line of its own: the base's, with
 * other functions. */
#ifndef SPECLAB_WRAPPER_H
#define SPECLAB_WRAPPER_H

#include "models/model.h"

/* The head of every wrapping model, which must be one block of memory from malloc. */
typedef struct {
    spec_model head;
    spec_model_kind kind; /* head.kind points here */
    spec_model *base;
} spec_wrapper;

/* Set up the head from `base`, which it owns from now on; the caller then replaces kind.row and what belongs to it
 * (_score and the session's functions are the base's no more: NULL). On failure the base stays the caller's. */
int spec_wrapper_init(spec_wrapper *wrapper, spec_model *base, spec_error *error);

/* The model inside all wrappers around it; itself where there is none. */
const spec_model *spec_wrapper_innermost(const spec_model *model);

#endif
