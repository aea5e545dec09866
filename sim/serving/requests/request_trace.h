/* SPDX-License-Identifier: GPL-3.0-or-later */
/* request_trace: the requests of a recorded or planned load, from CSV or lines of JSON.
 * The format follows from the names of columns: docs/formats.md#traces-of-requests lists them.
 * Shared by threads; owns its arrays. The file is streamed, so memory grows only with the number of
 * requests. */
#ifndef SPECLAB_REQUEST_TRACE_H
#define SPECLAB_REQUEST_TRACE_H

#include "speclab/status.h"

#include <stdint.h>

/* The largest number of requests in a trace. */
enum { SPEC_REQUEST_TRACE_MAX = 1 << 26 };

typedef struct {
    int64_t n;       /* requests, >= 1 */
    double *arrival; /* (n) s after the first arrival, ascending; NULL: the file has no times */
    int32_t *prompt; /* (n) tokens, 0..SPEC_LENGTH_MAX */
    int32_t *output; /* (n) tokens, 1..SPEC_LENGTH_MAX */
    /* (n) s, each NULL if the file lacks it: when an engine queued the request, scheduled it, and
     * emitted its first and its last token. Their clock may differ from the one for arrivals. */
    double *queued, *scheduled, *first_token, *last_token;
    int64_t failed;     /* rows with 0 output tokens, which are left out */
    const char *format; /* name of the format, a constant */
} spec_request_trace;

/* Loads a trace. On failure returns GSL_EFAILED, GSL_EINVAL or GSL_ENOMEM with a message
 * "file:line: what", and zeroes the object. */
int spec_request_trace_load(spec_request_trace *trace, const char *path, spec_error *error);
/* Reads the same from a stream, which stays open; `name` appears in messages. */
int spec_request_trace_read(spec_request_trace *trace, FILE *file, const char *name,
                            spec_error *error);
void spec_request_trace_free(spec_request_trace *trace); /* accepts a zeroed object */

#endif
