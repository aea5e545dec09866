/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cost_range: the latency and the speed-up that uncertain step costs leave open, by theory.
 * Nothing is simulated again. The theorems are computed at the corners of those settings which the
 * specs leave open (docs/formulas/costs.md#roofline-of-steps). */
#ifndef SPECLAB_COST_RANGE_H
#define SPECLAB_COST_RANGE_H

#include "tools/serve/serving_question.h"

/* The smallest and largest values over the corners, of the latency in seconds and of the speed-up,
 * which is the plain latency divided by it. A latency is infinite if a corner is at or above
 * capacity; a speed-up only counts corners where both latencies are finite. All are NaN without
 * theory, if nothing is uncertain, and if an output may have more than 512 tokens, because the
 * theory of long outputs would take minutes at all corners. */
typedef struct {
    double latency_low, latency_high;
    double speedup_low, speedup_high;
} spec_cost_range;

/* Computes the range of one method of drafting, from the specs of the question's costs. Returns the
 * same codes as spec_serving_theory_fill. */
int spec_cost_range_fill(spec_cost_range *range, const spec_serving_question *question,
                         const spec_serving_way *way, const char *cost, const char *draft_cost,
                         spec_error *error);

#endif
