/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/figures/figure_ranges.h"

#include "base/escape.h"
#include "cli/figures/figure_words.h"
#include "speclab/no_memory.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TITLE_SIZE = 160 };

/* Writes the range of an axis with margins, or a range around a single value. If there are zeros, a
 * logarithmic axis shows them at its low end; returns where, or 0. */
static double write_range(FILE *out, char axis, double low, double high, bool is_log, bool zeros)
{
    const char name = (char)toupper(axis);
    double zero = 0.0;
    if (is_log) {
        const double factor = high > low ? pow(high / low, 0.04) : 1.5;
        if (zeros) zero = low / fmax(1.5, factor * factor);
        fprintf(out, "set logscale %c\nLOW = %.12g\n", axis, low / factor);
        low = (zeros ? zero : low) / factor;
        high *= factor;
    } else {
        double margin = 0.04 * (high - low);
        if (!(margin > 0.0)) margin = high != 0.0 ? 0.1 * fabs(high) : 0.5;
        low -= margin;
        high += margin;
    }
    fprintf(out, "set %crange [%.12g:%.12g]\n%cLOW = %.12g; %cHIGH = %.12g\n", axis, low, high,
            name, low, name, high);
    if (is_log)
        fprintf(out, "%cLOG = LOW; %cZERO = %.12g\n", name, name, zero);
    else
        fprintf(out, "%cSPAN = %.12g\n", name, high - low);
    return zero;
}

/* Writes tics at whole numbers if there are few; at the values themselves, if they fit, on a
 * logarithmic axis with few values. */
static void write_number_tics(FILE *out, const spec_figure_column *column, bool is_log)
{
    const int n = column->n_levels;
    bool whole = n > 0 && n <= 13 && column->level_value[n - 1] - column->level_value[0] <= 12.0;
    for (int i = 0; i < n && whole; i++)
        whole = column->level_value[i] == floor(column->level_value[i]);
    if ((is_log && n <= 12) || n == 1) {
        int characters = 0;
        fputs("set xtics (", out);
        for (int i = 0, listed = 0; i < n; i++)
            if (!is_log || column->level_value[i] > 0.0)
                characters +=
                    fprintf(out, "%s%.10g", listed++ > 0 ? ", " : "", column->level_value[i]);
        fprintf(out, ")\nXLISTED = %d\n", characters);
    } else if (whole && !is_log) {
        fprintf(out, "WHOLE = 1; XSPAN = 0; FIRST = %g; LAST = %g\n", column->level_value[0],
                column->level_value[n - 1]);
    }
}

/* Writes names along an axis at 1, 2, ...; on a vertical axis, from the top. */
static int write_names(FILE *out, const spec_figure_points *points, spec_error *error)
{
    const spec_figure_column *at = points->at;
    fprintf(out, "array NAME[%d]\n", at->n_levels);
    for (int i = 0; i < at->n_levels; i++) {
        char *name = spec_figure_words_value(at->name, at->level[i], false);
        if (name == NULL) return spec_no_memory(error);
        fprintf(out, "NAME[%d] = ", i + 1);
        spec_escape_gnuplot_tic(out, name);
        fputc('\n', out);
        free(name);
    }
    fprintf(out, points->sideways ? "set yrange [%d.6:0.4]\n" : "set xrange [0.4:%d.6]\n",
            at->n_levels);
    fprintf(out, "NAMES = %d\n", at->n_levels);
    return GSL_SUCCESS;
}

static int none_above_zero(const spec_figure_data *data, const char *name, spec_error *error)
{
    return spec_fail(error, GSL_EINVAL,
                     "%s: no value of '%.60s' is above 0, as a logarithmic axis needs", data->path,
                     name);
}

