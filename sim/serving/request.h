/* SPDX-License-Identifier: GPL-3.0-or-later */
/* request: one request of a serving engine, and the interface of sources of requests.
 * A source is shared by threads and constant. A cursor is one run's place in it. Its requests are a
 * function of the source, the seed and the stream alone. So engines with other K or other costs
 * serve the same requests (common random numbers). */
#ifndef SPECLAB_REQUEST_H
#define SPECLAB_REQUEST_H

#include "speclab/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    double arrival; /* s, never falling along a cursor; 0 in a closed loop */
    int prompt;     /* tokens, >= 0; 0: decoding begins at once */
    int output;     /* tokens to emit, >= 1 */
    float alpha;    /* chance that a draft token is accepted, in [0, 1] */
    /* the accepted lengths that its rounds replay, in order and from the start again (see
     * accepted_lengths.h); -1: rounds are drawn with alpha */
    int32_t replay;
    bool begun; /* one of those under way at time 0: it has no number, and is not measured */
} spec_request;

typedef struct spec_request_source {
    const void *self;
    /* NULL without memory. */
    void *(*begin)(const void *self, uint64_t seed, uint64_t stream);
    bool (*next)(void *cursor, spec_request *ret_request); /* false: no further request */
    void (*end)(void *cursor);
} spec_request_source;

#endif
