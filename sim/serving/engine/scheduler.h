/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scheduler: decides what a step computes (points 2 to 6 of a step in serving_run.h). */
#ifndef SPECLAB_SCHEDULER_H
#define SPECLAB_SCHEDULER_H

#include "sim/serving/engine/engine.h"

/* Fills the engine's fields for the step, and the chunk of each prefill. Returns GSL_SUCCESS or
 * GSL_ENOMEM. */
int spec_scheduler_schedule(spec_engine *engine);

#endif
