/* table: rows of results, written as CSV, JSON, an aligned table or Markdown.
 * A row is written whole or not at all. Columns are fixed at the start. In CSV and JSON numbers print as %.10g (NaN:
 * empty in CSV, null in JSON), the same bytes on every run; for the eye (table, Markdown) as %.6g. docs/formats.md
 * describes the CSV. The table owns its cells. */
#ifndef SPECLAB_TABLE_H
#define SPECLAB_TABLE_H

#include "speclab/status.h"

#include <stdio.h>

typedef enum { SPEC_FORMAT_TABLE, SPEC_FORMAT_CSV, SPEC_FORMAT_JSON, SPEC_FORMAT_MARKDOWN } spec_format;

typedef struct {
    enum { SPEC_CELL_EMPTY, SPEC_CELL_NUMBER, SPEC_CELL_INTEGER, SPEC_CELL_TEXT } kind;
    double number;
    long long integer;
    char *text; /* owned */
} spec_cell;

typedef struct spec_table {
    int n_columns;
    char **column;
    size_t n_rows, capacity;
    spec_cell *cell;  /* (n_rows, n_columns) */
    spec_cell *row;   /* (n_columns) the row being filled */
    char *provenance; /* lines without "# ", '\n'-separated; may be "" */
} spec_table;

int spec_table_init(spec_table *table, const char *const *columns, int n_columns);
void spec_table_free(spec_table *table);
int spec_table_column(const spec_table *table, const char *name); /* index or -1 */

/* Fill the row being made, by column name (an assert if there is none), then append it. A NaN leaves the cell empty; a
 * number is kept as it prints in CSV, to 10 digits. */
void spec_table_number(spec_table *table, const char *column, double value);
void spec_table_integer(spec_table *table, const char *column, long long value);
void spec_table_text(spec_table *table, const char *column, const char *value);
int spec_table_append(spec_table *table);
void spec_table_clear(spec_table *table); /* drop all rows, and the one being made */
const spec_cell *spec_table_cell(const spec_table *table, size_t row, int column);

/* A cell as a number (NaN where it is none), and a deep copy of a cell over another (which is released). */
double spec_cell_number(const spec_cell *cell);
int spec_cell_copy(spec_cell *into, const spec_cell *from);

/* A cell as printed in a format, without quotes, into buffer (size); a text is the cell's own. */
const char *spec_cell_format(const spec_cell *cell, spec_format format, char *buffer, size_t size);

/* CSV in pieces (RFC 4180 quoting), for results written as they come. GSL_EFAILED with errno's reason (full disk,
 * closed pipe). */
int spec_table_write_head(const spec_table *table, FILE *out, spec_error *error); /* provenance and column names */
int spec_table_write_row(const spec_table *table, size_t row, FILE *out, spec_error *error);

/* All of it in a format; the stream is flushed. JSON is one array of objects, one row a line, without the provenance.
 */
int spec_table_write(const spec_table *table, spec_format format, FILE *out, spec_error *error);

/* The value of a provenance line "key: value" (the first of that key) into buffer, cut at `size`; NULL where there is
 * none. */
const char *spec_table_provenance(const spec_table *table, const char *key, char *buffer, size_t size);

/* Read a CSV that _write wrote; a partial last line (a kill) is left out and *opt_good_bytes is where it begins.
 * "path:line: ..." */
int spec_table_read_csv(spec_table *table, const char *path, long *opt_good_bytes, spec_error *error);

#endif
