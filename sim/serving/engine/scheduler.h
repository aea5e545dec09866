/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scheduler: what a step of a serving engine computes: points 2 to 6 of a step in serving_run.h. */
#ifndef SPECLAB_SCHEDULER_H
#define SPECLAB_SCHEDULER_H

#include "sim/serving/engine/engine.h"

/* Fills the step's fields of the engine, and the chunks of prefills. GSL_ENOMEM. */
int spec_scheduler_schedule(spec_engine *engine);

#endif
