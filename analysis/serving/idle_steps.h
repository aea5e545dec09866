/* SPDX-License-Identifier: GPL-3.0-or-later */
/* idle_steps: how often an engine under Poisson arrivals is idle or serves only prefills.
 * The family of a request consists of the request, those that arrive while it is served, those that
 * arrive while they are served, and so on. Everything follows from the chance that a family is
 * gone, or has only prefills left, n steps after it began. Pure functions. [Foster71; Pakes71];
 * docs/formulas/serving.md#idle-steps. */
#ifndef SPECLAB_IDLE_STEPS_H
#define SPECLAB_IDLE_STEPS_H

#include "analysis/serving/request_kinds.h"

/* Means per step. */
typedef struct {
    double idle;      /* idle periods: how often the engine waits for an arrival after a step */
    double undrafted; /* share of steps in which no request decodes, so nothing is drafted */
    double newcomers; /* requests in those steps: E[prefills; no request decodes] */
} spec_idle_steps;

/* Solves for these three.
 *
 *     G(s) = h(s) G(F(s)) + (h0(s) - h(s)) G0(F(s)) + idle (s_1 - 1)
 *         docs/formulas/serving.md#idle-steps
 *
 *   kinds  the requests
 *   cost   an affine step; draft_round + draft_pass K is paid if a request decodes and K > 0
 *   rate   Poisson arrivals, requests/s, > 0, below the capacity
 *   returns GSL_SUCCESS; GSL_EDOM outside the domain; GSL_ENOMEM; GSL_EMAXITER if a sum does not
 *           converge; zeroed on failure
 * undrafted and newcomers are computed only where they matter, that is, with a prefill, K > 0 and a
 * cost per drafting step; otherwise they are 0. Values below 1e-9 may be returned as 0. The result
 * is exact if all prompts of a kind have the same length. If not, contexts use their mean, and
 * prefills a gamma distribution with their mean and mean square. Takes O(kinds L^2 K), with a
 * factor of about 20: 1 to 5 ms per kind for L = 256. Checked by: the Markov chain of the requests
 * in each step. */
int spec_idle_steps_solve(spec_idle_steps *ret, const spec_request_kinds *kinds,
                          const spec_affine_step *cost, double rate);

#endif
