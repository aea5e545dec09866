/* SPDX-License-Identifier: GPL-3.0-or-later */
/* emission: what a step of a serving engine emits (point 7 of a step in serving_run.h). */
#ifndef SPECLAB_EMISSION_H
#define SPECLAB_EMISSION_H

#include "sim/serving/engine/engine.h"

/* Draws n_accepted for the rounds of a step that has just ended, at `now`, and emits their tokens.
 * Returns true if decoding requests may have completed. */
bool spec_emission_rounds(spec_engine *engine);

/* Removes the requests that completed. Requests whose prompt is now complete emit a token, and then
 * decode or leave. Returns GSL_SUCCESS or GSL_ENOMEM. */
int spec_emission_complete(spec_engine *engine, bool rounds_completed);

#endif
