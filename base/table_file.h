/* SPDX-License-Identifier: GPL-3.0-or-later */
/* table_file: a table from a file of any program: CSV, JSON or lines of JSON.
 * A file that begins with a brace or a bracket is JSON (json_rows.h), any other CSV
 * (spec_table_read_foreign_csv). */
#ifndef SPECLAB_TABLE_FILE_H
#define SPECLAB_TABLE_FILE_H

#include "base/input_file.h"
#include "base/table.h"

/* Reads the file once, so that it may be a pipe. *opt_json: it is JSON. GSL_EINVAL or GSL_EFAILED
 * with one line, also for a file above the limit and for one without rows. */
int spec_table_file_read(spec_table *table, bool *opt_json, const char *path,
                         const spec_input_limit *limit, spec_error *error);

#endif
