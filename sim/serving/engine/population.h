/* SPDX-License-Identifier: GPL-3.0-or-later */
/* population: requests join the queue of a serving engine, enter, are preempted, and leave. */
#ifndef SPECLAB_POPULATION_H
#define SPECLAB_POPULATION_H

#include "sim/serving/engine/engine.h"

/* Makes the source's next request the pending one. Returns GSL_EINVAL if it cannot be served. */
int spec_population_pull(spec_engine *engine);

/* Returns the seconds from the clock's start to the arrival of the pending request. */
static inline double spec_population_pending(const spec_engine *engine)
{
    return engine->pending.arrival - engine->origin;
}

/* Adds the requests that have arrived by now to the queue. Fails like _pull, or with GSL_ENOMEM. */
int spec_population_arrive(spec_engine *engine);

/* Returns the member that enters next, as far as the scheduler knows, or NULL if no slot is free or
 * nobody waits. */
spec_member *spec_population_next(const spec_engine *engine);

/* Lets that member enter. It computes its prompt, or decodes at once if it has none. Returns
 * GSL_SUCCESS or GSL_ENOMEM. */
int spec_population_enter(spec_engine *engine);

/* Lets a member whose prompt has been computed decode. Returns GSL_SUCCESS or GSL_ENOMEM. */
int spec_population_decode(spec_engine *engine, int32_t member);

/* Moves the youngest running member back to the queue and frees its blocks. Returns its number. */
int32_t spec_population_preempt(spec_engine *engine);

/* Removes a member that no longer runs from the system. */
void spec_population_leave(spec_engine *engine, int32_t member);

#endif
