/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cost_range: the latency and the speed-up that uncertain step costs leave open, by theory.
 * Nothing is simulated again. The theorems are computed at the corners of those settings which the
 * specs leave open (docs/formulas/costs.md#roofline-of-steps). */
#ifndef SPECLAB_COST_RANGE_H
#define SPECLAB_COST_RANGE_H

#include "experiments/serving/serving_question.h"

/* The ends over the corners: s, and plain latency over that. A latency is infinite if a corner is
 * at or above capacity; a speed-up is over corners in which both have a latency. All are NaN
 * without theory, if nothing is uncertain, and if an output may have more than 512 tokens, because
 * theory of long outputs would take minutes at so many corners. */
typedef struct {
    double latency_low, latency_high;
    double speedup_low, speedup_high;
} spec_cost_range;

/* Of one way, from the specs of the question's cost. As spec_serving_theory_fill. */
int spec_cost_range_fill(spec_cost_range *range, const spec_serving_question *question,
                         const spec_serving_way *way, const char *cost, const char *draft_cost,
                         spec_error *error);

#endif
