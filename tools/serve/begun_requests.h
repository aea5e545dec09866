/* SPDX-License-Identifier: GPL-3.0-or-later */
/* begun_requests: a source that starts with the requests already under way in an engine.
 * The source behaves as if the engine had been running for long. So the longest requests, for which
 * we would have to wait many warm-ups, are there from the start. What a begun request has already
 * emitted is part of its prompt, and is in the KV cache. If blocks are limited it is computed
 * again, as after preemption. */
#ifndef SPECLAB_BEGUN_REQUESTS_H
#define SPECLAB_BEGUN_REQUESTS_H

#include "sim/serving/request.h"

/* At any time, the requests under way are drawn in proportion to their time in the system, and the
 * fraction of this time that has passed is uniform (an equilibrium renewal process). If rounds emit
 * m tokens, a request is under way for output/m steps. Steps that read a long context take longer:
 * a request's step at a context c takes step (1 + growth (c - context)). Each request is drawn
 * together with its age, and all methods see the same draws; a method leaves out the requests that
 * it would have completed by then. So a slower method starts with the requests of a faster one and
 * some more. */
typedef struct {
    spec_request_source inner;     /* the requests that follow */
    spec_request_source by_length; /* drawn in proportion to their output length */
    int slots;                     /* CLOSED: number of begun requests; 0: OPEN */
    double mean;   /* OPEN: mean number (Poisson) if a step takes one unit and emits one token */
    double step;   /* mean time of a step, in these units; 1 in a closed loop */
    double growth, context; /* context: the mean context; growth * context < 1 */
    double most_context;    /* at least the mean context of any request */
    /* tokens per round, m; 0: computed from the alpha of each request, with K draft tokens */
    double tokens;
    int K;
} spec_begun_requests;

/* The requests must outlive the source, and must not move in memory. */
spec_request_source spec_begun_requests_source(const spec_begun_requests *requests);

#endif
