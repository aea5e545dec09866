/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/figures/figure_data.h"

#include "base/names.h"
#include "base/settings.h"
#include "base/table_file.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Larger numbers are left out, because gnuplot cannot place them on an axis. */
#define NUMBER_MAX 1e100

/* ---- reading --------------------------------------------------------------------------------- */

/* Returns whether the cell is what other programs write for a missing number. */
static bool is_nothing(const spec_cell *cell)
{
    static const char *const names[] = {"",    "NA",   "N/A",  "n/a",  "NaN",
                                        "nan", "null", "NULL", "None", "-"};
    for (size_t i = 0; cell->kind == SPEC_CELL_TEXT && i < sizeof names / sizeof names[0]; i++)
        if (strcmp(cell->text, names[i]) == 0) return true;
    return cell->kind == SPEC_CELL_EMPTY;
}

static const char *cell_text(const spec_cell *cell, char *buffer, size_t size)
{
    return spec_cell_format(cell, SPEC_FORMAT_CSV, buffer, size);
}

bool spec_figure_data_has(const spec_figure_data *data, const char *name)
{
    return spec_table_column(&data->table, name) >= 0;
}

static int no_column(const spec_figure_data *data, const char *name, spec_error *error)
{
    const spec_table *table = &data->table;
    char near[SPEC_NAMES_MEANT_SIZE], all[200] = "";
    const char **known = calloc((size_t)table->n_columns + 1, sizeof *known);
    if (known == NULL) return spec_no_memory(error);
    size_t used = 0;
    for (int c = 0; c < table->n_columns; c++) {
        known[c] = table->column[c];
        if (used + strlen(known[c]) + 8 > sizeof all) continue;
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s",
                                 used > 0 ? ", " : "; it has ", known[c]);
    }
    spec_names_meant(near, name, known, all);
    free(known);
    /* We list all columns ourselves, because the list does not fit the buffer of
     * spec_names_meant. */
    const bool meant = strncmp(near, "; did you mean", 14) == 0;
    return spec_fail(error, GSL_EINVAL, "%s has no column '%.60s'%s", data->path, name,
                     meant ? near : all);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Returns whether the cell has this value; numbers are compared as numbers. */
static bool is_value(const spec_cell *cell, const char *value)
{
    char buffer[64];
    double number;
    return strcmp(cell_text(cell, buffer, sizeof buffer), value) == 0 ||
           (spec_settings_parse_double(&number, value) && spec_cell_number(cell) == number);
}

/* Marks the rows whose cell is one of "VALUE,VALUE". If the whole text, including commas, is the
 * value of some row, it counts as one value. */
static int mark_rows(bool *keep, const spec_figure_data *data, int column, const char *values,
                     spec_error *error)
{
    spec_word_list list = {0};
    bool whole = false;
    for (size_t r = 0; r < data->n_rows && !whole; r++)
        whole = is_value(spec_table_cell(&data->table, data->row[r], column), values);
    if ((whole ? spec_word_list_add(&list, values) : spec_word_list_split(&list, values, ",")) !=
        GSL_SUCCESS)
        return spec_no_memory(error);
    for (size_t r = 0; r < data->n_rows; r++)
        for (int i = 0; i < list.n && !keep[r]; i++)
            keep[r] = is_value(spec_table_cell(&data->table, data->row[r], column), list.word[i]);
    spec_word_list_free(&list);
    return GSL_SUCCESS;
}

/* Splits "COLUMN=VALUES". */
static int read_condition(int *ret_column, const char **ret_values, const spec_figure_data *data,
                          const char *condition, spec_error *error)
{
    const char *equals = strchr(condition, '=');
    if (equals == NULL || equals == condition || equals[1] == '\0')
        return spec_fail(error, GSL_EINVAL, "--where: '%.100s' is not COLUMN=VALUE", condition);
    char *name = strndup(condition, (size_t)(equals - condition));
    if (name == NULL) return spec_no_memory(error);
    *ret_column = spec_table_column(&data->table, name);
    *ret_values = equals + 1;
    const int status = *ret_column < 0 ? no_column(data, name, error) : GSL_SUCCESS;
    free(name);
    return status;
}

/* Keeps the rows that satisfy condition `first`, or another condition on the same column. */
static int keep_rows(spec_figure_data *data, const spec_word_list *where, int first,
                     spec_error *error)
{
    int column, other, status = GSL_SUCCESS;
    const char *values;
    size_t kept = 0;
    bool *keep = calloc(data->n_rows, sizeof *keep);
    if (keep == NULL) return spec_no_memory(error);
    SPEC_TRY(read_condition(&column, &values, data, where->word[first], error));
    for (int i = 0; i < where->n; i++) {
        SPEC_TRY(read_condition(&other, &values, data, where->word[i], error));
        if (other == column) SPEC_TRY(mark_rows(keep, data, column, values, error));
    }
    for (size_t r = 0; r < data->n_rows; r++)
        if (keep[r]) data->row[kept++] = data->row[r];
    data->n_rows = kept;
    if (kept == 0)
        status = spec_fail(error, GSL_EINVAL, "%s has no row with %.100s", data->path,
                           where->word[first]);
done:
    free(keep);
    return status;
}

