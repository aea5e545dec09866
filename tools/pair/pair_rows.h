/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pair_rows: the texts of a file of rows, for a run of pair_run.
 * Each stretch of positions without a gap is a text. The models must be opened with begin=0, so
 * that the row after i tokens is that of place i of the file. */
#ifndef SPECLAB_PAIR_ROWS_H
#define SPECLAB_PAIR_ROWS_H

#include "models/rows/rows_file.h"
#include "tools/pair/pair_run.h"

typedef struct {
    int *token;           /* (places) the token after each place */
    spec_pair_text *text; /* (n) those with at least K positions */
    int n;
    uint64_t positions; /* of all these texts */
} spec_pair_rows;

/* Finds the texts. Returns GSL_EINVAL if there is none, naming the file, and GSL_ENOMEM. Owns its
 * arrays. */
int spec_pair_rows_init(spec_pair_rows *rows, const spec_rows_file *file, int K, spec_error *error);
void spec_pair_rows_free(spec_pair_rows *rows);

#endif
