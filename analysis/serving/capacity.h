/* SPDX-License-Identifier: GPL-3.0-or-later */
/* capacity: the load of an engine, and the means that follow from it for every arrival process.
 * A step takes `base` seconds, and each request adds `extra` seconds to all steps of its life
 * together: both hold along every sample path. Pure functions, NaN outside the domain.
 * [Kong26]; docs/formulas.md#capacity. */
#ifndef SPECLAB_CAPACITY_H
#define SPECLAB_CAPACITY_H

/* Load: rate extra.
 *
 *   rate   requests/s, >= 0
 *   extra  mean time that a request adds to the steps of its life, s, >= 0. For an affine step it
 *          is token (prompt + (K+1) rounds) + draft_token K rounds + kv contexts:
 *          spec_request_life_total */
double spec_capacity_load(double rate, double extra);

/* The rate at which the load is 1, requests/s: 1 / extra; inf at extra = 0. */
double spec_capacity_rate(double extra);

/* Mean time of a step, s.
 *
 *     E[step] = base / (1 - load)                      while the engine is never idle
 *     E[step] = (base + idle extra) / (1 - load)       docs/formulas.md#capacity
 *
 *   base    mean time of a step beside what requests add, s, > 0
 *   load    in [0,1); inf from 1 on
 *   extra   >= 0
 *   idle    idle times per step, in [0,1]: each ends with one request; 0 if never idle
 * Checked by: the Markov chain of the requests in each step (test_branching.c). */
double spec_capacity_step(double base, double load, double extra, double idle);

/* Mean requests in a step, from their mean steps of life.
 *
 *     E[batch] = steps (rate E[step] + idle)
 *
 * With steps = E[N] it counts decoding requests; while never idle it is rate E[N] base / (1-load).
 * It is a mean over steps. Latency follows by Little's law from the mean over time, which is larger
 * (analysis/serving/branching.h). */
double spec_capacity_batch(double rate, double steps, double step, double idle);

#endif
