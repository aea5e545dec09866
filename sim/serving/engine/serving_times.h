/* SPDX-License-Identifier: GPL-3.0-or-later */
/* serving_times: the measured part of a run of a serving engine: sums and times of requests. */
#ifndef SPECLAB_SERVING_TIMES_H
#define SPECLAB_SERVING_TIMES_H

#include "sim/serving/engine/engine.h"

/* Begins and ends the measured part, by the requests that have joined. True: the run is complete.
 */
bool spec_serving_times_look(spec_engine *engine);

/* A step of that time, before its end. */
void spec_serving_times_step(spec_engine *engine, const spec_step_work *work, double seconds);

/* A completed request, which has left. GSL_ENOMEM. */
int spec_serving_times_add(spec_engine *engine, const spec_member *member);

/* The run has ended. */
void spec_serving_times_end(spec_engine *engine);

#endif
