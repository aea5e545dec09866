/* SPDX-License-Identifier: GPL-3.0-or-later */
/* serving_times: collects sums and request times over the measured part of a serving run. */
#ifndef SPECLAB_SERVING_TIMES_H
#define SPECLAB_SERVING_TIMES_H

#include "sim/serving/engine/engine.h"

/* Begins or ends the measured part, depending on which requests have joined. Returns true if the
 * run is complete. */
bool spec_serving_times_look(spec_engine *engine);

/* Records a step that takes this long. Call it before the clock moves to the step's end. */
void spec_serving_times_step(spec_engine *engine, const spec_step_work *work, double seconds);

/* Records a completed request, which has already left. Returns GSL_SUCCESS or GSL_ENOMEM. */
int spec_serving_times_add(spec_engine *engine, const spec_member *member);

/* Finishes the sums at the end of the run. */
void spec_serving_times_end(spec_engine *engine);

#endif
