/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/row_keys.h"

#include "base/escape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- order ----------------------------------------------------------------------------------- */

static int by_cell(const spec_cell *a, const spec_cell *b)
{
    const double x = spec_cell_number(a), y = spec_cell_number(b);
    if (isnan(x) != isnan(y)) return isnan(x) ? 1 : -1;
    if (!isnan(x)) return (x > y) - (x < y);
    return strcmp(a->text != NULL ? a->text : "", b->text != NULL ? b->text : "");
}

static const char **origin_of(const spec_row_keys *keys, int column)
{
    return keys->origin != NULL ? keys->origin[column] : NULL;
}

static int by_key(const spec_row_keys *keys, size_t row, size_t other, int column)
{
    const char **origin = origin_of(keys, column);
    if (origin != NULL) return strcmp(origin[row], origin[other]);
    return by_cell(spec_table_cell(keys->table, row, column),
                   spec_table_cell(keys->table, other, column));
}

/* Compares two rows by all keys but `axis`. */
static int by_others(const spec_row_keys *keys, size_t row, size_t other, int axis)
{
    int order = 0;
    for (int k = 0; k < keys->n && order == 0; k++)
        if (keys->column[k] != axis) order = by_key(keys, row, other, keys->column[k]);
    return order;
}

bool spec_row_keys_same_series(const spec_row_keys *keys, size_t row, size_t other, int axis)
{
    return by_others(keys, row, other, axis) == 0;
}

typedef struct {
    const spec_row_keys *keys;
    int axis;
} ordering;

static int by_series(const void *a, const void *b, void *context)
{
    const ordering *by = context;
    const size_t row = *(const size_t *)a, other = *(const size_t *)b;
    int order = by_others(by->keys, row, other, by->axis);
    if (order == 0 && by->axis >= 0) order = by_key(by->keys, row, other, by->axis);
    return order != 0 ? order : (row > other) - (row < other);
}

size_t *spec_row_keys_series(const spec_row_keys *keys, int axis)
{
    const size_t n = keys->table->n_rows;
    ordering by = {.keys = keys, .axis = axis};
    size_t *row = calloc(n + 1, sizeof *row);
    for (size_t i = 0; row != NULL && i < n; i++) row[i] = i;
    if (row != NULL) qsort_r(row, n, sizeof *row, by_series, &by);
    return row;
}

/* ---- which columns --------------------------------------------------------------------------- */

static bool varies(const spec_row_keys *keys, int column)
{
    for (size_t r = 1; r < keys->table->n_rows; r++)
        if (by_key(keys, 0, r, column) != 0) return true;
    return false;
}

static bool is_key(const spec_experiment *e, const char *column)
{
    bool parameter;
    spec_measure_default(e->measure, column, &parameter);
    if (parameter || spec_grid_axis(&e->grid, column) != NULL) return true;
    for (int i = 0; e->measure->keys != NULL && e->measure->keys[i] != NULL; i++)
        if (strcmp(e->measure->keys[i], column) == 0) return true;
    return false;
}

static void take_out(spec_row_keys *keys, int k)
{
    memmove(&keys->column[k], &keys->column[k + 1],
            (size_t)(keys->n - k - 1) * sizeof *keys->column);
    keys->n--;
}

/* Finds whether key k follows from the others, with one value in each series. */
static int is_implied(bool *ret_implied, const spec_row_keys *keys, int k)
{
    const int column = keys->column[k];
    size_t *row = spec_row_keys_series(keys, column);
    *ret_implied = true;
    if (row == NULL) return GSL_ENOMEM;
    for (size_t i = 1; i < keys->table->n_rows && *ret_implied; i++)
        *ret_implied = !spec_row_keys_same_series(keys, row[i - 1], row[i], column) ||
                       by_key(keys, row[i - 1], row[i], column) == 0;
    free(row);
    return GSL_SUCCESS;
}

/* Removes labels that follow from the other keys, the last ones first. */
static int drop_implied(spec_row_keys *keys, const spec_experiment *e)
{
    int status = GSL_SUCCESS;
    for (int k = keys->n - 1; k >= 0; k--) {
        const spec_axis *axis = spec_grid_axis(&e->grid, keys->table->column[keys->column[k]]);
        bool implied;
        if (axis == NULL || !axis->label) continue;
        SPEC_TRY(is_implied(&implied, keys, k));
        if (implied) take_out(keys, k);
    }
done:
    return status;
}

/* Finds whether the keys distinguish every two rows. */
static int are_distinct(bool *ret_distinct, const spec_row_keys *keys)
{
    size_t *row = spec_row_keys_series(keys, -1);
    *ret_distinct = true;
    if (row == NULL) return GSL_ENOMEM;
    for (size_t i = 1; i < keys->table->n_rows && *ret_distinct; i++)
        *ret_distinct = !spec_row_keys_same_series(keys, row[i - 1], row[i], -1);
    free(row);
    return GSL_SUCCESS;
}

/* Chooses the fewest leading keys that distinguish all rows. */
static int choose_names(spec_row_keys *keys)
{
    spec_row_keys first = *keys;
    bool distinct = false;
    int status = GSL_SUCCESS;
    for (first.n = 0; first.n < keys->n && !distinct;) {
        first.n++;
        SPEC_TRY(are_distinct(&distinct, &first));
    }
    keys->n_names = first.n;
    memcpy(keys->name, keys->column, sizeof keys->name);
done:
    return status;
}

