/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/comparison.h"

#include "base/escape.h"
#include "experiments/report/trend.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 1000, LISTED = 6, WORDS = 8 };

/* ---- series ---------------------------------------------------------------------------------- */

/* The rows of a series that have a value, in the order of the axis. */
typedef struct {
    double y[LONGEST], se[LONGEST];
    size_t row[LONGEST];
    int n;
} series;

/* Reads the series that begins at order[*at], and moves *at past it. Returns false if the series
 * has two rows with the same value of the axis, or more than LONGEST rows. */
static bool read_series(series *ret, size_t *at, const spec_main_column *m, const size_t *order,
                        int axis)
{
    const size_t begin = *at, n_rows = m->keys->table->n_rows;
    bool good = true;
    ret->n = 0;
    for (; *at < n_rows && spec_row_keys_same_series(m->keys, order[begin], order[*at], axis);
         ++*at) {
        const size_t row = order[*at];
        const double y = spec_main_column_value(m, row), se = spec_main_column_se(m, row);
        if (*at > begin && spec_row_keys_same_series(m->keys, order[*at - 1], row, -1))
            good = false;
        if (!isfinite(y) || !isfinite(se)) continue;
        if (ret->n == LONGEST) return false;
        ret->y[ret->n] = y;
        ret->se[ret->n] = se;
        ret->row[ret->n++] = row;
    }
    return good;
}

/* Calls `add` for each series of at least two rows with values. If read_series fails,
 * *ret_comparable is false and the rest is not read. Returns GSL_ENOMEM. */
static int for_each_series(bool *ret_comparable, const spec_main_column *m, int axis,
                           void (*add)(void *self, const spec_main_column *m, const series *one,
                                       int axis),
                           void *self)
{
    series one;
    size_t *order = spec_row_keys_series(m->keys, axis);
    *ret_comparable = order != NULL;
    if (order == NULL) return GSL_ENOMEM;
    for (size_t at = 0; at < m->keys->table->n_rows && *ret_comparable;) {
        *ret_comparable = read_series(&one, &at, m, order, axis);
        if (one.n >= 2) add(self, m, &one, axis);
    }
    free(order);
    return GSL_SUCCESS;
}

static void write_key(FILE *out, const spec_main_column *m, size_t row, int axis)
{
    char buffer[40];
    fputs(spec_cell_format(spec_table_cell(m->keys->table, row, axis), SPEC_FORMAT_TABLE, buffer,
                           sizeof buffer),
          out);
}

/* ---- trends ---------------------------------------------------------------------------------- */

/* The number of series with each trend, and a row of each of the first series that peak or dip. */
typedef struct {
    int n, of[SPEC_TRENDS];
    size_t row[SPEC_TRENDS][LISTED];
} trends;

static const char *const trend_words[SPEC_TRENDS] = {
    [SPEC_TREND_RISES] = "rises",
    [SPEC_TREND_FALLS] = "falls",
    [SPEC_TREND_PEAKS] = "rises and then falls",
    [SPEC_TREND_DIPS] = "falls and then rises",
    [SPEC_TREND_FLAT] = "is flat",
    [SPEC_TREND_MIXED] = "has no single direction",
};

/* Returns the text before part i of a list of n: nothing, a comma, or "and" before the last. */
static const char *separator(int i, int n)
{
    return i == 0 ? "" : i + 1 < n ? ", " : " and ";
}

/* Writes where the largest or smallest values are, if series are few: " (largest at K = 4 for alpha
 * = 0.7; 6 for alpha = 0.8)". */
static void write_summits(FILE *out, const spec_main_column *m, const trends *found,
                          spec_trend trend, int axis)
{
    if ((trend != SPEC_TREND_PEAKS && trend != SPEC_TREND_DIPS) || found->of[trend] > LISTED)
        return;
    fprintf(out, " (%s at ", trend == SPEC_TREND_PEAKS ? "largest" : "smallest");
    spec_escape_markdown(out, m->keys->table->column[axis]);
    fputs(" = ", out);
    for (int i = 0; i < found->of[trend]; i++) {
        fputs(i == 0 ? "" : "; ", out);
        write_key(out, m, found->row[trend][i], axis);
        if (found->n == 1) continue;
        fputs(" for ", out);
        spec_row_keys_write_series(out, m->keys, found->row[trend][i], axis);
    }
    fputs(")", out);
}

