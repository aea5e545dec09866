/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/checked_rows.h"

#include "base/escape.h"
#include "experiments/report/row_keys.h"

#include <math.h>
#include <string.h>

enum { WORDS = 8 };

/* Finds the row and column of the largest difference from theory; returns false if no such column
 * has a number. */
static bool find_largest_z(size_t *ret_row, int *ret_column, const spec_measure *measure,
                           const spec_table *table)
{
    double largest = -1.0;
    *ret_row = 0;
    *ret_column = -1;
    for (int i = 0; measure->checked != NULL && measure->checked[i] != NULL; i++) {
        const int column = spec_table_column(table, measure->checked[i]);
        for (size_t r = 0;
             column >= 0 && spec_measure_is_z(measure->checked[i]) && r < table->n_rows; r++) {
            const double z = fabs(spec_cell_number(spec_table_cell(table, r, column)));
            if (!(z > largest)) continue;
            largest = z;
            *ret_row = r;
            *ret_column = column;
        }
    }
    return largest >= 0.0;
}

static void write_verdicts(FILE *out, const spec_table *table)
{
    const int column = spec_table_column(table, "verdict");
    const char *word[WORDS], *separator = "; `verdict` is ";
    size_t count[WORDS] = {0};
    int n = 0;
    for (size_t r = 0; column >= 0 && r < table->n_rows; r++) {
        const spec_cell *cell = spec_table_cell(table, r, column);
        int i = 0;
        if (cell->kind != SPEC_CELL_TEXT) continue;
        while (i < n && strcmp(word[i], cell->text) != 0) i++;
        if (i == WORDS) return;
        if (i == n) word[n++] = cell->text;
        count[i]++;
    }
    for (int i = 0; i < n; i++) {
        fputs(separator, out);
        spec_escape_code(out, word[i]);
        fprintf(out, " in %zu", count[i]);
        separator = i + 2 < n ? ", " : " and ";
    }
}

int spec_checked_rows_write(FILE *out, const spec_experiment *experiment, const spec_result *result,
                            bool row)
{
    const spec_table *table = &result->table;
    const unsigned long long checked = result->holds + result->fails, fails = result->fails;
    spec_row_keys keys;
    size_t at;
    int column;
    if (checked == 0) fputs("No row has exact theory or a claim to check", out);
    else if (fails > 0) fprintf(out, "**%llu of %llu checked rows FAIL**", fails, checked);
    else if (checked == table->n_rows)
        fprintf(out, checked == 1 ? "The one row holds" : "All %llu rows hold", checked);
    else
        fprintf(out, checked == 1 ? "The one checked row holds" : "All %llu checked rows hold",
                checked);
    if (find_largest_z(&at, &column, experiment->measure, table)) {
        fprintf(out, "; the largest difference from theory is %.2f standard errors",
                fabs(spec_cell_number(spec_table_cell(table, at, column))));
        if (row) {
            const int status = spec_row_keys_init(&keys, experiment, table);
            if (status != GSL_SUCCESS) return status;
            fprintf(out, " (`%s`%s", table->column[column], keys.n_names > 0 ? " at " : "");
            spec_row_keys_write_row(out, &keys, at);
            spec_row_keys_free(&keys);
            fputs(")", out);
        }
    }
    write_verdicts(out, table);
    return GSL_SUCCESS;
}