/* Returns whether all axes that this one refers to are columns of the table. */
static bool is_built_from_shown(const spec_axis *axis, const spec_table *table)
{
    for (int i = 0; i < axis->n; i++)
        for (const char *at = axis->origin[i]; (at = strchr(at, '{')) != NULL;) {
            char name[64];
            const size_t n = strcspn(++at, "}");
            snprintf(name, sizeof name, "%.*s", n < sizeof name ? (int)n : 0, at);
            if (spec_table_column(table, name) < 0) return false;
        }
    return true;
}

/* Reads the values of a column before their references were expanded. Rows are in the order of the
 * points. *ret_origin is NULL if a row has no value of the axis. */
static int read_origin(const char ***ret_origin, const spec_axis *axis, const spec_table *table,
                       int column)
{
    int point = 0;
    *ret_origin = calloc(table->n_rows + 1, sizeof **ret_origin);
    if (*ret_origin == NULL) return GSL_ENOMEM;
    for (size_t r = 0; r < table->n_rows; r++) {
        const char *text = spec_table_cell(table, r, column)->text;
        while (point < axis->n && (text == NULL || strcmp(axis->value[point], text) != 0)) point++;
        if (point < axis->n) {
            (*ret_origin)[r] = axis->origin[point];
            continue;
        }
        free(*ret_origin);
        *ret_origin = NULL;
        return GSL_SUCCESS;
    }
    return GSL_SUCCESS;
}

int spec_row_keys_init(spec_row_keys *keys, const spec_experiment *experiment,
                       const spec_table *table)
{
    int status = GSL_SUCCESS;
    *keys = (spec_row_keys){.table = table};
    keys->origin = calloc((size_t)table->n_columns + 1, sizeof *keys->origin);
    if (keys->origin == NULL) SPEC_TRY(GSL_ENOMEM);
    for (int c = 0; c < table->n_columns && keys->n < SPEC_ROW_KEYS_MAX; c++) {
        const spec_axis *axis = spec_grid_axis(&experiment->grid, table->column[c]);
        if (axis != NULL && axis->origin != NULL && is_built_from_shown(axis, table))
            SPEC_TRY(read_origin(&keys->origin[c], axis, table, c));
        if (is_key(experiment, table->column[c]) && varies(keys, c)) keys->column[keys->n++] = c;
    }
    SPEC_TRY(choose_names(keys));
    SPEC_TRY(drop_implied(keys, experiment));
done:
    if (status != GSL_SUCCESS) spec_row_keys_free(keys);
    return status;
}

void spec_row_keys_free(spec_row_keys *keys)
{
    for (int c = 0; keys->origin != NULL && c < keys->table->n_columns; c++) free(keys->origin[c]);
    free(keys->origin);
    *keys = (spec_row_keys){0};
}

/* ---- words ----------------------------------------------------------------------------------- */

const char *spec_row_keys_text(const spec_row_keys *keys, size_t row, int column)
{
    const char **origin = origin_of(keys, column);
    const spec_cell *cell = spec_table_cell(keys->table, row, column);
    if (origin != NULL) return origin[row];
    return cell->kind == SPEC_CELL_TEXT ? cell->text : NULL;
}

void spec_row_keys_write_value(FILE *out, const spec_row_keys *keys, size_t row, int column)
{
    char buffer[40];
    const char *text = spec_row_keys_text(keys, row, column);
    if (text != NULL)
        spec_escape_code(out, text);
    else
        fputs(spec_cell_format(spec_table_cell(keys->table, row, column), SPEC_FORMAT_TABLE, buffer,
                               sizeof buffer),
              out);
}

/* Writes the non-empty columns, except `without`. */
static int write_columns(FILE *out, const spec_row_keys *keys, size_t row, const int *column, int n,
                         int without)
{
    int written = 0;
    for (int k = 0; k < n; k++) {
        const spec_cell *cell = spec_table_cell(keys->table, row, column[k]);
        const bool empty = cell->kind == SPEC_CELL_TEXT && cell->text[0] == '\0';
        if (column[k] == without || cell->kind == SPEC_CELL_EMPTY || empty) continue;
        fputs(written++ > 0 ? ", " : "", out);
        spec_escape_markdown(out, keys->table->column[column[k]]);
        fputs(" = ", out);
        spec_row_keys_write_value(out, keys, row, column[k]);
    }
    return written;
}

int spec_row_keys_write_row(FILE *out, const spec_row_keys *keys, size_t row)
{
    return write_columns(out, keys, row, keys->name, keys->n_names, -1);
}

int spec_row_keys_write_series(FILE *out, const spec_row_keys *keys, size_t row, int axis)
{
    return write_columns(out, keys, row, keys->column, keys->n, axis);
}

bool spec_row_keys_is_numeric(const spec_row_keys *keys, int column)
{
    if (origin_of(keys, column) != NULL) return false;
    for (size_t r = 0; r < keys->table->n_rows; r++)
        if (isnan(spec_cell_number(spec_table_cell(keys->table, r, column)))) return false;
    return true;
}
