/* SPDX-License-Identifier: GPL-3.0-or-later */
/* json_rows: reads JSON as a table: the longest list of objects in it gives the rows.
 * Members of nested objects are columns such as detectable.first.tv; a list in a row becomes its
 * length. The other members of the root become "key: value" lines of the table's provenance. */
#ifndef SPECLAB_JSON_ROWS_H
#define SPECLAB_JSON_ROWS_H

#include "base/table.h"

/* The maximum columns of a table, and the maximum depth of nested objects. */
enum { SPEC_JSON_ROWS_COLUMNS = 256, SPEC_JSON_ROWS_DEPTH = 4 };

/* Reads n bytes: one JSON value, or one value per line. Messages begin with "path:line: ". If there
 * is no list of objects, each member becomes a row with its key and value. Returns GSL_EINVAL or
 * GSL_ENOMEM, with a zeroed table. */
int spec_json_rows_read(spec_table *ret_table, const char *bytes, size_t n, const char *path,
                        spec_error *error);

#endif
