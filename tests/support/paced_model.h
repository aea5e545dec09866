/* SPDX-License-Identifier: GPL-3.0-or-later */
/* paced_model: a wrapper that gives a model the pass times of a transformer, on a test's clock.
 * A pass of n new tokens takes first + (n - 1) * more, times `after_other` if the last pass was
 * another model's, which is noted in *opt_last. A session caches and rolls back its text;
 * chains only. The model borrows its base, which is stateless, and the time. */
#ifndef SPECLAB_TESTS_PACED_MODEL_H
#define SPECLAB_TESTS_PACED_MODEL_H

#include "base/clock.h"
#include "models/model.h"

typedef struct {
    spec_model head;
    const spec_model *base;
    double first, more; /* seconds */
    double *now;        /* the time, which passes advance */
    double ready;       /* for paced_model_alone: the end of its last pass */
    const spec_model **opt_last;
    double after_other;
} paced_model;

const spec_model *paced_model_init(paced_model *model, const spec_model *base, double first,
                                   double more, double *now);

/* Gives the model a device of its own, so that its passes overlap with those of other models. For
 * one session. */
const spec_model *paced_model_alone(paced_model *model);

/* Returns a clock that reads *now. */
spec_clock paced_clock(double *now);

#endif
