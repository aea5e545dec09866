/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/summary.h"

#include "experiments/report/comparison.h"
#include "experiments/report/trend.h"

#include <math.h>

/* ---- ranges ---------------------------------------------------------------------------------- */

/* Returns whether two rows have the same value, up to rounding. */
static bool is_equal(const spec_main_column *m, size_t row, size_t other)
{
    const double x = spec_main_column_value(m, row), y = spec_main_column_value(m, other);
    if (!isfinite(x) || !isfinite(y)) return x == y;
    return !spec_trend_above(x, 0.0, y, 0.0) && !spec_trend_above(y, 0.0, x, 0.0);
}

/* Writes " (K = 4, rule = `block`)" for a row, or " (in 3 rows)" if three rows have its value. */
static void write_where(FILE *out, const spec_main_column *m, size_t row)
{
    size_t equal = 0;
    for (size_t r = 0; r < m->keys->table->n_rows; r++) equal += is_equal(m, r, row);
    if (equal > 1) {
        fprintf(out, " (in %zu rows)", equal);
    } else if (m->keys->n_names > 0) {
        fputs(" (", out);
        spec_row_keys_write_row(out, m->keys, row);
        fputs(")", out);
    }
}

/* Writes the range of the values. Returns whether they differ by more than rounding. */
static bool write_range(FILE *out, const spec_main_column *m)
{
    const spec_table *table = m->keys->table;
    const char *unit = m->headline->unit != NULL ? m->headline->unit : "",
               *space = unit[0] != '\0' ? " " : "";
    size_t n = 0, low = 0, high = 0;
    for (size_t r = 0; r < table->n_rows; r++) {
        const double value = spec_main_column_value(m, r);
        if (isnan(value)) continue;
        if (n == 0 || value < spec_main_column_value(m, low)) low = r;
        if (n == 0 || value > spec_main_column_value(m, high)) high = r;
        n++;
    }
    if (n == 0) return false;
    const bool differ = !is_equal(m, high, low);
    fprintf(out, "- `%s` ", m->name);
    if (differ) {
        fputs("lies between ", out);
        spec_main_column_write(out, m, low);
        write_where(out, m, low);
        fputs(" and ", out);
        spec_main_column_write(out, m, high);
        fprintf(out, "%s%s", space, unit);
        write_where(out, m, high);
    } else {
        fputs("is ", out);
        spec_main_column_write(out, m, low);
        fprintf(out, "%s%s", space, unit);
        if (n > 1) fprintf(out, " in %s%zu rows", n == table->n_rows ? "all " : "", n);
    }
    fputs(".\n", out);
    return differ;
}

/* ---- all sentences --------------------------------------------------------------------------- */

static bool is_text(const spec_row_keys *keys, int column)
{
    for (size_t r = 0; r < keys->table->n_rows; r++)
        if (spec_row_keys_text(keys, r, column) == NULL) return false;
    return true;
}

int spec_summary_write(FILE *out, const spec_experiment *experiment, const spec_result *result)
{
    spec_row_keys keys;
    spec_main_column m, compared;
    bool any = false;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_row_keys_init(&keys, experiment, &result->table));
    for (const spec_headline *h = experiment->measure->headlines; h != NULL && h->column != NULL;
         h++) {
        if (!spec_main_column_find(&m, &keys, h)) continue;
        any = true;
        if (!write_range(out, &m) || !spec_main_column_comparable(&compared, &m)) continue;
        for (int k = 0; k < keys.n; k++) {
            const int column = keys.column[k];
            if (spec_row_keys_is_numeric(&keys, column))
                SPEC_TRY(spec_comparison_trend(out, &compared, column));
            else if (is_text(&keys, column))
                SPEC_TRY(spec_comparison_names(out, &compared, column));
        }
    }
    if (!any) fputs("- The table shows none of the measure's main columns.\n", out);
done:
    spec_row_keys_free(&keys);
    return status;
}
