/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/live/events.h"

#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

static int append(char **text, size_t *n, size_t *capacity, const char *bytes, size_t more,
                  spec_error *error)
{
    if (*n + more > SPEC_EVENT_BYTES)
        return spec_fail(error, GSL_EINVAL, "an event of the stream is longer than %d MiB",
                         SPEC_EVENT_BYTES >> 20);
    if (*n + more + 1 > *capacity) {
        const size_t wanted = 2 * (*n + more + 1);
        char *grown = realloc(*text, wanted);
        if (grown == NULL) return spec_no_memory(error);
        *text = grown;
        *capacity = wanted;
    }
    memcpy(*text + *n, bytes, more);
    *n += more;
    (*text)[*n] = '\0';
    return GSL_SUCCESS;
}

/* Adds the value of a line "data: value"; one blank after the colon is not part of it. */
static int add_data(spec_events *e, spec_error *error)
{
    static const char name[] = "data";
    const size_t length = sizeof name - 1;
    int status = GSL_SUCCESS;
    if (e->n_line < length || memcmp(e->line, name, length) != 0) return status;
    if (e->n_line > length && e->line[length] != ':') return status;
    size_t from = e->n_line > length ? length + 1 : length;
    if (from < e->n_line && e->line[from] == ' ') from++;
    if (e->has_data) SPEC_TRY(append(&e->data, &e->n_data, &e->data_capacity, "\n", 1, error));
    SPEC_TRY(
        append(&e->data, &e->n_data, &e->data_capacity, e->line + from, e->n_line - from, error));
    e->has_data = true;
done:
    return status;
}

static int end_line(spec_events *e, spec_event_take *take, void *self, spec_error *error)
{
    static const char mark[] = "\xef\xbb\xbf"; /* a byte order mark may begin the stream */
    int status = GSL_SUCCESS;
    if (!e->begun && e->n_line >= 3 && memcmp(e->line, mark, 3) == 0) {
        memmove(e->line, e->line + 3, e->n_line - 3);
        e->n_line -= 3;
    }
    e->begun = true;
    if (e->n_line > 0) {
        SPEC_TRY(add_data(e, error));
    } else if (e->has_data) {
        e->has_data = false;
        SPEC_TRY(take(self, e->data, e->n_data, error));
        e->n_data = 0;
    }
    e->n_line = 0;
done:
    return status;
}

int spec_events_add(spec_events *e, const char *bytes, size_t n, spec_event_take *take, void *self,
                    spec_error *error)
{
    int status = GSL_SUCCESS;
    for (size_t i = 0; i < n;) {
        const bool pair = e->after_cr && bytes[i] == '\n'; /* the LF of a CRLF */
        e->after_cr = false;
        i += pair;
        size_t end = i;
        while (end < n && bytes[end] != '\n' && bytes[end] != '\r') end++;
        if (end > i)
            SPEC_TRY(append(&e->line, &e->n_line, &e->line_capacity, bytes + i, end - i, error));
        if (end < n) {
            e->after_cr = bytes[end] == '\r';
            SPEC_TRY(end_line(e, take, self, error));
        }
        i = end + (end < n);
    }
done:
    return status;
}

bool spec_events_unfinished(const spec_events *e)
{
    return e->n_line > 0 || e->has_data;
}

void spec_events_reset(spec_events *e)
{
    e->n_line = e->n_data = 0;
    e->has_data = e->after_cr = e->begun = false;
}

void spec_events_free(spec_events *e)
{
    free(e->line);
    free(e->data);
    *e = (spec_events){.line = NULL};
}
