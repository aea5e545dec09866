/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capacity: the load of an engine, and the means that follow from it for any arrival process.
 * A step takes `base` seconds, and each request adds `extra` seconds in total to the steps of its
 * life. The long-run means hold along every sample path. Pure functions, NaN outside the domain.
 * [Kong26]; [Nie26]; docs/formulas/serving.md#capacity and #limited-capacity. */
#ifndef SPECLAB_CAPACITY_H
#define SPECLAB_CAPACITY_H

/* Returns the load: rate extra.
 *
 *   rate   requests/s, >= 0
 *   extra  mean time that a request adds to the steps of its life, s, >= 0. For an affine step it
 *          is token (prompt + (K+1) rounds) + draft_token K rounds + kv contexts:
 *          spec_request_life_total */
double spec_capacity_load(double rate, double extra);

/* Returns the rate at which the load is 1, in requests/s: 1 / extra; inf at extra = 0. */
double spec_capacity_rate(double extra);

/* Returns an upper bound on the arrival rate that a scheduler can keep up with, requests/s, if each
 * step holds at most `limit` units of a resource, such as slots or tokens of KV cache. It holds for
 * every scheduler that repeats no work.
 *
 *     1 / (extra + (step held + draft held_rounds) / limit)
 *         docs/formulas/serving.md#limited-capacity; [Nie26] for extra = draft = 0
 *
 *   extra        as above
 *   step         the step's own time, s, >= 0
 *   draft        time that a step adds to it if a request decodes, s, >= 0
 *   held         mean units that a request holds, summed over the steps of its life, >= 0
 *   held_rounds  that sum over its rounds only, in [0, held]
 *   limit        > 0; inf gives spec_capacity_rate
 * With the slots as the resource and no prefills it is attained: spec_saturation_rate. If held and
 * held_rounds are both what a request reserves, and the largest reservation is taken off the limit,
 * it is a rate below which a scheduler that reserves is stable. Checked by: engines that are always
 * full. */
double spec_capacity_limited(double extra, double step, double draft, double held,
                             double held_rounds, double limit);

/* Returns the mean time of a step, s.
 *
 *     E[step] = base / (1 - load)                      while the engine is never idle
 *     E[step] = (base + idle extra) / (1 - load)       docs/formulas/serving.md#capacity
 *
 *   base    mean time of a step without what requests add, s, > 0
 *   load    in [0,1); the result is inf if it is 1 or more
 *   extra   >= 0
 *   idle    idle periods per step, in [0,1]; each ends when a request arrives. 0 if never idle
 * Checked by: the Markov chain of the requests in each step (test_branching.c). */
double spec_capacity_step(double base, double load, double extra, double idle);

/* Returns the mean number of requests in a step, from the mean number of steps in a life.
 *
 *     E[batch] = steps (rate E[step] + idle)
 *
 * With steps = E[N] only decoding requests are counted; if the engine is never idle, this is rate
 * E[N] base / (1-load). The mean is over steps. Little's law for the latency needs the mean over
 * time, which is larger (analysis/serving/branching.h). */
double spec_capacity_batch(double rate, double steps, double step, double idle);

#endif
