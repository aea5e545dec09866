/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/main_column.h"

#include "experiments/report/trend.h"

#include <math.h>

bool spec_main_column_find(spec_main_column *ret, const spec_row_keys *keys,
                           const spec_headline *headline)
{
    char se[80];
    snprintf(se, sizeof se, "%s_se", headline->column);
    *ret = (spec_main_column){
        .keys = keys, .headline = headline, .name = headline->column, .exact = headline->exact};
    ret->column = spec_table_column(keys->table, headline->column);
    ret->se = spec_table_column(keys->table, headline->se != NULL ? headline->se : se);
    return ret->column >= 0;
}

bool spec_main_column_comparable(spec_main_column *ret, const spec_main_column *measured)
{
    char theory[80];
    *ret = *measured;
    if (measured->exact || measured->se >= 0) return true;
    snprintf(theory, sizeof theory, "%s_theory", measured->name);
    ret->column = spec_table_column(measured->keys->table, theory);
    if (ret->column < 0) return false;
    ret->name = measured->keys->table->column[ret->column];
    ret->exact = true;
    return true;
}

double spec_main_column_value(const spec_main_column *measured, size_t row)
{
    return spec_cell_number(spec_table_cell(measured->keys->table, row, measured->column));
}

double spec_main_column_se(const spec_main_column *measured, size_t row)
{
    if (measured->se < 0) return 0.0;
    return spec_cell_number(spec_table_cell(measured->keys->table, row, measured->se));
}

void spec_main_column_write(FILE *out, const spec_main_column *measured, size_t row)
{
    const double value = spec_main_column_value(measured, row),
                 se = spec_main_column_se(measured, row);
    if (se > 0.0 && isfinite(se)) {
        const int decimals = (int)fmin(12.0, fmax(0.0, 1.0 - floor(log10(se))));
        fprintf(out, "%.*f ± %.*f", decimals, value, decimals, se);
    } else {
        const bool zero = isfinite(value) && !spec_trend_above(fabs(value), 0.0, 0.0, 0.0);
        fprintf(out, "%.4g", zero ? 0.0 : value);
    }
}
