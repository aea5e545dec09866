/* SPDX-License-Identifier: GPL-3.0-or-later */
/* http: asks servers over HTTP, several requests at once, with JSON bodies and answers.
 * Work is divided into lanes: requests of one lane follow one another, and lanes run side by side.
 * A busy server (429, 503) and a lost connection are tried again, after growing pauses. Answers are
 * foreign: they are limited in bytes and in memory before they are parsed. */
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
} spec_http_request;

typedef struct {
    int lanes;
    double timeout;               /* longest time of a request, s */
    int tries;                    /* of a request, before giving up */
    double pause;                 /* before the second try, s; doubles each time */
    const volatile int *opt_stop; /* nonzero: give up; requests under way are dropped */
    /* Fills in the lane's next request, which is zeroed; false: the lane has no more. */
    bool (*next)(void *self, int lane, spec_http_request *ret);
    /* Takes the answer of the lane's last request, and keeps no reference to it. */
    int (*take)(void *self, int lane, const json_t *answer, spec_error *error);
    void *self;
} spec_http_work;

#define SPEC_HTTP_DEFAULT ((spec_http_work){.timeout = 120.0, .tries = 6, .pause = 0.25})

/* Runs all requests of all lanes. Returns GSL_EFAILED if a server cannot be reached, hangs, or
 * answers with an error; GSL_EINVAL if an answer is not JSON, or too large; GSL_ENOMEM; or what
 * `take` returned. The message begins with the URL. After *opt_stop it returns GSL_SUCCESS. */
int spec_http_run(const spec_http_work *work, spec_error *error);

/* Sends one request, with the time-outs and tries of `how`. The caller releases the answer, which
 * is NULL after *opt_stop. */
int spec_http_ask(json_t **ret_answer, const spec_http_request *request, const spec_http_work *how,
                  spec_error *error);

#endif
