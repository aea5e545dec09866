/* SPDX-License-Identifier: GPL-3.0-or-later */
/* request: one request of a serving engine, and the interface of sources of requests.
 * A source is shared by threads and constant. A cursor is the position of one run in it. The
 * requests depend only on the source, the seed and the stream, so engines with a different K or
 * different costs serve the same requests (common random numbers). */
#ifndef SPECLAB_REQUEST_H
#define SPECLAB_REQUEST_H

#include "speclab/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    double arrival; /* s, in ascending order along a cursor; 0 in a closed loop */
    int prompt;     /* tokens, >= 0; 0: decoding begins at once */
    int output;     /* tokens to emit, >= 1 */
    float alpha;    /* chance that a draft token is accepted, in [0, 1] */
    /* which accepted lengths its rounds replay, in order and then again from the start (see
     * accepted_lengths.h); -1: rounds are drawn with alpha */
    int32_t replay;
    bool begun; /* it is already under way at time 0, so it is not numbered and not measured */
} spec_request;

typedef struct spec_request_source {
    const void *self;
    /* Returns a cursor, or NULL if there is no memory. */
    void *(*begin)(const void *self, uint64_t seed, uint64_t stream);
    bool (*next)(void *cursor, spec_request *ret_request); /* false: no further request */
    void (*end)(void *cursor);
} spec_request_source;

#endif
