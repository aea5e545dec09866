/* SPDX-License-Identifier: GPL-3.0-or-later */
/* trace_line: reads a hostile file of JSON objects, one per line.
 * The length and the number of values of a line are limited before it is parsed; errors are
 * "file:line: what". Owns the line's buffer; the file stays the caller's. */
#ifndef SPECLAB_TRACE_LINE_H
#define SPECLAB_TRACE_LINE_H

#include "base/text_lines.h"

#include <jansson.h>

typedef struct {
    spec_text_lines text;
    int vocab; /* 0: unknown; the limits are then those of a server's response */
    size_t most_values;
} spec_trace_line;

spec_trace_line spec_trace_line_of(FILE *file, const char *name);
void spec_trace_line_free(spec_trace_line *line);

/* From now on allows lines only as long as two rows of this vocabulary, or this many pairs, plus a
 * little. */
void spec_trace_line_limit(spec_trace_line *line, int vocab, int pairs);

/* Reads the next line; sets *ret_end at the end of the file. GSL_EFAILED if it cannot be read. */
int spec_trace_line_next(spec_trace_line *line, bool *ret_end, spec_error *error);

/* Parses the line; the caller frees the object. */
int spec_trace_line_parse(json_t **ret, const spec_trace_line *line, spec_error *error);

/* Fails because a key is unknown, and suggests one of `keys` (NULL-terminated). */
int spec_trace_line_unknown(const spec_trace_line *line, const char *key, const char *const *keys,
                            spec_error *error);

/* Read a value within limits. A log-probability that rounding put slightly above 0 becomes 0. */
int spec_trace_line_real(double *ret, const spec_trace_line *line, const char *key,
                         const json_t *value, double least, double most, spec_error *error);
int spec_trace_line_whole(int64_t *ret, const spec_trace_line *line, const char *key,
                          const json_t *value, int64_t least, int64_t most, spec_error *error);
int spec_trace_line_bool(bool *ret, const spec_trace_line *line, const char *key,
                         const json_t *value, spec_error *error);
int spec_trace_line_log(double *ret, const spec_trace_line *line, const char *key,
                        const json_t *value, spec_error *error);

#endif
