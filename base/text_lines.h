/* SPDX-License-Identifier: GPL-3.0-or-later */
/* text_lines: reads a hostile text file line by line, with a limit on the length of a line.
 * Errors are "file:line: what". A line ends with "\n", "\r\n" or the end of the file. A byte order
 * mark at the beginning is skipped. Owns the line's buffer; the file stays the caller's. */
#ifndef SPECLAB_TEXT_LINES_H
#define SPECLAB_TEXT_LINES_H

#include "speclab/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    FILE *file;
    const char *name; /* file name, for messages */
    size_t most;      /* maximum bytes of a line */
    uint64_t number;  /* line number, from 1 */
    char *bytes;      /* (length) the line, and a zero byte */
    size_t length, capacity;
} spec_text_lines;

spec_text_lines spec_text_lines_of(FILE *file, const char *name, size_t most);
void spec_text_lines_free(spec_text_lines *lines);

/* Reads the next line, whose bytes the caller may change; sets *ret_end at the end of the file.
 * Returns GSL_EINVAL for a line that is too long, a NUL byte and gzip's magic number; GSL_EFAILED
 * if the file cannot be read; GSL_ENOMEM. */
int spec_text_lines_next(spec_text_lines *lines, bool *ret_end, spec_error *error);

/* Does the same, but skips blank lines and lines that begin with '#'. */
int spec_text_lines_next_data(spec_text_lines *lines, bool *ret_end, spec_error *error);

/* Writes the error "file:line: ..." and returns GSL_EINVAL. */
int spec_text_lines_bad(const spec_text_lines *lines, spec_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
