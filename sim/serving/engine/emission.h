/* SPDX-License-Identifier: GPL-3.0-or-later */
/* emission: what a step of a serving engine emits: point 7 of a step in serving_run.h. */
#ifndef SPECLAB_EMISSION_H
#define SPECLAB_EMISSION_H

#include "sim/serving/engine/engine.h"

/* The step has ended: `now` is its end. Draws n_accepted of its rounds, and emits. True: decoding
 * requests may have completed. */
bool spec_emission_rounds(spec_engine *engine);

/* Requests that completed leave; prompts that are complete emit a token, and decode or leave.
 * GSL_ENOMEM. */
int spec_emission_complete(spec_engine *engine, bool rounds_completed);

#endif
