/* SPDX-License-Identifier: GPL-3.0-or-later */
/* log_records: divides a stream of bytes into records: lines of text, or whole JSON values.
 * A JSON value that spans lines is one record; if it is malformed or never closes, each of its
 * lines is a record. Compressed files are unpacked. "data: " of server-sent events, colour codes
 * and carriage returns are removed. Owns a buffer as long as the longest record, plus 1 MiB. */
#ifndef SPECLAB_LOG_RECORDS_H
#define SPECLAB_LOG_RECORDS_H

#include "base/unpacked.h"
#include "speclab/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    spec_unpacked source;
    const char *name;             /* name of the file, for messages */
    size_t line_most, value_most; /* maximum bytes of a line of text, and of a JSON value */
    size_t memory_most;           /* bytes that jansson may take for a value */
    char *buffer;                 /* (capacity) */
    size_t capacity, begin, end;  /* the part of the buffer that has not become a record yet */
    size_t lines_until;           /* values that begin before this offset end on their line */
    uint64_t line;                /* the line at `begin`, from 1 */
    uint64_t bytes;               /* bytes read */
    uint64_t open_line;           /* line where an unfinished JSON value begins; 0: none */
    bool started, ended, coloured, zeros;
} spec_log_records;

typedef struct {
    char *bytes; /* (n), and a zero byte; valid until the next call */
    size_t n;
    uint64_t line; /* line of its first byte, from 1 */
    bool cut;      /* the file's last line, without a newline */
    uint64_t zero; /* offset of its first NUL byte in the file, from 1; 0: none */
} spec_log_piece;

/* Returns a reader for lines of up to 16 MiB and JSON values of up to 256 MiB. */
spec_log_records spec_log_records_of(int fd, const char *name, const volatile int *opt_stop);
void spec_log_records_free(spec_log_records *records);

/* Reads the next record that is not blank; at the end of the file sets *ret_end instead. Returns
 * GSL_EINVAL "file:line: ..." for UTF-16 and larger records, or the errors of unpacked.h. */
int spec_log_records_next(spec_log_piece *ret, bool *ret_end, spec_log_records *records,
                          spec_error *error);

#endif
