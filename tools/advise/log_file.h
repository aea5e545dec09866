/* SPDX-License-Identifier: GPL-3.0-or-later */
/* log_file: reads a log, a metrics file or responses, and recognises the format by the content.
 * It streams, so memory does not grow with the file. A file has one format; text of other programs
 * and engines between its records is skipped. A line "# time SECONDS" sets the time of the records
 * below it. docs/advise.md. */
#ifndef SPECLAB_LOG_FILE_H
#define SPECLAB_LOG_FILE_H

#include "tools/advise/log_format.h"

typedef struct {
    const char *opt_format; /* name of a format or an engine; NULL: by content */
    int K;                  /* the user's draft length, 1 or more; -1: not given */
    const volatile int *opt_stop;
    const spec_log_format *const *opt_table; /* NULL-terminated; NULL: spec_log_formats */
} spec_log_options;

/* The formats that a file resembles most, each with an example of the text we looked for. */
typedef char spec_log_nearest[300];

/* What was read from a file. */
typedef struct {
    const spec_log_format *format; /* NULL: no record of any format */
    spec_log_nearest nearest;      /* if there is no record: the formats that the file resembles
                                    * most */
    const spec_log_format *other;  /* another format that also has records; NULL: none */
    /* line of the first record of that format, and the number of these records, which are
     * skipped */
    uint64_t other_line, other_records;
    spec_log_learned learned;
    uint64_t bytes, records, observations;
    int K_least, K_most; /* draft lengths of its observations; 0: none is known */
    /* skipped records that have the right words but the wrong form, and damaged lines */
    uint64_t unreadable;
    spec_error fault; /* "file:line: ..." for the first of these */
    /* the last line has no end, because the log is still being written; it was skipped */
    bool cut;
    uint64_t open_line; /* line where an unfinished JSON value begins; 0: none */
} spec_log_summary;

/* Reads a file; "-" is standard input. The file's format is the first whose reader takes an
 * observation from a record, or finds a record faulty. Records of other formats are counted. Faulty
 * records are skipped if they are at most 1 % of the records, and lines with NUL bytes if they are
 * at most 1 % of the lines. Returns GSL_EINVAL "file:line: ..." if there are more, for lines over
 * 16 MiB, for a JSON value over 256 MiB, and for an unknown name in opt_format; GSL_EUNSUP if the
 * source cannot answer; GSL_EFAILED if *opt_stop was set; or the errors of files and of the
 * observer. A file without any record is not an error here: format is NULL. */
int spec_log_file_read(spec_log_summary *ret, const char *path, const spec_log_options *options,
                       const spec_observer *observer, spec_error *error);

#endif
