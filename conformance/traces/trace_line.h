/* trace_line: JSON objects, a line each, from a hostile file. A line's length and number of values are limited before
 * it is parsed; what is refused is said as "file:line: what". Owns the line's buffer; the file stays the caller's. */
#ifndef SPECLAB_TRACE_LINE_H
#define SPECLAB_TRACE_LINE_H

#include "speclab/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct {
    FILE *file;
    const char *name;     /* of the file, for messages */
    uint64_t number;      /* of the line */
    int vocab;            /* 0: not known yet */
    char *bytes;
    size_t length, capacity, most, most_values;
} spec_trace_line;

spec_trace_line spec_trace_line_of(FILE *file, const char *name);
void spec_trace_line_free(spec_trace_line *line);

/* From now on a line has at most two rows of a vocabulary of this size, or so many pairs, and a little more. */
void spec_trace_line_limit(spec_trace_line *line, int vocab, int pairs);

/* Read the next line; *ret_end where there is none. GSL_EFAILED where the file cannot be read. */
int spec_trace_line_next(spec_trace_line *line, bool *ret_end, spec_error *error);

/* Its object, for the caller to let go of. */
int spec_trace_line_parse(json_t **ret, const spec_trace_line *line, spec_error *error);

/* Refuse the line: returns GSL_EINVAL. */
int spec_trace_line_bad(const spec_trace_line *line, spec_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* That there is no such key, and which one of these (NULL-terminated) was meant. */
int spec_trace_line_unknown(const spec_trace_line *line, const char *key, const char *const *keys, spec_error *error);

/* Values, within limits. A log-probability may be a little above 0, by rounding: it is then 0. */
int spec_trace_line_real(double *ret, const spec_trace_line *line, const char *key, const json_t *value, double least,
                         double most, spec_error *error);
int spec_trace_line_whole(int64_t *ret, const spec_trace_line *line, const char *key, const json_t *value,
                          int64_t least, int64_t most, spec_error *error);
int spec_trace_line_bool(bool *ret, const spec_trace_line *line, const char *key, const json_t *value,
                         spec_error *error);
int spec_trace_line_log(double *ret, const spec_trace_line *line, const char *key, const json_t *value,
                        spec_error *error);

#endif
