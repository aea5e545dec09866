/* SPDX-License-Identifier: GPL-3.0-or-later */
/* row_wrapper: a wrapper (models/wrapper.h) that changes each row of its base separately.
 * It passes scoring on to the base, even in two halves, and its sessions hold the base's
 * session. */
#ifndef SPECLAB_ROW_WRAPPER_H
#define SPECLAB_ROW_WRAPPER_H

#include "models/wrapper.h"

/* Changes a row (V) in place. order (V) is workspace. */
typedef void spec_row_change(double *row, const spec_model *model, int *order);

/* The struct of every such model begins with this. */
typedef struct {
    spec_wrapper wrapper;
    spec_row_change *change;
} spec_row_wrapper;

/* Sets up the head as spec_wrapper_init does, but also sets the row, score and session functions.
 * On failure the caller keeps the base. */
int spec_row_wrapper_init(spec_row_wrapper *wrapper, spec_model *base, spec_row_change *change,
                          spec_error *error);

/* Returns the change that such a model makes; NULL for any other model. */
spec_row_change *spec_row_wrapper_change(const spec_model *model);

#endif
