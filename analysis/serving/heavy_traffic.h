/* SPDX-License-Identifier: GPL-3.0-or-later */
/* heavy_traffic: an engine under Poisson arrivals near its capacity.
 * The time that requests add to a step becomes large and slow against the life of a request, and
 * its law a gamma law. So latency and its percentiles need no more than moments of a life. Pure
 * functions. [FahadyQVJ71; IspanyPap14]; docs/formulas.md#heavy-traffic. */
#ifndef SPECLAB_HEAVY_TRAFFIC_H
#define SPECLAB_HEAVY_TRAFFIC_H

#include "analysis/serving/branching.h"

/* The limit as the load tends to 1, where w is the sum of e_j over a life. */
typedef struct {
    double base;   /* time of a step beside what requests add, s */
    double load;   /* rate E[w] */
    double steps;  /* mean steps of a life */
    double turn;   /* beta = sum_j (j + 1) E[e_j] / E[w]: the mean step in which children begin */
    double prompt; /* E[e_0] of requests with a prefill, s; else 0 */
    double shape;  /* of the gamma law: 2 base turn E[w] / E[w^2] */
    /* (1 - load) E[latency] -> (steps + 1/2) (base + E[w^2] / (2 turn E[w])); this over 1 - load */
    double latency;
} spec_heavy_traffic;

/* From a life.
 *
 *   life  of all requests, with shared costs
 *   rate  requests/s, > 0
 *   base  time of a step in which requests decode, beside what they add, s, > 0
 *   returns GSL_SUCCESS; GSL_EDOM outside the domain, for load >= 1, and if no request adds
 *           anything to a step; all NaN then
 * Checked by: spec_branching at loads up to .999; queues with known limits. */
int spec_heavy_traffic_of_life(spec_heavy_traffic *ret, const spec_request_life *life, double rate,
                               double base);

/* The q-quantiles, q in (0,1), of the requests that decode in a step, of the time of a step and of
 * latency, s. They are those of gamma laws with the exact moments of `branching`, which is of the
 * same load. A request of n steps waits for the rest of a step and then takes n: (n + 1/2) steps of
 * nearly one time, which its arrival saw.
 *
 * They are within 5 % where they are given, and the error falls as 1 - load does. They are given
 * where 1 - load <= min(shape, 4)/20; those of steps where, besides, shape >= 1, and where a prompt
 * adds at most .4 of the mean that all requests add to a step. NaN elsewhere.
 * Latency: O(n) times about 40 for a life of n steps.
 * Checked by: simulation (tests/experiments/serving). docs/formulas.md#near-capacity-percentiles */
double spec_heavy_traffic_batch_quantile(double q, const spec_heavy_traffic *limit,
                                         const spec_branching *branching);
double spec_heavy_traffic_step_quantile(double q, const spec_heavy_traffic *limit,
                                        const spec_branching *branching);
double spec_heavy_traffic_latency_quantile(double q, const spec_heavy_traffic *limit,
                                           const spec_branching *branching,
                                           const spec_request_life *life);

#endif
