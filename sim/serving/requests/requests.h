/* SPDX-License-Identifier: GPL-3.0-or-later */
/* requests: a source of requests (request.h), from laws, a trace and a file of accepted lengths.
 * Arrivals, prompts, outputs, acceptance and rows have random streams of their own: changing one
 * leaves the others as they are. Borrows what it points to. */
#ifndef SPECLAB_REQUESTS_H
#define SPECLAB_REQUESTS_H

#include "sim/serving/request.h"
#include "sim/serving/requests/accepted_lengths.h"
#include "sim/serving/requests/alpha_law.h"
#include "sim/serving/requests/arrivals.h"
#include "sim/serving/requests/length_law.h"
#include "sim/serving/requests/request_trace.h"

typedef struct {
    /* TRACE: the trace's requests in its order, at its times, to its end. Otherwise requests are
     * without end, and rows of the trace are drawn uniformly. */
    spec_arrivals arrivals;
    double speed; /* TRACE: a trace's times are divided by it, > 0 */
    /* OF_ROW: those of the trace, or without one those of the accepted lengths */
    spec_length_law prompt, output;
    spec_alpha_law alpha; /* unused with opt_accepted */
    const spec_request_trace *opt_trace;
    /* Each request replays one of these, drawn uniformly; alpha is the file's. */
    const spec_accepted_lengths *opt_accepted;
    /* > 0: requests are drawn by the length of their output, which is at most this for OF_ROW */
    int by_length;
} spec_requests;

/* The same requests at time 0, drawn by the length of their output: as those that are under way at
 * a given time. */
spec_requests spec_requests_by_length(const spec_requests *requests);

double spec_requests_mean_output(const spec_requests *requests);

/* GSL_EINVAL with one line if something that the others ask for is missing: a trace, its times, or
 * lengths. Call it before _source. */
int spec_requests_check(const spec_requests *requests, spec_error *error);

/* The chance of a request among those with the longest outputs, which hold this share of E[L^2]:
 * as spec_length_law_longest, or of rows. NaN where lengths have no heavy tail. GSL_ENOMEM. */
int spec_requests_longest(double *ret_chance, const spec_requests *requests, double share,
                          spec_error *error);

/* The requests must outlive the source, and stay where they are. */
spec_request_source spec_requests_source(const spec_requests *requests);

/* The exact joint law of a request's output, prompt and alpha, for theory. Alpha is independent of
 * the lengths. */
typedef struct {
    int most;       /* the longest output */
    double *output; /* (most + 1) P(output = l) at l = 0..most; 0 at l = 0 */
    double *prompt; /* (most + 1) mean prompt tokens of requests with this output; 0 if none */
    double mean_output, mean_prompt, mean_prompt_square;
    int n_alpha; /* nodes as spec_alpha_law_nodes gives them; 0 with accepted lengths */
    double alpha[SPEC_ALPHA_NODES], weight[SPEC_ALPHA_NODES];
} spec_requests_law;

/* The requests are checked ones. GSL_ENOMEM. A long tail ends where it has less than 1e-15 of the
 * probability: the last length has it all. */
int spec_requests_law_init(spec_requests_law *law, const spec_requests *requests,
                           spec_error *error);
void spec_requests_law_free(spec_requests_law *law); /* accepts a zeroed object */

#endif
