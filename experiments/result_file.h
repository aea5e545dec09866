/* SPDX-License-Identifier: GPL-3.0-or-later */
/* result_file: the CSV file, or the stream, that a run writes its rows to.
 * The first row creates the file (base/new_file.h), so a run without rows changes nothing. Rows are
 * written whole, and synced to the disk about once a second. After a kill, the next run keeps the
 * whole rows. To recognise them, each row of a file ends with a column row_check: a letter for the
 * result of its check, and eight digits hashed from the file's head and all rows up to this one. */
#ifndef SPECLAB_RESULT_FILE_H
#define SPECLAB_RESULT_FILE_H

#include "base/new_file.h"
#include "base/table.h"
#include "experiments/measures/measure.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

typedef struct {
    const char *path;      /* NULL: use only the stream */
    FILE *opt_stream;      /* used if path is NULL */
    spec_new_file file;    /* file at path, after the first row */
    int fd;                /* descriptor of path, or -1 */
    bool fresh;            /* nothing has been written yet */
    off_t good;            /* bytes of whole rows in the file */
    uint64_t check;        /* hash of its last row */
    time_t synced;
    uint64_t done, total;  /* the run counts them; the last one is synced at once */
    const char *what;      /* what the run counts, for messages: "points" */
} spec_result_file;

/* Initialises the file without opening anything. If both are NULL, nothing is written. */
void spec_result_file_init(spec_result_file *file, const char *path, FILE *opt_stream);

/* Reads the rows of an earlier run, whose last column is row_check. ret_old stays empty if there is
 * no file, or no whole row. Returns GSL_EINVAL if the head differs from that of `table`, because
 * then another run wrote the file. */
int spec_result_file_read(spec_table *ret_old, const spec_result_file *file,
                          const spec_table *table, spec_error *error);

/* Gets the check of a row that was read. Returns false if its cell has none. */
bool spec_result_file_check(spec_check *ret_check, const spec_table *old, size_t row);

/* Checks the column row_check of a file that was read whole, and fills in the checks of its rows
 * (n_rows). Returns GSL_EINVAL if there is no such column, or if a row or the head was edited;
 * *opt_row is then the first row that differs. */
int spec_result_file_verify(spec_check *ret_check, size_t *opt_row, const char *path,
                            const spec_table *whole, spec_error *error);

/* Keeps the rows of `table`, with these checks (n_rows), at the beginning of the file; later rows
 * follow them. Returns GSL_EINVAL if the file has different bytes, because a row was edited. */
int spec_result_file_keep(spec_result_file *file, const spec_table *table, const spec_check *check,
                          spec_error *error);

/* Checks that the file can be written. A kept file is opened, and cut after the kept rows. Returns
 * GSL_EFAILED if another run is writing to it. */
int spec_result_file_open(spec_result_file *file, spec_error *error);

/* Writes the rows of `table` from row `from` on, with their checks; the head comes before the first
 * row. After a failure no partial row remains, if possible. Also returns GSL_EFAILED if another
 * program removed or replaced the file. */
int spec_result_file_write(spec_result_file *file, const spec_table *table, size_t from,
                           const spec_check *check, spec_error *error);

/* Marks the rows of an interrupted run, if there are any, with a last line "# WORDS". --resume
 * removes that line; readers find it in spec_table.unfinished. */
void spec_result_file_mark(spec_result_file *file, const char *words);

/* Closes the file; fails if data could not be written. *ret_kept is the number in the older file's
 * new name, or 0 (base/new_file.h). */
int spec_result_file_close(spec_result_file *file, int *ret_kept, spec_error *error);

#endif
