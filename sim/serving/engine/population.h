/* SPDX-License-Identifier: GPL-3.0-or-later */
/* population: requests join the queue of a serving engine, enter, are preempted, and leave. */
#ifndef SPECLAB_POPULATION_H
#define SPECLAB_POPULATION_H

#include "sim/serving/engine/engine.h"

/* The source's next request is pending. GSL_EINVAL for one that cannot be served. */
int spec_population_pull(spec_engine *engine);

/* Seconds from the clock's start to the pending request's arrival. */
static inline double spec_population_pending(const spec_engine *engine)
{
    return engine->pending.arrival - engine->origin;
}

/* Requests that arrived until now join the queue. Also GSL_ENOMEM. */
int spec_population_arrive(spec_engine *engine);

/* The member that is next to enter, as far as the scheduler knows, if a slot is free; or NULL. */
spec_member *spec_population_next(const spec_engine *engine);

/* It enters, and decodes (without a prompt) or computes its prompt. GSL_ENOMEM. */
int spec_population_enter(spec_engine *engine);

/* A member whose prompt is computed decodes. GSL_ENOMEM. */
int spec_population_decode(spec_engine *engine, int32_t member);

/* The youngest running member goes back to the queue, without its blocks. Returns its number. */
int32_t spec_population_preempt(spec_engine *engine);

/* A member that no longer runs leaves the system. */
void spec_population_leave(spec_engine *engine, int32_t member);

#endif
