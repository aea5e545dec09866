/* rows_summary: what a file of rows holds, in numbers: a table with a row for each draft.
 * All rows of the file are read, and so checked. The table is the caller's. */
#ifndef SPECLAB_ROWS_SUMMARY_H
#define SPECLAB_ROWS_SUMMARY_H

#include "base/table.h"

/* Columns: docs/notation.md. A file without a draft has one row, without what tells of drafts. `threads` 0: all; the
 * table does not depend on it. */
int spec_rows_summary(spec_table *ret_table, const char *path, int threads, spec_error *error);

#endif
