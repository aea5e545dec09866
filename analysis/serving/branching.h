/* SPDX-License-Identifier: GPL-3.0-or-later */
/* branching: an engine under Poisson arrivals, without limits of memory, slots or token budget.
 * Each request lengthens the steps that serve it. The requests that arrive during this extra time
 * begin one step later; we call them its children, and their number is Poisson. All means and
 * variances are exact. Pure functions. [Ferland06] treats the case of a constant added time;
 * docs/formulas/serving.md#branching. */
#ifndef SPECLAB_BRANCHING_H
#define SPECLAB_BRANCHING_H

#include "analysis/serving/idle_steps.h"
#include "analysis/serving/request_kinds.h"

/* Values are per step unless stated otherwise, and times are in seconds. */
typedef struct {
    double load;
    double step, step2;           /* mean and mean square of its time */
    double batch, batch_variance; /* mean and variance of the number of requests that decode */
    /* mean number of requests in their prefill, or in their first round */
    double prefills;
    double wait;                  /* mean time from arrival to the first step */
    double first_token;           /* mean time from arrival to the end of the first step */
    double latency;               /* mean time from arrival to the last token */
    double busy;                  /* share of time in steps */
} spec_branching;

/* Solves for an engine, given the life of its requests.
 *
 *     E[step] = (base + idle extra) / (1 - load),   load = rate extra
 *     Var(sum over a step's requests) = rate base sum_k E[(sum over a family in its step k)^2]
 *
 * plus terms of idle and undrafted steps                         docs/formulas/serving.md#branching
 *
 *   life       of all requests, with shared costs
 *   rate       requests/s, > 0
 *   base       time of a step in which requests decode, without what they add, s, >= 0
 *   undrafted  time of a step with only prefills, in [0, base]; base if there are none
 *   steps      from spec_idle_steps_solve; all 0 for an engine that also runs empty steps
 *   returns GSL_SUCCESS; GSL_EDOM outside the domain and if load >= 1; GSL_ENOMEM; GSL_EMAXITER
 *           if a sum does not converge; on failure all fields are NaN
 * Takes O(n^2) for lives of n steps, with a factor of about 30. */
int spec_branching_of_life(spec_branching *ret, const spec_request_life *life, double rate,
                           double base, double undrafted, const spec_idle_steps *steps);

/* Does the same from kinds of requests and an affine step, including the life and the idle steps.
 * Checked by: the Markov chain of the requests in each step; the long sum over lives; the engine
 * (tests/experiments). */
int spec_branching_of_kinds(spec_branching *ret, const spec_request_kinds *kinds,
                            const spec_affine_step *cost, double rate);

#endif
