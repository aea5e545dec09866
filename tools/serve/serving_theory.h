/* SPDX-License-Identifier: GPL-3.0-or-later */
/* serving_theory: what theory says about a serving engine, next to its simulation.
 * The theorems are in analysis/serving; this module decides which of them apply to a question. A
 * number that no theorem gives is NaN. docs/serving.md#theory. */
#ifndef SPECLAB_SERVING_THEORY_H
#define SPECLAB_SERVING_THEORY_H

#include "tools/serve/serving_question.h"

/* The quantiles of steps and of requests are at 50, 90 and 99 %. */
enum { SPEC_SERVING_QUANTILES = 3 };
extern const double spec_serving_quantiles[SPEC_SERVING_QUANTILES];

typedef struct {
    double base;     /* fixed time of a step, including its draft, s */
    double rounds;   /* mean rounds of a request that is not preempted */
    double capacity; /* requests/s */
    /* upper bound of the rate that a scheduler can keep up with, given the limits on slots and on
     * memory, requests/s: docs/formulas/serving.md#limited-capacity */
    double capacity_most;
    /* of a step: mean and variance of its decoding requests; mean time, s */
    double batch, batch_var, step;
    double tokens_per_s, tokens_per_round, latency, wait, first_token;
    double latency_limit; /* the limit near capacity: docs/formulas/serving.md#heavy-traffic */
    /* number of requests after which a deviation has decayed by a factor of e, from that limit; at
     * least a lifetime */
    double relaxation;
    double batch_at[SPEC_SERVING_QUANTILES], step_at[SPEC_SERVING_QUANTILES],
        latency_at[SPEC_SERVING_QUANTILES];
} spec_serving_theory;

/* Fills the theory. Returns GSL_ENOMEM. */
int spec_serving_theory_fill(spec_serving_theory *ret, const spec_serving_question *question,
                             const spec_serving_way *way, spec_error *error);

#endif
