/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capacity: the load of an engine, and the means that follow from it for any arrival process.
 * A step takes `base` seconds, and each request adds `extra` seconds in total to the steps of its
 * life. The long-run means hold along every sample path. Pure functions, NaN outside the domain.
 * [Kong26]; docs/formulas/serving.md#capacity. */
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
