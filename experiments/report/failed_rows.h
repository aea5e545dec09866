/* SPDX-License-Identifier: GPL-3.0-or-later */
/* failed_rows: sentences about the rows that fail a check: which row, its keys, and by how much. */
#ifndef SPECLAB_FAILED_ROWS_H
#define SPECLAB_FAILED_ROWS_H

#include "experiments/experiment.h"

/* Writes a Markdown list item for each failing row (fails: n_rows), up to 20, and one that counts
 * the rest. `name` is the name of the result. Without a measure, a row is identified by its first
 * text columns. Returns GSL_ENOMEM. */
int spec_failed_rows_write(FILE *out, const char *name, const spec_measure *opt_measure,
                           const spec_table *table, const bool *fails);

#endif
