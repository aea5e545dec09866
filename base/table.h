/* SPDX-License-Identifier: GPL-3.0-or-later */
/* table: collects rows of results and writes them as CSV, JSON, Markdown, LaTeX or aligned text.
 * A row is written whole or not at all; the columns are fixed at _init. In CSV and JSON, numbers
 * print as %.10g (NaN: empty in CSV, null in JSON), with the same bytes on every run; in other
 * formats as %.6g. docs/formats.md describes the CSV. The table owns its cells. */
#ifndef SPECLAB_TABLE_H
#define SPECLAB_TABLE_H

#include "speclab/status.h"

#include <stdbool.h>
#include <stdio.h>

typedef enum {
    SPEC_FORMAT_TABLE,
    SPEC_FORMAT_CSV,
    SPEC_FORMAT_JSON,
    SPEC_FORMAT_MARKDOWN,
    SPEC_FORMAT_LATEX,
    SPEC_FORMAT_VERTICAL
} spec_format;

typedef struct {
    enum { SPEC_CELL_EMPTY, SPEC_CELL_NUMBER, SPEC_CELL_INTEGER, SPEC_CELL_TEXT } kind;
    double number;
    double rest; /* the part of the number that rounding to ten digits removed */
    long long integer;
    char *text; /* owned */
} spec_cell;

typedef struct spec_table {
    int n_columns;
    char **column;
    size_t n_rows, capacity;
    spec_cell *cell;  /* (n_rows, n_columns) */
    spec_cell *row;   /* (n_columns) the row being filled */
    bool lost;        /* memory ran out: a row is missing, and writing fails */
    char *provenance; /* lines without "# ", '\n'-separated; may be "" */
    char *unfinished; /* says how the run was interrupted; NULL if it was not */
} spec_table;

int spec_table_init(spec_table *table, const char *const *columns, int n_columns);
void spec_table_free(spec_table *table);
int spec_table_column(const spec_table *table, const char *name); /* index or -1 */

/* Fill the current row by column name (an unknown name is an assert), then append it. NaN leaves a
 * cell empty; a number is stored as CSV prints it, with 10 digits. */
void spec_table_number(spec_table *table, const char *column, double value);
void spec_table_integer(spec_table *table, const char *column, long long value);
/* Writes a whole number or inf to a cell. */
void spec_table_whole(spec_table *table, const char *column, double value);
void spec_table_text(spec_table *table, const char *column, const char *value);
/* Fills the columns `name`, name_low and name_high. */
void spec_table_interval(spec_table *table, const char *name, double value, double low,
                         double high);
int spec_table_append(spec_table *table);
void spec_table_clear(spec_table *table); /* drop all rows and the current row */
const spec_cell *spec_table_cell(const spec_table *table, size_t row, int column);

/* Returns a cell as a number with all the digits passed to spec_table_number, or NaN if it is not a
 * number. A cell read from a file has only ten digits. */
double spec_cell_exact(const spec_cell *cell);

/* Return a cell as a number, NaN if it is not one; and copy a cell and its text over another, whose
 * text is freed. */
double spec_cell_number(const spec_cell *cell);
int spec_cell_copy(spec_cell *into, const spec_cell *from);

/* Copies the given columns of the given rows, in that order, without the provenance. opt_rows
 * (n_rows); NULL: the first n_rows rows. Returns GSL_ENOMEM if out of memory. */
int spec_table_select(spec_table *ret, const spec_table *table, const int *columns, int n_columns,
                      const size_t *opt_rows, size_t n_rows);

/* Returns a cell as printed in a format, without quotes, in buffer (size). For a text cell, returns
 * the cell's own text. */
const char *spec_cell_format(const spec_cell *cell, spec_format format, char *buffer, size_t size);

/* Does the same for a cell of a table that a person reads: a distance between distributions
 * (columns tv, worst_tv, least_tv and max_error) below 1e-12 is rounding, and is shown as 0. */
