/* SPDX-License-Identifier: GPL-3.0-or-later */
/* read_record: a format of advise's table reads one record, and its observations are kept. */
#ifndef SPECLAB_TESTS_READ_RECORD_H
#define SPECLAB_TESTS_READ_RECORD_H

#include "tests/support/read_lines.h"

enum { READ_MOST = 16 };
typedef struct {
    int n;
    spec_observation observation[READ_MOST];
    spec_log_learned learned;
    int status;
    spec_error error;
} read_record;

static inline int read_record_keep(void *self, const spec_observation *observation,
                                   spec_error *error)
{
    read_record *to = self;
    (void)error;
    assert_true(to->n < READ_MOST);
    to->observation[to->n++] = *observation;
    return GSL_SUCCESS;
}

/* The record is line 7 of a file x. It has its own allocation, so the format cannot read bytes
 * behind it. */
static inline read_record read_record_with(const spec_log_format *format, const char *text, int K)
{
    read_record read = {.learned = {.generation = -1}};
    const spec_observer observer = {read_record_keep, &read};
    const size_t n = strlen(text);
    FREED char *bytes = malloc(n + 1);
    assert_non_null(bytes);
    memcpy(bytes, text, n + 1);
    FREED void *state = calloc(1, format->state_size + 1);
    assert_non_null(state);
    const spec_log_record record = {
        .bytes = bytes, .n = n, .file = "x", .line = 7, .K = K, .observer = &observer};
    read.status = format->read(state, &read.learned, &record, &read.error);
    return read;
}

/* Asserts that the text is of this format alone, and is read. */
static inline read_record read_record_of(const spec_log_format *format, const char *text, int K)
{
    for (int i = 0; spec_log_formats[i] != NULL; i++) {
        const bool yes = spec_log_formats[i]->concerns(text, strlen(text));
        if (yes != (spec_log_formats[i] == format))
            fail_msg("%s: %s concerns this: %s", spec_log_formats[i]->name, yes ? "wrongly" : "it",
                     text);
    }
    const char *const *needle = format->needles;
    while (needle != NULL && *needle != NULL && strstr(text, *needle) == NULL) needle++;
    if (needle != NULL && *needle == NULL) fail_msg("%s has no needle in %s", format->name, text);
    const read_record read = read_record_with(format, text, K);
    if (read.status != GSL_SUCCESS) fail_msg("%s", read.error.text);
    return read;
}

/* Asserts that the text concerns the format and is refused with this line. */
static inline void read_record_fails(const spec_log_format *format, const char *text,
                                     const char *line)
{
    if (!format->concerns(text, strlen(text))) fail_msg("%s does not see %s", format->name, text);
    const read_record read = read_record_with(format, text, -1);
    if (read.status != GSL_EINVAL || strcmp(read.error.text, line) != 0)
        fail_msg("%d '%s', not '%s', for %s", read.status, read.error.text, line, text);
}

#endif
