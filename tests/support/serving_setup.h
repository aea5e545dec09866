/* SPDX-License-Identifier: GPL-3.0-or-later */
/* serving_setup: a plan of the serving engine with what it points to, and sources for tests. */
#ifndef SPECLAB_TESTS_SERVING_SETUP_H
#define SPECLAB_TESTS_SERVING_SETUP_H

#include "sim/serving/serving_run.h"

/* Requests with uniform lengths and alphas. */
typedef struct {
    double rate;              /* Poisson arrivals, requests/s; 0: all at time 0 */
    int prompt[2], output[2]; /* smallest and largest, uniform */
    double alpha[2];          /* uniform between them */
    double without_prompt;    /* share of requests with prompt 0 */
    int replays;              /* > 0: each request replays one of this many lists, or none */
    uint64_t most;            /* requests; 0: without end */
    uint64_t begun;           /* this many requests have begun already, at time 0 */
} drawn_requests;

spec_request_source drawn_requests_source(const drawn_requests *requests);

/* Draws n requests into an array. */
typedef struct {
    const spec_request *request;
    int n;
} listed_requests;

spec_request_source listed_requests_source(const listed_requests *requests);

typedef struct {
    drawn_requests requests;
    listed_requests listed;
    spec_step_cost *cost;
    spec_length_choice *lengths;
    spec_serving_plan plan; /* closed; one slot; 300 requests after 100; blocks of 16 */
} serving_setup;

/* All requests have this output and alpha, and no prompt. A wrong spec fails the test. The setup
 * must stay where it is. */
void serving_setup_init(serving_setup *setup, const char *target, const char *draft,
                        const char *lengths, int output, double alpha);
void serving_setup_list(serving_setup *setup, const spec_request *request, int n); /* to its end */
void serving_setup_free(serving_setup *setup);

/* Returns the sums of one run, which must succeed. */
spec_serving_sums serving_setup_sums(const serving_setup *setup, uint64_t seed, uint64_t stream);

#endif
