/* paced_model: another model that takes its time, on a clock of the test's, as a transformer on a machine would.
 * A pass of n new tokens takes first + (n - 1) * more. What a session has computed of a text it keeps, and rolls back;
 * chains only. The model borrows its base, which is stateless, and the time. */
#ifndef SPECLAB_TESTS_PACED_MODEL_H
#define SPECLAB_TESTS_PACED_MODEL_H

#include "models/model.h"
#include "base/clock.h"

typedef struct {
    spec_model head;
    const spec_model *base;
    double first, more; /* seconds */
    double *now;        /* the time, which passes move on */
    double ready;       /* of paced_model_alone: when its last pass is done */
} paced_model;

const spec_model *paced_model_init(paced_model *model, const spec_model *base, double first, double more, double *now);

/* It has a device of its own: a pass that is begun takes its time while others do theirs. For one session. */
const spec_model *paced_model_alone(paced_model *model);

/* A clock that tells *now. */
spec_clock paced_clock(double *now);

#endif
