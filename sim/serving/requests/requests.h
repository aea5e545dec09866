/* SPDX-License-Identifier: GPL-3.0-or-later */
/* requests: a source of requests (request.h): from distributions, a trace and accepted lengths.
 * Arrivals, prompts, outputs, acceptance and rows each have their own random stream, so changing
 * one of these leaves the others as they are. Borrows what it points to. */
#ifndef SPECLAB_REQUESTS_H
#define SPECLAB_REQUESTS_H

#include "sim/serving/request.h"
#include "sim/serving/requests/accepted_lengths.h"
#include "sim/serving/requests/alpha_law.h"
#include "sim/serving/requests/arrivals.h"
#include "sim/serving/requests/length_law.h"
#include "sim/serving/requests/request_trace.h"

typedef struct {
    /* TRACE: the requests of the trace, in its order and at its times, until it ends. Otherwise
     * requests never end, and rows of the trace are drawn uniformly. */
    spec_arrivals arrivals;
    double speed; /* TRACE: the times of the trace are divided by this, > 0 */
    /* OF_ROW: the lengths in the trace or, without a trace, in the file of accepted lengths */
    spec_length_law prompt, output;
    spec_alpha_law alpha; /* unused with opt_accepted */
    const spec_request_trace *opt_trace;
    /* Each request replays one request of this file, drawn uniformly, with its alpha. */
    const spec_accepted_lengths *opt_accepted;
    /* > 0: requests are drawn by the length of their output, which is at most this for OF_ROW */
    int by_length;
} spec_requests;

/* Returns the same requests, all at time 0 and drawn in proportion to the length of their output,
 * like the requests that are under way at a given time. */
spec_requests spec_requests_by_length(const spec_requests *requests);

double spec_requests_mean_output(const spec_requests *requests);

/* Returns the mean context of a request during its output, E[L (P + L/2)] / E[L] for outputs of L
 * tokens after prompts of P. */
double spec_requests_mean_context(const spec_requests *requests);

/* Returns a bound on the mean context of any one request, P + L/2. */
double spec_requests_most_context(const spec_requests *requests);

/* Returns GSL_EINVAL, with a message of one line, if something that the settings ask for is
 * missing: a trace, its times, or lengths. Call it before _source. */
int spec_requests_check(const spec_requests *requests, spec_error *error);

/* Finds the chance that a request is among those with the longest outputs, which together hold this
 * share of E[L^2]. It comes from spec_length_law_longest or from the rows of the trace, and is NaN
 * if lengths have no heavy tail. Returns GSL_SUCCESS or GSL_ENOMEM. */
int spec_requests_longest(double *ret_chance, const spec_requests *requests, double share,
                          spec_error *error);

/* Returns a source. The requests must outlive it, and must not move in memory. */
spec_request_source spec_requests_source(const spec_requests *requests);

/* The exact joint distribution of a request's output, prompt and alpha, for theory. Alpha is
 * independent of the lengths. */
typedef struct {
    int most;       /* the longest output */
    double *output; /* (most + 1) P(output = l) at l = 0..most; 0 at l = 0 */
    double *prompt; /* (most + 1) mean prompt tokens of requests with this output; 0 if none */
    double mean_output, mean_prompt, mean_prompt_square;
    int n_alpha; /* nodes as spec_alpha_law_nodes gives them; 0 with accepted lengths */
    double alpha[SPEC_ALPHA_NODES], weight[SPEC_ALPHA_NODES];
} spec_requests_law;

/* Computes this distribution for requests that passed _check. A long tail is cut where less than
 * 1e-15 of the probability is left, and the last length gets the rest. Returns GSL_SUCCESS or
 * GSL_ENOMEM. */
int spec_requests_law_init(spec_requests_law *law, const spec_requests *requests,
                           spec_error *error);
void spec_requests_law_free(spec_requests_law *law); /* accepts a zeroed object */

#endif
