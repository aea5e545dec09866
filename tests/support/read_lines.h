/* SPDX-License-Identifier: GPL-3.0-or-later */
/* read_lines: the observations that a format of advise's table takes from the lines of a text.
 * Every line is in memory of its own size. */
#ifndef SPECLAB_TESTS_READ_LINES_H
#define SPECLAB_TESTS_READ_LINES_H

#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tools/advise/log_format.h"

#include <stdlib.h>
#include <string.h>

enum { READ_LINES_MOST = 512 };
typedef struct {
    int n;
    spec_observation observation[READ_LINES_MOST];
    spec_log_learned learned;
    int status;
    spec_error error;
} read_lines;

static inline int read_lines_keep(void *self, const spec_observation *observation,
                                  spec_error *error)
{
    read_lines *to = self;
    (void)error;
    assert_true(to->n < READ_LINES_MOST);
    to->observation[to->n++] = *observation;
    return GSL_SUCCESS;
}

/* Lines that concern no format are skipped; lines of another format fail. */
static inline void read_lines_with(read_lines *ret, const spec_log_format *format, const char *text,
                                   int K)
{
    ret->n = 0;
    ret->learned = (spec_log_learned){.generation = -1};
    ret->status = GSL_SUCCESS;
    ret->error = (spec_error){""};
    const spec_observer observer = {read_lines_keep, ret};
    spec_log_record record = {.file = "x", .K = K, .observer = &observer};
    FREED void *state = calloc(1, format->state_size + 1);
    assert_non_null(state);
    for (const char *at = text; *at != '\0' && ret->status == GSL_SUCCESS;) {
        const size_t n = strcspn(at, "\n");
        char *bytes = malloc(n + 1);
        assert_non_null(bytes);
        memcpy(bytes, at, n);
        bytes[n] = '\0';
        record.bytes = bytes;
        record.n = n;
        record.line++;
        for (int i = 0; spec_log_formats[i] != NULL; i++)
            if (spec_log_formats[i] != format && spec_log_formats[i]->concerns(bytes, n))
                fail_msg("%s concerns this: %s", spec_log_formats[i]->name, bytes);
        bool found = false; /* records without a needle are skipped */
        for (int i = 0; format->needles[i] != NULL; i++)
            found = found || spec_log_find(bytes, n, format->needles[i]) != NULL;
        if (!spec_log_time_comment(&record.time, bytes, n) && found && format->concerns(bytes, n))
            ret->status = format->read(state, &ret->learned, &record, &ret->error);
        free(bytes);
        at += n + (at[n] == '\n');
    }
    record.bytes = "";
    record.n = 0;
    if (ret->status == GSL_SUCCESS && format->end != NULL)
        ret->status = format->end(state, &ret->learned, &record, &ret->error);
}

/* The same, without errors. */
static inline void read_lines_of(read_lines *ret, const spec_log_format *format, const char *text,
                                 int K)
{
    read_lines_with(ret, format, text, K);
    if (ret->status != GSL_SUCCESS) fail_msg("%s", ret->error.text);
}

/* Asserts that the text has one observation. */
static inline const spec_observation *read_lines_only(read_lines *ret,
                                                      const spec_log_format *format,
                                                      const char *text, int K)
{
    read_lines_of(ret, format, text, K);
    assert_int_equal(ret->n, 1);
    return &ret->observation[0];
}

/* Asserts that the text is refused with this status and this line. */
static inline void read_lines_fails(const spec_log_format *format, const char *text, int status,
                                    const char *line)
{
    static read_lines r;
    read_lines_with(&r, format, text, -1);
    if (r.status != status || strcmp(r.error.text, line) != 0)
        fail_msg("%d '%s', not '%s', for %s", r.status, r.error.text, line, text);
}

/* Checks rounds, passes, drafted, accepted and emitted tokens; NaN where the source does not
 * say. */
static inline void assert_counts(const spec_observation *o, int K, const double counts[5])
{
    assert_int_equal(o->K, K);
    assert_same(o->rounds, counts[0]);
    assert_same(o->rounds_low, counts[0]);
    assert_same(o->rounds_high, counts[0]);
    assert_same(o->passes, counts[1]);
    assert_same(o->drafted, counts[2]);
    assert_same(o->accepted, counts[3]);
    assert_same(o->emitted, counts[4]);
}

static inline void assert_passed(const spec_observation *o, int depths, const double *passed)
{
    assert_int_equal(o->depths, depths);
    for (int i = 0; i < depths; i++) assert_same(o->passed[i], passed[i]);
}

#endif
