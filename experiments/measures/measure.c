/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measure.h"

#include "analysis/statistics/moments.h"
#include "base/names.h"
#include "base/settings.h"

#include <math.h>
#include <string.h>

static const char *name_of(int i)
{
    return spec_measures[i] != NULL ? spec_measures[i]->name : NULL;
}

int spec_measure_find(const spec_measure **ret_measure, const char *name, spec_error *error)
{
    const int i = spec_names_find(name_of, name, "measure", error);
    *ret_measure = i >= 0 ? spec_measures[i] : NULL;
    return i >= 0 ? GSL_SUCCESS : GSL_EINVAL;
}

/* Returns whether the table has all columns of the measure; *ret_n is their number. */
static bool has_all_columns(int *ret_n, const spec_measure *measure, const spec_table *table)
{
    for (*ret_n = 0; measure->columns[*ret_n] != NULL; ++*ret_n)
        if (spec_table_column(table, measure->columns[*ret_n]) < 0) return false;
    return true;
}

const spec_measure *spec_measure_of_table(const spec_table *table)
{
    enum { LEAST = 4 }; /* fewer columns might come from any program */
    char name[64];
    const spec_measure *found = NULL;
    int most = LEAST - 1, n;
    spec_error ignored;
    if (spec_table_provenance(table, "measure", name, sizeof name) != NULL)
        return spec_measure_find(&found, name, &ignored) == GSL_SUCCESS ? found : NULL;
    for (int i = 0; table->provenance[0] == '\0' && spec_measures[i] != NULL; i++)
        if (has_all_columns(&n, spec_measures[i], table) && n > most) {
            most = n;
            found = spec_measures[i];
        }
    return found;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static bool ends_with(const char *name, const char *whole, const char *ending)
{
    size_t n = strlen(name), m = strlen(ending);
    return strcmp(name, whole) == 0 || (n > m && strcmp(name + n - m, ending) == 0);
}

bool spec_measure_is_z(const char *column)
{
    return ends_with(column, "z", "_z");
}

static spec_check judge(const char *name, const spec_cell *cell)
{
    if (cell->kind == SPEC_CELL_EMPTY) return SPEC_CHECK_NONE;
    if (strcmp(name, "verdict") == 0) {
        if (cell->kind != SPEC_CELL_TEXT || strncmp(cell->text, "biased", 6) == 0)
            return SPEC_CHECK_NONE;
        if (strcmp(cell->text, SPEC_TOO_LARGE) == 0) return SPEC_CHECK_LEFT_OUT;
        return strncmp(cell->text, "NOT", 3) == 0 ? SPEC_CHECK_FAILS : SPEC_CHECK_HOLDS;
    }
    double value = spec_cell_number(cell);
    if (isnan(value)) return SPEC_CHECK_NONE;
    if (spec_measure_is_z(name))
        return fabs(value) > SPEC_CHECK_Z ? SPEC_CHECK_FAILS : SPEC_CHECK_HOLDS;
    return value < SPEC_CHECK_P ? SPEC_CHECK_FAILS : SPEC_CHECK_HOLDS;
}

spec_check spec_measure_check(const spec_measure *measure, const spec_table *table, size_t row)
{
    spec_check check = SPEC_CHECK_NONE;
    for (int i = 0; measure->checked != NULL && measure->checked[i] != NULL; i++) {
        int column = spec_table_column(table, measure->checked[i]);
        if (column < 0) continue;
        spec_check one = judge(measure->checked[i], spec_table_cell(table, row, column));
        if (one > check) check = one; /* NONE < HOLDS < LEFT_OUT < FAILS */
    }
    return check;
}

const char *spec_measure_failed(const spec_measure *measure, const spec_table *table, size_t row)
{
    for (int i = 0; measure->checked != NULL && measure->checked[i] != NULL; i++) {
        const int column = spec_table_column(table, measure->checked[i]);
        if (column >= 0 &&
            judge(measure->checked[i], spec_table_cell(table, row, column)) == SPEC_CHECK_FAILS)
            return measure->checked[i];
    }
    return NULL;
}

/* ---- parameters ------------------------------------------------------------------------------ */

bool spec_measure_tells(const spec_measure *measure, const char *name)
{
    for (int i = 0; measure->columns[i] != NULL; i++)
        if (strcmp(measure->columns[i], name) == 0) return true;
    return false;
}

const char *spec_measure_default(const spec_measure *measure, const char *name, bool *opt_known)
{
    size_t n = strlen(name);
    if (opt_known != NULL) *opt_known = true;
    for (int i = 0; measure->parameters[i] != NULL; i++) {
        const char *parameter = measure->parameters[i];
        if (strncmp(parameter, name, n) != 0 || (parameter[n] != '\0' && parameter[n] != '='))
            continue;
        return parameter[n] == '=' ? parameter + n + 1 : NULL;
    }
    if (opt_known != NULL) *opt_known = false;
    return NULL;
}

const char *spec_point_text(const spec_point *point, const spec_measure *measure, const char *name)
{
    const char *value = spec_grid_value(point->grid, point->index, name);
    return value != NULL ? value : spec_measure_default(measure, name, NULL);
}

int spec_point_double(double *ret, const spec_point *point, const spec_measure *measure,
                      const char *name, double low, double high, spec_error *error)
{
    const char *text = spec_point_text(point, measure, name);
    *ret = NAN;
    if (text == NULL) return spec_fail(error, GSL_EINVAL, "%s: no value is given", name);
    if (!spec_settings_parse_double(ret, text))
        return spec_fail(error, GSL_EINVAL, "%s: '%.80s' is not a number", name, text);
    if (*ret >= low && *ret <= high) return GSL_SUCCESS;
    *ret = NAN;
    return spec_fail(error, GSL_EDOM, "%s: %.40s is not within [%g, %g]", name, text, low, high);
}

int spec_point_int(int *ret, const spec_point *point, const spec_measure *measure, const char *name,
                   int low, int high, spec_error *error)
{
    const char *text = spec_point_text(point, measure, name);
    *ret = 0;
    if (text == NULL) return spec_fail(error, GSL_EINVAL, "%s: no value is given", name);
    if (spec_settings_parse_int(ret, text) && *ret >= low && *ret <= high) return GSL_SUCCESS;
    *ret = 0;
    double number; /* a double, because it may exceed an int */
    if (spec_settings_parse_double(&number, text) && number == floor(number) &&
        (number < low || number > high))
        return spec_fail(error, GSL_EDOM, "%s: %.40s is not within [%d, %d]", name, text, low,
                         high);
    return spec_fail(error, GSL_EINVAL, "%s: '%.80s' is not a whole number", name, text);
}

int spec_point_read(const spec_point *point)
{
    return point->until == SPEC_POINT_READ ? GSL_CONTINUE : GSL_SUCCESS;
}

int spec_point_opened(const spec_point *point)
{
    return point->until == SPEC_POINT_OPENED ? GSL_CONTINUE : GSL_SUCCESS;
}
