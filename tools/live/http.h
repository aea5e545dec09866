/* SPDX-License-Identifier: GPL-3.0-or-later */
/* http: asks servers over HTTP, several requests at once, with JSON bodies and answers.
 * Work is divided into lanes: requests of one lane follow one another, and lanes run side by side.
 * A busy server (429, 503) and a lost connection are tried again, after growing pauses. Answers are
 * not trusted: they are limited in bytes and in memory before they are parsed. A stream of events
 * is handed over event by event, as it comes. */
#ifndef SPECLAB_HTTP_H
#define SPECLAB_HTTP_H

#include "speclab/status.h"

#include <jansson.h>
#include <stdbool.h>

enum { SPEC_HTTP_URL = 1024, SPEC_HTTP_LANES = 256 };

typedef struct {
    char url[SPEC_HTTP_URL];
    const char *opt_key; /* API key; it goes into a header, and never into a message */
    json_t *body;        /* sent by POST, and released by the client; NULL: GET */
    bool stream;         /* the answer is a stream of server-sent events (tools/live/events.h) */
    bool text;           /* the answer is text, and handed over as a JSON string */
} spec_http_request;

typedef struct {
    int lanes;
    double timeout;               /* longest time of a request, or between two events, s */
    int tries;                    /* of a request, before giving up */
    double pause;                 /* before the second try, s; doubles each time */
    const volatile int *opt_stop; /* nonzero: give up; requests under way are dropped */
    /* Fills in the lane's next request, which is zeroed; false: the lane has no more. */
    bool (*next)(void *self, int lane, spec_http_request *ret);
    /* Takes the answer of the lane's last request, and keeps no reference to it. NULL: the stream
     * has ended. */
    int (*take)(void *self, int lane, const json_t *answer, spec_error *error);
    /* For streams: the request was sent at this time of spec_clock_monotonic; if `again`, events
     * that came before are void. Takes an event that arrived at this time; NULL: "[DONE]". */
    void (*sent)(void *self, int lane, double at, bool again);
    int (*event)(void *self, int lane, const json_t *event, double at, spec_error *error);
    void *self;
} spec_http_work;

#define SPEC_HTTP_DEFAULT ((spec_http_work){.timeout = 120.0, .tries = 6, .pause = 0.25})

/* Runs all requests of all lanes. Returns GSL_EFAILED if a server cannot be reached, hangs, or
 * answers with an error; GSL_EINVAL if an answer is not JSON, or too large; GSL_ENOMEM; or what
 * `take` or `event` returned. The message begins with the URL. Invalid UTF-8 in an event, as from a
 * character that is cut between two events, is replaced. After *opt_stop it returns
 * GSL_SUCCESS. */
int spec_http_run(const spec_http_work *work, spec_error *error);

/* Sends one request, with the time-outs and tries of `how`. The caller releases the answer, which
 * is NULL after *opt_stop. */
int spec_http_ask(json_t **ret_answer, const spec_http_request *request, const spec_http_work *how,
                  spec_error *error);

#endif
