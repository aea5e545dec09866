/* SPDX-License-Identifier: GPL-3.0-or-later */
/* step_time: the work of a scheduled step of a serving engine and its time, by place of drafts. */
#ifndef SPECLAB_STEP_TIME_H
#define SPECLAB_STEP_TIME_H

#include "sim/serving/engine/engine.h"

/* Fills what the target computes, and returns the step's time in seconds. Cold requests that ride
 * have K_r = 0 afterwards. */
double spec_step_time(spec_engine *engine, spec_step_work *ret_work);

#endif
