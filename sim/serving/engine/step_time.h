/* SPDX-License-Identifier: GPL-3.0-or-later */
/* step_time: the work and the time of a scheduled step, by the device that drafts. */
#ifndef SPECLAB_STEP_TIME_H
#define SPECLAB_STEP_TIME_H

#include "sim/serving/engine/engine.h"

/* Fills in what the target computes, and returns the step's time in seconds. Sets K_r = 0 for cold
 * requests that ride along. */
double spec_step_time(spec_engine *engine, spec_step_work *ret_work);

#endif
