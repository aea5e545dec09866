/* SPDX-License-Identifier: GPL-3.0-or-later */
/* begun_requests: a source whose first requests have only a part of their output left.
 * A batch that starts with them is like one that has run for long: without them all slots would
 * start, and complete, at the same time. The parts are spread evenly, by multiples of the golden
 * ratio from a random number on. */
#ifndef SPECLAB_BEGUN_REQUESTS_H
#define SPECLAB_BEGUN_REQUESTS_H

#include "sim/serving/request.h"

typedef struct {
    spec_request_source inner;
    int begun; /* number of such requests at the begin of a cursor */
} spec_begun_requests;

/* The requests must outlive the source, and stay where they are. */
spec_request_source spec_begun_requests_source(const spec_begun_requests *requests);

#endif
