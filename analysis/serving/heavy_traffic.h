/* SPDX-License-Identifier: GPL-3.0-or-later */
/* heavy_traffic: an engine under Poisson arrivals near its capacity.
 * There the time that requests add to a step becomes large, changes slowly compared with the life
 * of a request, and has a gamma distribution. So the moments of a life suffice to compute the
 * latency and its percentiles. Pure functions. [FahadyQVJ71; IspanyPap14];
 * docs/formulas/serving.md#heavy-traffic. */
#ifndef SPECLAB_HEAVY_TRAFFIC_H
#define SPECLAB_HEAVY_TRAFFIC_H

#include "analysis/serving/branching.h"

/* The limit as the load tends to 1, where w is the sum of e_j over a life. */
typedef struct {
    double base;   /* time of a step without what requests add, s */
    double load;   /* rate E[w] */
    double steps;  /* mean steps of a life */
    double turn;   /* beta = sum_j (j + 1) E[e_j] / E[w]: the mean step in which children begin */
    double prompt; /* E[e_0] if requests have a prefill, s; else 0 */
    double shape;  /* of the gamma law: 2 base turn E[w] / E[w^2] */
    /* mean latency, s: (steps + 1/2) (base + E[w^2] / (2 turn E[w])) / (1 - load) */
    double latency;
} spec_heavy_traffic;

/* Computes the limit from the life of a request.
 *
 *   life  of all requests, with shared costs
 *   rate  requests/s, > 0
 *   base  time of a step in which requests decode, without what they add, s, > 0
 *   returns GSL_SUCCESS; GSL_EDOM outside the domain, if load >= 1, and if no request adds
 *           anything to a step; on failure all fields are NaN
 * Checked by: spec_branching at loads up to .999; queues with known limits. */
int spec_heavy_traffic_of_life(spec_heavy_traffic *ret, const spec_request_life *life, double rate,
                               double base);

/* Return the q-quantile, q in (0,1), of three quantities: the number of requests that decode in a
 * step, the time of a step (s), and the latency (s). We take gamma distributions with the exact
 * moments of `branching`, which must be for the same load. A request of n steps waits for the rest
 * of the current step and then takes n more: about n + 1/2 steps, all nearly as long as the step it
 * arrived in.
 *
 * A value is returned only where its error is at most 5 %; the error is proportional to 1 - load.
 * This requires 1 - load <= min(shape, 4)/20. Quantiles of step times also require shape >= 1 and a
 * prompt that adds at most .4 of the mean that all requests add to a step. Otherwise the result is
 * NaN. The latency takes O(n) for a life of n steps, with a factor of about 40. Checked by:
 * simulation (tests/tools/serve). docs/formulas/serving.md#near-capacity-percentiles */
double spec_heavy_traffic_batch_quantile(double q, const spec_heavy_traffic *limit,
                                         const spec_branching *branching);
double spec_heavy_traffic_step_quantile(double q, const spec_heavy_traffic *limit,
                                        const spec_branching *branching);
double spec_heavy_traffic_latency_quantile(double q, const spec_heavy_traffic *limit,
                                           const spec_branching *branching,
                                           const spec_request_life *life);

#endif
