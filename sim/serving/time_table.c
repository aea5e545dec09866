/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/time_table.h"

#include "base/table.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS_MAX = 1 << 20 };
static const double most_tokens = 1e12, most_seconds = 1e6;

typedef struct {
    double tokens, kv_tokens, seconds;
    size_t row; /* row of the file, from 1 */
} point;

/* ---- reading --------------------------------------------------------------------------------- */

/* The columns of a file, and the unit of its time column in seconds. */
typedef struct {
    const char *tokens_name, *seconds_name;
    int tokens, kv_tokens, seconds; /* -1: absent */
    double unit;
} columns;

static int find_columns(columns *ret, const spec_table *table, const char *path, bool draft,
                        spec_error *error)
{
    const bool bench = spec_table_column(table, "target_pass_ms") >= 0;
    const char *tokens = bench ? "pass" : "tokens";
    const char *seconds = !bench ? "seconds" : draft ? "draft_pass_ms" : "target_pass_ms";
    *ret = (columns){.tokens_name = tokens,
                     .seconds_name = seconds,
                     .tokens = spec_table_column(table, tokens),
                     .kv_tokens = bench ? -1 : spec_table_column(table, "kv_tokens"),
                     .seconds = spec_table_column(table, seconds),
                     .unit = bench ? 1e-3 : 1.0};
    if (ret->tokens >= 0 && ret->seconds >= 0) return GSL_SUCCESS;
    if (bench)
        return spec_fail(error, GSL_EINVAL, "%.300s: a result of bench without the column '%s'",
                         path, ret->tokens < 0 ? tokens : seconds);
    return spec_fail(error, GSL_EINVAL,
                     "%.300s: neither a result of bench nor a table with columns tokens, "
                     "kv_tokens and seconds",
                     path);
}

static int read_number(double *ret, const spec_table *table, size_t row, int column,
                       const double range[2], const char *path, spec_error *error)
{
    const spec_cell *cell = spec_table_cell(table, row, column);
    *ret = spec_cell_number(cell);
    if (*ret >= range[0] && *ret <= range[1]) return GSL_SUCCESS;
    char buffer[64];
    return spec_fail(error, GSL_EINVAL, "%.300s: row %zu: %.40s=%.40s is not between %.6g and %.6g",
                     path, row + 1, table->column[column],
                     spec_cell_format(cell, SPEC_FORMAT_CSV, buffer, sizeof buffer), range[0],
                     range[1]);
}

static int read_points(point *points, size_t *ret_n, const spec_table *table, const columns *at,
                       const char *path, spec_error *error)
{
    const double tokens_range[2] = {1.0, most_tokens}, kv_range[2] = {0.0, most_tokens},
                 seconds_range[2] = {1e-12 / at->unit, most_seconds / at->unit};
    size_t n = 0;
    int status = GSL_SUCCESS;
    for (size_t row = 0; row < table->n_rows; row++) {
        /* bench leaves a pass empty if no text was long enough. */
        if (at->unit != 1.0 && spec_table_cell(table, row, at->seconds)->kind == SPEC_CELL_EMPTY)
            continue;
        point *next = &points[n++];
        *next = (point){.row = row + 1};
        SPEC_TRY(read_number(&next->tokens, table, row, at->tokens, tokens_range, path, error));
        SPEC_TRY(read_number(&next->seconds, table, row, at->seconds, seconds_range, path, error));
        next->seconds *= at->unit;
        if (at->kv_tokens >= 0)
            SPEC_TRY(
                read_number(&next->kv_tokens, table, row, at->kv_tokens, kv_range, path, error));
    }
    *ret_n = n;
done:
    return status;
}

static int by_tokens(const void *left, const void *right)
{
    const point *a = left, *b = right;
    if (a->tokens != b->tokens) return a->tokens < b->tokens ? -1 : 1;
    if (a->kv_tokens != b->kv_tokens) return a->kv_tokens < b->kv_tokens ? -1 : 1;
    return a->row < b->row ? -1 : 1;
}

/* A pass that bench also timed for drafting ahead has two rows; we use the first. */
static size_t drop_repeated(point *points, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || points[kept - 1].tokens != points[i].tokens) points[kept++] = points[i];
    return kept;
}

static int take_points(spec_time_table *table, const point *points, size_t n, const char *path,
                       spec_error *error)
{
    int status = GSL_SUCCESS;
    table->tokens = malloc((n + 1) * sizeof *table->tokens);
    table->first = malloc((n + 1) * sizeof *table->first);
    table->kv_tokens = malloc((n + 1) * sizeof *table->kv_tokens);
    table->seconds = malloc((n + 1) * sizeof *table->seconds);
    if (table->tokens == NULL || table->first == NULL || table->kv_tokens == NULL ||
        table->seconds == NULL)
        SPEC_TRY(spec_no_memory(error));
    for (size_t i = 0; i < n; i++) {
        if (i == 0 || points[i].tokens != points[i - 1].tokens) {
            table->first[table->n] = i;
            table->tokens[table->n++] = points[i].tokens;
        } else if (points[i].kv_tokens == points[i - 1].kv_tokens) {
            SPEC_TRY(spec_fail(error, GSL_EINVAL,
                               "%.300s: rows %zu and %zu give the same point: %g tokens and %g KV "
                               "tokens",
                               path, points[i - 1].row, points[i].row, points[i].tokens,
                               points[i].kv_tokens));
        }
        table->kv_tokens[i] = points[i].kv_tokens;
        table->seconds[i] = points[i].seconds;
    }
    table->first[table->n] = n;
    if (table->n < 2)
        SPEC_TRY(
            spec_fail(error, GSL_EINVAL,
                      "%.300s: passes of one width give no time per token; add passes of another "
                      "width",
                      path));
done:
    return status;
}

