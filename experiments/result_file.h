/* result_file: the CSV file, or the stream, that a run writes its rows to as they come.
 * The head goes out with the first rows: until then what the file held is left as it was, and a run that gives no row
 * destroys nothing. Rows are written whole, and forced to the disk about once a second. After a kill a next run keeps
 * the whole rows. */
#ifndef SPECLAB_RESULT_FILE_H
#define SPECLAB_RESULT_FILE_H

#include "base/table.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

typedef struct {
    const char *path;      /* NULL: only the stream */
    FILE *opt_stream;      /* where path is NULL */
    int fd;                /* of path, or -1 */
    bool made, fresh;      /* there was no such file before; nothing has been written yet */
    off_t good;            /* bytes of whole rows in it */
    time_t synced;
    uint64_t done, total;  /* points, for messages: the run counts */
} spec_result_file;

/* Nothing is opened yet. Both may be NULL: then nothing is written. */
void spec_result_file_init(spec_result_file *file, const char *path, FILE *opt_stream);

/* Read the rows that an earlier run left. ret_old stays empty where there is no file, or none of its rows is whole.
 * GSL_EINVAL where its head is not that of `table`: another run wrote it. */
int spec_result_file_read(spec_table *ret_old, const spec_result_file *file, const spec_table *table,
                          spec_error *error);

/* The file begins with the bytes of `table`, and writing goes on after them. GSL_EINVAL where it does not: rows that
 * read the same may have been written otherwise (1e3 for 1000). */
int spec_result_file_keep(spec_result_file *file, const spec_table *table, spec_error *error);

/* Open for writing; cut after what is kept. */
int spec_result_file_open(spec_result_file *file, spec_error *error);

/* Write the rows of `table` from row `from` on, after its head if these are the first. On failure no part of a row is
 * left, where that is possible. */
int spec_result_file_write(spec_result_file *file, const spec_table *table, size_t from, spec_error *error);

/* A file that was made and got no row is removed. Returns what close(2) says. */
int spec_result_file_close(spec_result_file *file);

#endif
