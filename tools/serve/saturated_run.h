/* SPDX-License-Identifier: GPL-3.0-or-later */
/* saturated_run: the capacity of a serving engine, from a run in which every slot is always full.
 * It is used for engines without a closed form: with a limit on memory or on tokens per step, other
 * step costs, or draft lengths that vary. The requests are the question's, without their
 * arrivals. */
#ifndef SPECLAB_SATURATED_RUN_H
#define SPECLAB_SATURATED_RUN_H

#include "tools/serve/serving_question.h"

typedef struct {
    double capacity; /* requests/s, by simulation */
    double rounds;   /* mean rounds of a request */
    double step;     /* mean time of a step, s */
} spec_saturated_run;

/* Computes the capacity. If the batch or memory is limited, one run has that many requests in the
 * system. If neither is, two runs have B and 2 B requests. Each request then pays 1/B of the step's
 * fixed time, and
 *
 *     1 / capacity = 2 / X(2B) - 1 / X(B)
 *
 * removes that share. The first requests have only a part of their length left, as in a batch that
 * has run for long. Returns the errors of spec_serving_run. */
int spec_saturated_run_capacity(spec_saturated_run *ret, const spec_serving_question *question,
                                const spec_serving_way *way, uint64_t seed,
                                const volatile int *opt_stop, spec_error *error);

#endif
