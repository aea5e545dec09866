/* SPDX-License-Identifier: GPL-3.0-or-later */
/* streams: asks a server for a text as a stream, and reads its events, by the engine that it runs.
 * Only numbers of tokens and of draft tokens are read, never the text. Events are not trusted; an
 * error message names what is wrong in them. */
#ifndef SPECLAB_STREAMS_H
#define SPECLAB_STREAMS_H

#include "tools/live/dialects.h"

/* What an event says; the numbers count from the beginning of the text. */
typedef struct {
    int tokens;                       /* of the text so far; -1: the event does not say */
    bool ends;                        /* no further event of this text has tokens */
    double rounds, drafted, accepted; /* of the whole text; NaN: the event does not say */
} spec_live_event;

typedef struct {
    const char *dialect; /* name of the spec_dialect */
    /* responses count drafts; else /metrics does */
    bool counts;
    /* the server may take a draft length with each request */
    bool K_by_request;
    bool marked_end;    /* "[DONE]" ends the stream */
    const char *launch; /* example of a command for --launch */
    /* Makes the request for a text; the prompt bypasses the prefix cache if the engine allows that.
     * Takes `sampling`, the dialect's keys. K: -1 leaves the draft length to the server. */
    void (*ask)(spec_http_request *ret, const spec_live_server *server, const char *prompt,
                json_t *sampling, uint64_t seed, int K);
    /* Reads an event. Returns GSL_EINVAL if it is not what was asked for, and GSL_EFAILED if it is
     * an error of the server. */
    int (*read)(spec_live_event *ret, const json_t *event, spec_error *error);
} spec_live_stream;

/* Returns how to stream from the server, which must be open. */
const spec_live_stream *spec_live_stream_of(const spec_live_server *server);

#endif