/* Writes the value axis, with a line at 1 if that separates gain from loss. */
static int write_value_axis(FILE *out, spec_figure_points *points, const spec_figure_data *data,
                            const spec_figure_axes *axes, spec_error *error)
{
    const bool is_log = points->sideways ? axes->log_x : axes->log_y;
    const char *name = points->value[0]->name;
    double low = INFINITY, high = -INFINITY;
    bool zeros = false;
    for (size_t i = 0; i < points->n; i++) {
        const spec_figure_point *p = &points->point[i];
        const double values[] = {p->value, p->low, p->high, p->theory};
        zeros = zeros || p->value == 0.0 || p->theory == 0.0;
        for (int k = 0; k < 4; k++) {
            if (isnan(values[k]) || (is_log && !(values[k] > 0.0))) continue;
            low = fmin(low, values[k]);
            high = fmax(high, values[k]);
        }
    }
    if (!(low <= high)) return none_above_zero(data, name, error);
    const bool from_zero = axes->kind == SPEC_FIGURE_BARS && !is_log;
    if (from_zero) {
        low = fmin(low, 0.0);
        high = fmax(high, 0.0);
    }
    const double zero =
        write_range(out, points->sideways ? 'x' : 'y', low, high, is_log, zeros && is_log);
    for (size_t i = 0; i < points->n && is_log; i++) {
        spec_figure_point *p = &points->point[i];
        if (p->value == 0.0) p->value = zero;
        if (p->theory == 0.0) p->theory = zero;
        if (p->low <= 0.0) p->low = 1e-3 * low; /* gnuplot cuts the bars at the axis */
    }
    if (from_zero && low == 0.0)
        fprintf(out, "set %crange [0:%.12g]\n", points->sideways ? 'x' : 'y', high + 0.04 * high);
    fprintf(out, "BARS_FROM = %.12g\n", from_zero ? 0.0 : 1e-3 * low);
    const bool ratio = spec_figure_words_ratio(name);
    fprintf(out, "ONE = %d\n",
            ratio && low < 1.0 + 0.1 * (high - low) && high > 1.0 - 0.1 * (high - low));
    return GSL_SUCCESS;
}

static int write_place_axis(FILE *out, spec_figure_points *points, const spec_figure_data *data,
                            const spec_figure_axes *axes, spec_error *error)
{
    double low = INFINITY, high = -INFINITY;
    bool zeros = false;
    fputs("NAMES = 0; WHOLE = 0; XLISTED = 0; XSPAN = 0; YSPAN = 0; XLOG = 0; YLOG = 0; XZERO = 0; "
          "YZERO = 0\n",
          out);
    if (points->names) return write_names(out, points, error);
    for (size_t i = 0; i < points->n; i++) {
        zeros = zeros || points->point[i].at == 0.0;
        if (axes->log_x && !(points->point[i].at > 0.0)) continue;
        low = fmin(low, points->point[i].at);
        high = fmax(high, points->point[i].at);
    }
    if (!(low <= high)) return none_above_zero(data, points->at->name, error);
    const double zero = write_range(out, 'x', low, high, axes->log_x, zeros && axes->log_x);
    for (size_t i = 0; i < points->n && axes->log_x; i++)
        if (points->point[i].at == 0.0) points->point[i].at = zero;
    write_number_tics(out, points->at, axes->log_x);
    return GSL_SUCCESS;
}

/* Writes the title of the value axis. Columns whose titles differ only after the comma share
 * one. */
static void value_title(char *buffer, size_t size, const spec_figure_points *points,
                        const spec_figure_axes *axes)
{
    char first[TITLE_SIZE], other[TITLE_SIZE];
    spec_figure_words_axis(first, sizeof first, points->value[0]->name);
    size_t common = strlen(first);
    for (int j = 1; j < points->n_values; j++) {
        spec_figure_words_axis(other, sizeof other, points->value[j]->name);
        const size_t n = strcspn(first, ",");
        const bool same = strncmp(first, other, n) == 0 && (other[n] == '\0' || other[n] == ',');
        common = same ? n : 0;
        if (common == 0) break;
    }
    if (points->has_error && common > 0)
        snprintf(buffer, size, "%.*s ± %.60s", (int)common, first, axes->error.word[0]);
    else
        snprintf(buffer, size, "%.*s%s", (int)common, first,
                 common > 0 && points->has_bars
                     ? (points->has_low_high ? ", low to high" : ", ±2 s.e.")
                     : "");
}

static void write_titles(FILE *out, const spec_figure_points *points, const spec_figure_axes *axes)
{
    char place[TITLE_SIZE], value[TITLE_SIZE + 24];
    spec_figure_words_axis(place, sizeof place, points->at->name);
    value_title(value, sizeof value, points, axes);
    const char *x = points->sideways ? value : place, *y = points->sideways ? "" : value;
    fputs("XAXIS = ", out);
    spec_escape_gnuplot(out, axes->x_title != NULL ? axes->x_title : x);
    fputs("; YAXIS = ", out);
    spec_escape_gnuplot(out, axes->y_title != NULL ? axes->y_title : y);
    fputc('\n', out);
}

int spec_figure_ranges_write(FILE *out, spec_figure_points *points, const spec_figure_data *data,
                             const spec_figure_axes *axes, spec_error *error)
{
    int status = write_place_axis(out, points, data, axes, error);
    if (status == GSL_SUCCESS) status = write_value_axis(out, points, data, axes, error);
    if (status == GSL_SUCCESS) write_titles(out, points, axes);
    return status;
}
