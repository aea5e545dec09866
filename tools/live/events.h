/* SPDX-License-Identifier: GPL-3.0-or-later */
/* events: splits a stream of server-sent events into the data of each event.
 * Bytes may be cut anywhere. Lines end with LF, CR or CRLF; the data lines of an event are joined
 * by LF; comments and other fields are ignored. Owns its buffers, which a limit keeps small.
 * https://html.spec.whatwg.org/multipage/server-sent-events.html */
#ifndef SPECLAB_EVENTS_H
#define SPECLAB_EVENTS_H

#include "speclab/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { SPEC_EVENT_BYTES = 1 << 20 }; /* maximum bytes of a line, and of the data of an event */

typedef struct {
    char *line, *data; /* the unfinished line, and the data of the unfinished event */
    size_t n_line, line_capacity, n_data, data_capacity;
    bool has_data, after_cr, begun;
} spec_events;

/* Takes the data of an event: n bytes, and a zero byte after them. */
typedef int spec_event_take(void *self, const char *data, size_t n, spec_error *error);

/* Adds bytes; hands over each event that they complete. Returns GSL_EINVAL for a line, or data,
 * over the limit; GSL_ENOMEM; or what `take` returned, after which the rest is not read. */
int spec_events_add(spec_events *events, const char *bytes, size_t n, spec_event_take *take,
                    void *self, spec_error *error);

/* Returns whether the stream would end within an event. */
bool spec_events_unfinished(const spec_events *events);

/* Forgets everything, for a new stream. */
void spec_events_reset(spec_events *events);
void spec_events_free(spec_events *events);

#endif
