/* SPDX-License-Identifier: GPL-3.0-or-later */
/* rows_summary: a summary of a file of rows: a table with one row per draft.
 * It reads all rows of the file, and so also checks them. The caller owns the table. */
#ifndef SPECLAB_ROWS_SUMMARY_H
#define SPECLAB_ROWS_SUMMARY_H

#include "base/table.h"
#include "base/thread_pool.h"

/* Makes the table; docs/notation.md describes the columns. A file without a draft has one row,
 * without columns about drafts. The table does not depend on the threads. */
int spec_rows_summary(spec_table *ret_table, const char *path, spec_thread_pool *opt_pool,
                      spec_error *error);

#endif
