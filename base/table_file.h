/* SPDX-License-Identifier: GPL-3.0-or-later */
/* table_file: reads a table from a file of any program, as CSV, JSON or lines of JSON.
 * A file that begins with a brace or a bracket is JSON (json_rows.h), any other is CSV
 * (spec_table_read_foreign_csv). */
#ifndef SPECLAB_TABLE_FILE_H
#define SPECLAB_TABLE_FILE_H

#include "base/input_file.h"
#include "base/table.h"

/* Reads the file, which may be a pipe. Sets *opt_json if it is JSON. Returns GSL_EINVAL or
 * GSL_EFAILED with a one-line message; a file above the limit, or without rows, is an error. */
int spec_table_file_read(spec_table *table, bool *opt_json, const char *path,
                         const spec_input_limit *limit, spec_error *error);

#endif
