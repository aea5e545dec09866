/* SPDX-License-Identifier: GPL-3.0-or-later */
/* idle_steps: how often an engine under Poisson arrivals falls idle, and serves prefills alone.
 * A request and those that arrive while it is served, directly or indirectly, are its family. All
 * follows from the chances that a family is gone, or has prefills alone, n steps after it began.
 * Pure functions. [Foster71; Pakes71]; docs/formulas.md#idle-steps. */
#ifndef SPECLAB_IDLE_STEPS_H
#define SPECLAB_IDLE_STEPS_H

#include "analysis/serving/request_kinds.h"

/* Means per step. */
typedef struct {
    double idle;      /* idle times: after such a step the engine waits for the next arrival */
    double undrafted; /* share of steps in which no request decodes, so that none drafts */
    double newcomers; /* requests in those steps: E[prefills; no request decodes] */
} spec_idle_steps;

/* Solves for the three.
 *
 *     G(s) = h(s) G(F(s)) + (h0(s) - h(s)) G0(F(s)) + idle (s_1 - 1)   docs/formulas.md#idle-steps
 *
 *   kinds  the requests
 *   cost   an affine step; its draft_round + draft_pass K are paid where a request decodes, K > 0
 *   rate   Poisson arrivals, requests/s, > 0, below the capacity
 *   returns GSL_SUCCESS; GSL_EDOM outside the domain; GSL_ENOMEM; GSL_EMAXITER if sums do not end;
 *           zeroed on failure
 * undrafted and newcomers are computed only where they matter: with a prefill, K > 0 and a cost per
 * drafting step; else they are 0. Values below 1e-9 may be 0. Exact if the prompts of a kind all
 * have one length. Others enter with their mean into contexts, and with a gamma law of their mean
 * and mean square into prefills. O(kinds L^2 K), times about 20: 1 to 5 ms per kind for L = 256.
 * Checked by: the Markov chain of the requests in each step. */
int spec_idle_steps_solve(spec_idle_steps *ret, const spec_request_kinds *kinds,
                          const spec_affine_step *cost, double rate);

#endif
