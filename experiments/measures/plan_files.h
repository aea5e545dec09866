/* SPDX-License-Identifier: GPL-3.0-or-later */
/* plan_files: tables that the measure `plan` reads, which may be written by hand.
 * They look like results (base/table.h, docs/formats.md): a line of column names, then rows. The
 * caller frees them. */
#ifndef SPECLAB_PLAN_FILES_H
#define SPECLAB_PLAN_FILES_H

#include "base/table.h"

/* Maximum levels and ranks of a plan. */
enum { SPEC_PLAN_LEVELS_MAX = 64, SPEC_PLAN_RANKS_MAX = 64 };

/* Reads how accurate heads are by rank: a row per head, a column per rank; a column `head` is
 * ignored. ret_accept (heads, ranks). Returns GSL_EINVAL for values outside [0,1], a row that sums
 * to more than 1, or too many levels or ranks. */
int spec_plan_read_accuracies(double **ret_accept, int *ret_heads, int *ret_ranks, const char *path,
                              spec_error *error);

/* Reads a whole table. Returns GSL_EINVAL if it has no rows, or if its last line has no newline. */
int spec_plan_read_table(spec_table *table, const char *path, spec_error *error);

#endif
