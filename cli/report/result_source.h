/* SPDX-License-Identifier: GPL-3.0-or-later */
/* result_source: a result for a report: a CSV of any program, or JSON of speclab, with its checks.
 * A file that `run -o` wrote has a hash in each row, so we notice edited rows. It owns
 * everything. */
#ifndef SPECLAB_RESULT_SOURCE_H
#define SPECLAB_RESULT_SOURCE_H

#include "experiments/measures/measure.h"

#include <stdint.h>

enum { SPEC_RESULT_SOURCE_BYTES = 1 << 26 };

typedef struct {
    char *path, *name; /* name: without folders and ending */
    bool json;
    spec_table table;
    int n_columns;         /* number of columns to show, without row_check */
    const spec_measure *measure; /* the measure of its rows; NULL: none */
    uint64_t holds, fails; /* checked rows; edited rows and rows with a verdict FAIL also fail */
    size_t edited;         /* the first row whose hash is wrong, from 1; 0: none */
    bool *row_fails;             /* (n_rows) */
    size_t *order;               /* (n_rows) first the rows that fail, then the others */
    char *evidence;              /* a sentence in Markdown, with `code` and **bold** only */
    /* a Markdown list, with an item for everything that fails; may be "" */
    char *failures;
} spec_result_source;

/* Reads a file. Returns GSL_EINVAL or GSL_EFAILED with one line if that fails, if the file is
 * larger than SPEC_RESULT_SOURCE_BYTES, if it is not a regular file, or if it has no rows. */
int spec_result_source_load(spec_result_source *source, const char *path, spec_error *error);
void spec_result_source_free(spec_result_source *source);

#endif