const char *spec_table_shown(const spec_table *table, size_t row, int column, spec_format format,
                             char *buffer, size_t size);

/* Write CSV in pieces (RFC 4180 quoting), for results that are written row by row. Return
 * GSL_EFAILED with the reason in errno (full disk, closed pipe). */
int spec_table_write_head(const spec_table *table, FILE *out,
                          spec_error *error); /* provenance and column names */
int spec_table_write_row(const spec_table *table, size_t row, FILE *out, spec_error *error);

/* Writes the whole table and flushes the stream. JSON is one array of objects, one row per line,
 * without the provenance. Returns GSL_ENOMEM if a row is missing: no need to check _append. */
int spec_table_write(const spec_table *table, spec_format format, FILE *out, spec_error *error);

/* A terminal, and which columns matter most in a table that is fitted to it. */
typedef struct {
    int columns;                  /* >= 20 */
    int lines;                    /* lines per screen, each with a heading; 0: only one heading */
    const char *const *opt_first; /* the important columns, the most important first; ends with
                                     NULL */
    int n_keys;                   /* how many columns at the front of opt_first identify a row */
} spec_table_screen;

/* Writes SPEC_FORMAT_TABLE, fitted to a terminal (table_fit.c). A table that fits is written as
 * usual. Otherwise these steps are taken in order, until it fits:
 *   1. columns with the same value in every row move into a line above the table; in a table
 *      of one row, so do the columns that identify it;
 *   2. column names break after underscores, and long texts are cut, or wrap in a single row;
 *   3. columns are left out, the least important first: those that qualify others (speedup_se),
 *      from the right, then the others, and `verdict` last. A line below the table says so.
 * If fewer than three columns fit, the format is SPEC_FORMAT_VERTICAL. Without `opt_first` the
 * first column and `verdict` are the important ones, and every text may wrap. The format is then
 * also vertical below 80 columns, or if fewer than half of the columns would remain. */
int spec_table_write_fitting(const spec_table *table, const spec_table_screen *screen, FILE *out,
                             spec_error *error);

/* Writes one block per row and one line per non-empty cell, with texts wrapped to `columns` (0: no
 * limit). Returns GSL_ENOMEM if out of memory. */
int spec_table_write_vertical(const spec_table *table, int columns, FILE *out);

/* Writes the provenance as comments, and then a LaTeX tabular with the rules of booktabs
 * (table_latex.c). Escapes texts, and aligns decimal points. Returns GSL_ENOMEM. */
int spec_table_write_latex(const spec_table *table, FILE *out);

/* Returns the value of the first provenance line "key: value" with this key, in buffer, truncated
 * to `size`; NULL if there is none. */
const char *spec_table_provenance(const spec_table *table, const char *key, char *buffer,
                                  size_t size);

/* Reads a CSV that _write wrote. It skips a partial last line, left by a kill, and a last line "#
 * interrupted ..."; *opt_good_bytes is the offset of that line. Errors are "path:line: ...". */
int spec_table_read_csv(spec_table *table, const char *path, long *opt_good_bytes,
                        spec_error *error);

/* Reads a CSV that any program may have written, with a header line. The separator is whichever of
 * comma, semicolon and tab is most frequent in that line; with semicolons, 0,5 is a number. Empty
 * lines, and lines that begin with #, may appear anywhere. Blanks around unquoted fields are
 * dropped, quoted numbers are numbers, and the last line may lack its newline. Comments before the
 * header become the provenance. A file that begins like a result of speclab is read as one, so that
 * an unfinished last row is skipped. _parse takes n bytes of text with a zero byte after them, and
 * frees them. */
int spec_table_parse_foreign_csv(spec_table *table, char *text, size_t n, const char *path,
                                 spec_error *error);
int spec_table_read_foreign_csv(spec_table *table, const char *path, spec_error *error);

#endif
