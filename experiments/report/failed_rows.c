/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/failed_rows.h"

#include "analysis/statistics/moments.h"
#include "base/escape.h"
#include "experiments/report/row_keys.h"

#include <math.h>
#include <string.h>

enum { LISTED = 20, NAMES = 2 };

/* Writes ", `column` is VALUE" if the table has a value of the column. */
static void write_value(FILE *out, const spec_table *table, size_t row, const char *name)
{
    char buffer[40];
    const int column = spec_table_column(table, name);
    if (column < 0 || spec_table_cell(table, row, column)->kind == SPEC_CELL_EMPTY) return;
    const spec_cell *cell = spec_table_cell(table, row, column);
    const char *text = spec_cell_format(cell, SPEC_FORMAT_TABLE, buffer, sizeof buffer);
    fputs(", ", out);
    spec_escape_code(out, name);
    fputs(" is ", out);
    if (cell->kind == SPEC_CELL_TEXT)
        spec_escape_code(out, text);
    else
        fputs(text, out);
}

/* Writes the failing value and its limit; for a verdict, also the row's main number. */
static void write_miss(FILE *out, const spec_measure *measure, const spec_table *table, size_t row)
{
    const char *name = spec_measure_failed(measure, table, row);
    if (name == NULL) {
        fputs(", by a column that is not shown", out);
        return;
    }
    write_value(out, table, row, name);
    if (strcmp(name, "verdict") == 0)
        write_value(out, table, row, measure->headlines[0].column);
    else if (spec_measure_is_z(name))
        fprintf(out, ", not within %g of 0", SPEC_CHECK_Z);
    else
        fprintf(out, ", below %g", SPEC_CHECK_P);
}

/* For a row without a measure: writes its first texts, and the numbers of a test. */
static void write_known(FILE *out, const spec_table *table, size_t row)
{
    static const char *const numbers[] = {"hard", "tv", "p"};
    int named = 0;
    for (int c = 0; c < table->n_columns && named < NAMES; c++)
        if (spec_table_cell(table, row, c)->kind == SPEC_CELL_TEXT) {
            write_value(out, table, row, table->column[c]);
            named++;
        }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        write_value(out, table, row, numbers[i]);
}

static void write_row(FILE *out, const char *name, const spec_row_keys *opt_keys,
                      const spec_measure *opt_measure, const spec_table *table, size_t row)
{
    fputs("- **", out);
    spec_escape_markdown(out, name);
    fprintf(out, "**, row %zu of %zu", row + 1, table->n_rows);
    if (opt_keys != NULL && opt_keys->n_names > 0) {
        fputs(" (", out);
        spec_row_keys_write_row(out, opt_keys, row);
        fputc(')', out);
    }
    if (opt_measure != NULL)
        write_miss(out, opt_measure, table, row);
    else
        write_known(out, table, row);
    fputs(".\n", out);
}

int spec_failed_rows_write(FILE *out, const char *name, const spec_measure *opt_measure,
                           const spec_table *table, const bool *fails)
{
    const spec_experiment experiment = {.measure = opt_measure};
    spec_row_keys keys = {.n = 0};
    size_t n = 0;
    int status = GSL_SUCCESS;
    if (opt_measure != NULL) SPEC_TRY(spec_row_keys_init(&keys, &experiment, table));
    for (size_t r = 0; r < table->n_rows; r++) {
        if (!fails[r] || n++ >= LISTED) continue;
        write_row(out, name, opt_measure != NULL ? &keys : NULL, opt_measure, table, r);
    }
    if (n > LISTED) {
        fprintf(out, "- and %zu more rows of **", n - LISTED);
        spec_escape_markdown(out, name);
        fputs("**.\n", out);
    }
done:
    if (opt_measure != NULL) spec_row_keys_free(&keys);
    return status;
}