static size_t points_of(const spec_time_table *table, int width)
{
    return table->first[width + 1] - table->first[width];
}

/* Checks that widths either all have one point, or all have several. */
static int check_widths(const spec_time_table *table, const char *path, spec_error *error)
{
    const bool several = points_of(table, 0) > 1;
    for (int i = 1; i < table->n; i++) {
        if ((points_of(table, i) > 1) == several) continue;
        return spec_fail(error, GSL_EINVAL,
                         "%.300s: %g tokens have times of one number of KV tokens, and %g tokens "
                         "of several: give two or more for each",
                         path, table->tokens[several ? i : 0], table->tokens[several ? 0 : i]);
    }
    if (several && table->kv > 0.0)
        return spec_fail(error, GSL_EINVAL,
                         "%.300s: the table has times by KV tokens: leave out kv=", path);
    return GSL_SUCCESS;
}

/* ---- interpolation --------------------------------------------------------------------------- */

/* Returns the value at x >= x0 of the line through two points with x0 < x1. A falling line stays at
 * y1 beyond x1. */
static double line(double x, double x0, double y0, double x1, double y1)
{
    const double slope = (y1 - y0) / (x1 - x0);
    if (x <= x0) return y0;
    return x <= x1 ? y0 + slope * (x - x0) : y1 + fmax(slope, 0.0) * (x - x1);
}

/* Returns the index, from 0 to n - 2, of the last segment that begins at or before x. */
static size_t segment(const double *at, size_t n, double x)
{
    size_t low = 0, high = n - 1;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (at[middle] <= x)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static double width_seconds(const spec_time_table *table, int width, double kv_tokens)
{
    const double *kv = table->kv_tokens + table->first[width],
                 *seconds = table->seconds + table->first[width];
    const size_t n = points_of(table, width);
    if (n == 1) return seconds[0] + table->kv * fmax(kv_tokens - kv[0], 0.0);
    const size_t i = segment(kv, n, kv_tokens);
    return line(kv_tokens, kv[i], seconds[i], kv[i + 1], seconds[i + 1]);
}

double spec_time_table_seconds(const spec_time_table *table, double tokens, double kv_tokens)
{
    const int i = (int)segment(table->tokens, (size_t)table->n, tokens);
    return line(tokens, table->tokens[i], width_seconds(table, i, kv_tokens), table->tokens[i + 1],
                width_seconds(table, i + 1, kv_tokens));
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void warn_of_falls(spec_time_table *table, const char *path)
{
    for (int i = 0; i + 1 < table->n; i++) {
        for (size_t j = table->first[i]; j < table->first[i + 1]; j++) {
            const double kv = table->kv_tokens[j];
            const double wide = width_seconds(table, i + 1, kv);
            if (wide >= table->seconds[j]) continue;
            snprintf(
                table->warning, sizeof table->warning,
                "%.100s: time falls as tokens rise: %g s for %g and %g s for %g, at %g KV tokens",
                path, table->seconds[j], table->tokens[i], wide, table->tokens[i + 1], kv);
            return;
        }
    }
    for (int i = 0; i < table->n; i++) {
        for (size_t j = table->first[i] + 1; j < table->first[i + 1]; j++) {
            if (table->seconds[j] >= table->seconds[j - 1]) continue;
            snprintf(
                table->warning, sizeof table->warning,
                "%.100s: time falls as KV tokens rise: %g s for %g and %g s for %g, at %g tokens",
                path, table->seconds[j - 1], table->kv_tokens[j - 1], table->seconds[j],
                table->kv_tokens[j], table->tokens[i]);
            return;
        }
    }
}

int spec_time_table_read(spec_time_table *table, const char *path, bool draft, double kv,
                         spec_error *error)
{
    spec_table file = {0};
    point *points = NULL;
    columns at;
    size_t n;
    int status = GSL_SUCCESS;
    *table = (spec_time_table){.kv = kv};
    SPEC_TRY(spec_table_read_foreign_csv(&file, path, error));
    SPEC_TRY(find_columns(&at, &file, path, draft, error));
    if (file.n_rows == 0 || file.n_rows > POINTS_MAX)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.300s: %zu rows: a table has 2 to %d", path,
                           file.n_rows, POINTS_MAX));
    points = malloc(file.n_rows * sizeof *points);
    if (points == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(read_points(points, &n, &file, &at, path, error));
    qsort(points, n, sizeof *points, by_tokens);
    if (at.unit != 1.0) n = drop_repeated(points, n);
    SPEC_TRY(take_points(table, points, n, path, error));
    SPEC_TRY(check_widths(table, path, error));
    warn_of_falls(table, path);
done:
    free(points);
    spec_table_free(&file);
    if (status != GSL_SUCCESS) spec_time_table_free(table);
    return status;
}

void spec_time_table_free(spec_time_table *table)
{
    free(table->tokens);
    free(table->first);
    free(table->kv_tokens);
    free(table->seconds);
    *table = (spec_time_table){0};
}