static void write_trends(FILE *out, const spec_main_column *m, const trends *found, int axis)
{
    int n = 0, said = 0;
    for (int t = 0; t < SPEC_TRENDS; t++) n += found->of[t] > 0;
    fputs("- Along ", out);
    spec_escape_code(out, m->keys->table->column[axis]);
    fprintf(out, ", `%s` ", m->name);
    for (int t = 0; t < SPEC_TRENDS; t++) {
        if (found->of[t] == 0) continue;
        fprintf(out, "%s%s", separator(said, n), trend_words[t]);
        if (found->n > 1 && n == 1) fprintf(out, " in all %d series", found->n);
        else if (found->n > 1 && said == 0)
            fprintf(out, " in %d of %d series", found->of[t], found->n);
        else if (found->n > 1) fprintf(out, " in %d", found->of[t]);
        write_summits(out, m, found, (spec_trend)t, axis);
        said++;
    }
    fputs(".\n", out);
}

static void add_trend(void *self, const spec_main_column *m, const series *one, int axis)
{
    trends *found = self;
    int summit;
    (void)m, (void)axis;
    const spec_trend trend = spec_trend_of(one->y, one->se, one->n, &summit);
    if (found->of[trend] < LISTED) found->row[trend][found->of[trend]] = one->row[summit];
    found->of[trend]++;
    found->n++;
}

int spec_comparison_trend(FILE *out, const spec_main_column *m, int axis)
{
    trends found = {0};
    bool comparable;
    const int status = for_each_series(&comparable, m, axis, add_trend, &found);
    if (comparable && found.n > 0) write_trends(out, m, &found, axis);
    return status;
}

/* ---- the best of several names --------------------------------------------------------------- */

typedef struct {
    size_t row[WORDS];        /* a row with each name */
    int count[WORDS], n;      /* series in which the name has the largest value, significantly above
                               * all others */
    int n_series, n_together; /* number of all series; number of those whose two largest values do
                               * not differ */
    bool full;                /* there are more names than fit */
} ranking;

static void count_word(ranking *found, const spec_row_keys *keys, size_t row, int axis)
{
    const char *word = spec_row_keys_text(keys, row, axis);
    int i = 0;
    while (i < found->n && strcmp(spec_row_keys_text(keys, found->row[i], axis), word) != 0) i++;
    if (i == WORDS) {
        found->full = true;
        return;
    }
    if (i == found->n) found->row[found->n++] = row;
    found->count[i]++;
}

static void count_best(void *self, const spec_main_column *m, const series *one, int axis)
{
    ranking *found = self;
    int best = 0;
    bool apart = true;
    for (int i = 1; i < one->n; i++)
        if (one->y[i] > one->y[best]) best = i;
    for (int i = 0; i < one->n; i++)
        apart = apart &&
                (i == best || spec_trend_above(one->y[best], one->se[best], one->y[i], one->se[i]));
    found->n_series++;
    if (!apart) found->n_together++;
    else count_word(found, m->keys, one->row[best], axis);
}

static void write_ranking(FILE *out, const spec_main_column *m, const ranking *found, int axis)
{
    fputs("- Among the values of ", out);
    spec_escape_code(out, m->keys->table->column[axis]);
    fprintf(out, ", `%s` ", m->name);
    for (int i = 0; i < found->n; i++) {
        fprintf(out, "%s%s", separator(i, found->n), i == 0 ? "is largest for " : "for ");
        spec_row_keys_write_value(out, m->keys, found->row[i], axis);
        fprintf(out, " in %d", found->count[i]);
        if (i == 0) fprintf(out, " of %d series", found->n_series);
    }
    if (found->n > 0 && found->n_together > 0)
        fprintf(out, "; in %d there is no single largest value", found->n_together);
    else if (found->n_together > 0)
        fprintf(out, "has no single largest value in %s%d series",
                found->n_together > 1 ? "all " : "", found->n_together);
    fputs(".\n", out);
}

int spec_comparison_names(FILE *out, const spec_main_column *m, int axis)
{
    ranking found = {0};
    bool comparable;
    const int status = for_each_series(&comparable, m, axis, count_best, &found);
    if (comparable && !found.full && found.n_series > 0) write_ranking(out, m, &found, axis);
    return status;
}
