/* SPDX-License-Identifier: GPL-3.0-or-later */
/* record_lines: reads a hostile file of records, from CSV with a header or from lines of JSON.
 * A file whose first line begins with '{' has one JSON object per line. Fields are found by name.
 * Errors are "file:line: what". Owns its buffers; the file stays the caller's. */
#ifndef SPECLAB_RECORD_LINES_H
#define SPECLAB_RECORD_LINES_H

#include "base/text_lines.h"
#include "sim/serving/requests/timestamp.h"

#include <jansson.h>

enum { SPEC_RECORD_COLUMNS = 256 };

typedef struct {
    spec_text_lines in;
    bool json, ahead; /* ahead: the first object has been read, but not yet returned */
    json_t *object;   /* JSON: the record */
    char *header;     /* CSV: the columns point into it */
    int n_columns;
    const char *column[SPEC_RECORD_COLUMNS];
    char *field[SPEC_RECORD_COLUMNS]; /* CSV: the record; the fields point into the line */
} spec_record_lines;

/* Identifies a field; index is its column in a CSV file. */
typedef struct {
    const char *name; /* NULL: no field */
    int index;
} spec_record_field;

/* Reads the header, or the first object. On failure returns GSL_EINVAL, GSL_EFAILED or GSL_ENOMEM,
 * and zeroes the object. An empty file is an error. */
int spec_record_lines_init(spec_record_lines *records, FILE *file, const char *name,
                           spec_error *error);
void spec_record_lines_free(spec_record_lines *records); /* accepts a zeroed object */

/* Finds the field `name` in the header or in the first object; if there is none, the result's name
 * is NULL. */
spec_record_field spec_record_lines_field(const spec_record_lines *records, const char *name);
/* Writes the names of all fields, such as "arrival, prompt, output", truncated to `size`. */
void spec_record_lines_names(char *ret_text, size_t size, const spec_record_lines *records);

/* Moves to the next record; sets *ret_end after the last. */
int spec_record_lines_next(spec_record_lines *records, bool *ret_end, spec_error *error);

/* Read a field of the record: a finite number, a whole number within [least, most], or a point in
 * time. */
int spec_record_lines_real(double *ret, const spec_record_lines *records, spec_record_field field,
                           spec_error *error);
int spec_record_lines_whole(int32_t *ret, const spec_record_lines *records, spec_record_field field,
                            int32_t least, int32_t most, spec_error *error);
int spec_record_lines_time(spec_timestamp *ret, const spec_record_lines *records,
                           spec_record_field field, spec_error *error);

#endif