int spec_figure_data_load(spec_figure_data *data, const char *path, const spec_word_list *where,
                          spec_error *error)
{
    static const spec_input_limit limit = {"a result", 1 << 30};
    int status = GSL_SUCCESS;
    *data = (spec_figure_data){0};
    SPEC_TRY(spec_table_file_read(&data->table, NULL, path, &limit, error));
    data->n_rows = data->table.n_rows;
    data->path = strdup(path);
    data->row = calloc(data->n_rows, sizeof *data->row);
    data->columns = calloc((size_t)data->table.n_columns, sizeof *data->columns);
    if (data->path == NULL || data->row == NULL || data->columns == NULL)
        SPEC_TRY(spec_no_memory(error));
    for (size_t r = 0; r < data->n_rows; r++) data->row[r] = r;
    for (int i = 0; i < where->n; i++) SPEC_TRY(keep_rows(data, where, i, error));
done:
    if (status != GSL_SUCCESS) spec_figure_data_free(data);
    return status;
}

void spec_figure_data_free(spec_figure_data *data)
{
    for (int c = 0; data->columns != NULL && c < data->table.n_columns; c++) {
        spec_figure_column *column = &data->columns[c];
        for (int i = 0; column->level != NULL && i < column->n_levels; i++) free(column->level[i]);
        free(column->value);
        free(column->level);
        free(column->level_value);
    }
    free(data->columns);
    free(data->row);
    free(data->path);
    spec_table_free(&data->table);
    *data = (spec_figure_data){0};
}

const spec_measure *spec_figure_data_measure(const spec_figure_data *data)
{
    return spec_measure_of_table(&data->table);
}

/* ---- levels ---------------------------------------------------------------------------------- */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Returns the distinct numbers of a column, up to one more than SPEC_FIGURE_LEVELS_MAX. */
static int number_levels(spec_figure_column *column, size_t n_rows)
{
    double *sorted = calloc(n_rows, sizeof *sorted);
    size_t n = 0;
    if (sorted == NULL) return GSL_ENOMEM;
    for (size_t r = 0; r < n_rows; r++)
        if (!isnan(column->value[r])) sorted[n++] = column->value[r];
    qsort(sorted, n, sizeof *sorted, ascending);
    for (size_t i = 0; i < n && column->n_levels <= SPEC_FIGURE_LEVELS_MAX; i++)
        if (i == 0 || sorted[i] != sorted[i - 1]) sorted[column->n_levels++] = sorted[i];
    column->level_value = sorted;
    return GSL_SUCCESS;
}

static int name_numbers(spec_figure_column *column)
{
    if (column->n_levels > SPEC_FIGURE_LEVELS_MAX) return GSL_SUCCESS;
    column->level = calloc((size_t)column->n_levels + 1, sizeof *column->level);
    if (column->level == NULL) return GSL_ENOMEM;
    for (int i = 0; i < column->n_levels; i++)
        if (asprintf(&column->level[i], "%.10g", column->level_value[i]) < 0) {
            column->level[i] = NULL;
            return GSL_ENOMEM;
        }
    return GSL_SUCCESS;
}

/* Finds the levels of a text column in order of appearance; each row's value becomes its level
 * number. */
static int text_levels(spec_figure_column *column, const spec_figure_data *data, int c)
{
    column->level = calloc(SPEC_FIGURE_LEVELS_MAX + 1, sizeof *column->level);
    if (column->level == NULL) return GSL_ENOMEM;
    for (size_t r = 0; r < data->n_rows; r++) {
        const spec_cell *cell = spec_table_cell(&data->table, data->row[r], c);
        char buffer[64];
        int i = 0;
        column->value[r] = NAN;
        if (is_nothing(cell)) continue;
        const char *text = cell_text(cell, buffer, sizeof buffer);
        while (i < column->n_levels && strcmp(column->level[i], text) != 0) i++;
        if (i == column->n_levels && i < SPEC_FIGURE_LEVELS_MAX) {
            if ((column->level[i] = strdup(text)) == NULL) return GSL_ENOMEM;
            column->n_levels++;
        }
        column->value[r] = i < SPEC_FIGURE_LEVELS_MAX ? (double)i + 1.0 : NAN;
    }
    return GSL_SUCCESS;
}

static int fill(spec_figure_column *column, const spec_figure_data *data, int c)
{
    column->name = data->table.column[c];
    column->value = calloc(data->n_rows, sizeof *column->value);
    if (column->value == NULL) return GSL_ENOMEM;
    for (size_t r = 0; r < data->n_rows; r++) {
        const spec_cell *cell = spec_table_cell(&data->table, data->row[r], c);
        const double number = spec_cell_number(cell);
        column->value[r] = fabs(number) <= NUMBER_MAX ? number : NAN;
        column->is_text = column->is_text || (cell->kind == SPEC_CELL_TEXT && !is_nothing(cell));
    }
    int status = GSL_SUCCESS;
    if (column->is_text) {
        status = text_levels(column, data, c);
    } else {
        status = number_levels(column, data->n_rows);
        if (status == GSL_SUCCESS) status = name_numbers(column);
    }
    column->is_constant = column->n_levels == 1;
    for (size_t r = 0; r < data->n_rows && column->is_constant; r++)
        column->is_constant = !isnan(column->value[r]);
    return status;
}

int spec_figure_data_column(const spec_figure_column **ret_column, spec_figure_data *data,
                            const char *name, spec_error *error)
{
    const int c = spec_table_column(&data->table, name);
    *ret_column = NULL;
    if (c < 0) return no_column(data, name, error);
    if (data->columns[c].value == NULL && fill(&data->columns[c], data, c) != GSL_SUCCESS)
        return spec_no_memory(error);
    *ret_column = &data->columns[c];
    return GSL_SUCCESS;
}

int spec_figure_column_level(const spec_figure_column *column, size_t row)
{
    const double value = column->value[row];
    if (isnan(value)) return -1;
    if (column->is_text) return (int)value - 1;
    int low = 0, high = column->n_levels - 1;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (column->level_value[middle] < value) low = middle + 1;
        else high = middle;
    }
    return low;
}
