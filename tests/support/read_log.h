/* SPDX-License-Identifier: GPL-3.0-or-later */
/* read_log: the observations that a format of `advise` reads from a text, for tests.
 * Lines that do not concern the format are passed over. Headers only. */
#ifndef SPECLAB_TESTS_READ_LOG_H
#define SPECLAB_TESTS_READ_LOG_H

#include "experiments/advice/log_format.h"

#include <stdlib.h>
#include <string.h>

enum { READ_LOG_MOST = 256 };

typedef struct {
    int status, n, concerned; /* observations; lines that concern the format */
    spec_observation *seen;   /* (n) */
    spec_log_learned learned;
    spec_error error;
} read_log_result;

static inline int read_log_keep(void *self, const spec_observation *observation, spec_error *error)
{
    read_log_result *result = self;
    if (result->n == READ_LOG_MOST) return spec_fail(error, GSL_EINVAL, "too many for the test");
    result->seen[result->n++] = *observation;
    return GSL_SUCCESS;
}

/* log_file passes over records without any of the format's needles. */
static inline bool read_log_has_needle(const spec_log_format *format, const spec_log_record *record)
{
    if (format->needles == NULL) return true;
    for (int i = 0; format->needles[i] != NULL; i++)
        if (spec_log_find(record->bytes, record->n, format->needles[i]) != NULL) return true;
    return false;
}

/* The text's lines, read as a file "log" with the user's draft length K (-1: none). Its end is
 * read unless a line fails. The caller frees `seen`. */
static inline read_log_result read_log(const spec_log_format *format, int K, const char *text)
{
    read_log_result result = {.learned.generation = -1,
                              .seen = calloc(READ_LOG_MOST, sizeof *result.seen)};
    const spec_observer observer = {read_log_keep, &result};
    void *state = calloc(1, format->state_size + 1);
    char *copy = strdup(text);
    spec_log_record record = {.bytes = "", .file = "log", .K = K, .observer = &observer};
    for (char *line = copy, *next; line != NULL && result.status == GSL_SUCCESS; line = next) {
        next = strchr(line, '\n');
        if (next != NULL) *next++ = '\0';
        record.bytes = line;
        record.n = strlen(line);
        record.line++;
        if (!read_log_has_needle(format, &record) || !format->concerns(record.bytes, record.n))
            continue;
        result.concerned++;
        result.status = format->read(state, &result.learned, &record, &result.error);
    }
    if (format->end != NULL && result.status == GSL_SUCCESS)
        result.status = format->end(state, &result.learned, &record, &result.error);
    free(copy);
    free(state);
    return result;
}

#endif
