/* SPDX-License-Identifier: GPL-3.0-or-later */
/* begun_requests: a source that begins with the requests under way in an engine.
 * The engine has run for long: the longest requests, which take many warm-ups to come, are there
 * from the beginning. The emitted part of a begun request is part of its prompt, which is in the KV
 * cache unless blocks are limited: it is computed again then, as after preemption. */
#ifndef SPECLAB_BEGUN_REQUESTS_H
#define SPECLAB_BEGUN_REQUESTS_H

#include "sim/serving/request.h"

/* At any time, requests under way are drawn by their length, and the part that they have emitted is
 * uniform (an equilibrium renewal process). One whose rounds emit m tokens is under way for output
 * steps / m. Requests are drawn with their age, the same ones for all ways, and a way leaves out
 * those that it has completed by then. So ways begin with the same requests, and slower ones with
 * more. */
typedef struct {
    spec_request_source inner;     /* the requests after them */
    spec_request_source by_length; /* drawn by the length of their output */
    int slots;                     /* CLOSED: number of begun requests; 0: OPEN */
    double mean;   /* OPEN: mean number, where a step takes one unit and emits a token: Poisson */
    double step;   /* time of a step, in these units; 1 in a closed loop */
    double tokens; /* m; 0: by the alpha of each request, with K draft tokens */
    int K;
} spec_begun_requests;

/* The requests must outlive the source, and stay where they are. */
spec_request_source spec_begun_requests_source(const spec_begun_requests *requests);

#endif
