/* SPDX-License-Identifier: GPL-3.0-or-later */
/* trace_read: reads a trace, JSON lines of the tokens that an engine emitted.
 * They are in speclab's own format, or the responses of a server (trace_responses.h). The file is
 * hostile: lines, rows and requests are limited before memory is allocated for them, and errors
 * name file and line. The rows of a record belong to the reader, and are valid until the next
 * record. docs/conformance.md#traces specifies the format. */
#ifndef SPECLAB_TRACE_READ_H
#define SPECLAB_TRACE_READ_H

#include "tools/validate/traces/trace_record.h"

#include <stdio.h>

typedef struct spec_trace_reader spec_trace_reader;

/* Reads the first line from `file`, which stays the caller's; `name` is for messages. Returns
 * GSL_EINVAL if it is invalid. */
int spec_trace_read_open(spec_trace_reader **ret, FILE *file, const char *name, spec_error *error);
void spec_trace_read_close(spec_trace_reader *reader);

/* Declares the temperature at which a server drew its tokens. Returns GSL_EINVAL for a trace in
 * speclab's format, whose head states it. */
int spec_trace_read_temperature(spec_trace_reader *reader, double temperature, spec_error *error);

const spec_trace_head *spec_trace_read_head(const spec_trace_reader *reader);

/* Reads the next record; sets *ret_end at the end of the file. Returns GSL_EINVAL, with file and
 * line, if it is invalid or contradictory; GSL_EFAILED if the file cannot be read; GSL_ENOMEM. */
int spec_trace_read_next(spec_trace_reader *reader, spec_trace_record *ret, bool *ret_end,
                         spec_error *error);

/* Return the line of the last record, and the number of texts so far. */
uint64_t spec_trace_read_line(const spec_trace_reader *reader);
uint64_t spec_trace_read_texts(const spec_trace_reader *reader);

#endif
