/* SPDX-License-Identifier: GPL-3.0-or-later */
/* saturated_run: the capacity of a serving engine, from a run whose slots are always full.
 * For engines that no closed form describes: a limit of memory or of tokens per step, other step
 * costs, draft lengths that vary. The requests are those of the question, without their arrivals.
 */
#ifndef SPECLAB_SATURATED_RUN_H
#define SPECLAB_SATURATED_RUN_H

#include "experiments/serving/serving_question.h"

typedef struct {
    double capacity; /* requests/s, by simulation */
    double rounds;   /* mean rounds of a request */
    double step;     /* mean time of a step, s */
} spec_saturated_run;

/* With a limit of the batch or of memory, one run with as many requests in the system. Without,
 * two, of B and 2 B requests: the step's own time has the share 1/B of each, and
 *
 *     1 / capacity = 2 / X(2B) - 1 / X(B)
 *
 * leaves it out. The first requests have a part of their length left, as in a batch that has run
 * for long. Errors as spec_serving_run. */
int spec_saturated_run_capacity(spec_saturated_run *ret, const spec_serving_question *question,
                                const spec_serving_way *way, uint64_t seed,
                                const volatile int *opt_stop, spec_error *error);

#endif
