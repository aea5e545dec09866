/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/figures/figure_series.h"

#include "base/escape.h"
#include "base/memory_text.h"
#include "cli/figures/figure_ranges.h"
#include "cli/figures/gnuplot.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* COLOURS and MARKS are those of style.gp. */
enum { DASHES = 5, COLOURS = 8, MARKS = 15, COMPARED_MAX = 2000 };

/* ---- what a series is drawn with ------------------------------------------------------------- */

typedef struct {
    bool theory, bars, dots, join;
} strokes;

/* Reads the points of one series in one panel, from `i` on, and returns their number. Also sets how
 * they are drawn, and a row that would be drawn at the same position as another one, or -1. */
static size_t one_series(strokes *ret, long *ret_twice, const spec_figure_points *points, size_t i)
{
    const spec_figure_point *first = &points->point[i];
    size_t n = 0, values = 0;
    bool one_theory = true;
    *ret = (strokes){0};
    *ret_twice = -1;
    for (; i + n < points->n; n++) {
        const spec_figure_point *point = first + n;
        if (point->panel != first->panel || point->series != first->series) break;
        const bool again = n > 0 && point->at == point[-1].at;
        if (again && *ret_twice < 0) *ret_twice = (long)(i + n);
        one_theory = one_theory && !(again && point->theory != point[-1].theory);
        ret->theory = ret->theory || !isnan(point->theory);
        ret->bars = ret->bars || !isnan(point->low);
        values += isnan(point->value) ? 0 : 1;
    }
    ret->theory = ret->theory && one_theory;
    ret->join =
        values > 1 && points->line[first->y] && *ret_twice < 0 && !ret->theory && !points->sideways;
    ret->dots = values > 0 && (points->dots[first->y] || !ret->join);
    return n;
}

const char *spec_figure_series_differ(char *buffer, size_t size, const spec_figure_data *data,
                                      size_t row, size_t other, const spec_figure_axes *axes)
{
    const spec_table *table = &data->table;
    const spec_measure *measure = spec_figure_data_measure(data);
    size_t used = 0;
    int named = 0;
    buffer[0] = '\0';
    for (int c = 0; c < table->n_columns && named < 3; c++) {
        const char *name = table->column[c];
        const spec_cell *a = spec_table_cell(table, data->row[row], c),
                        *b = spec_table_cell(table, data->row[other], c);
        char first[40], second[40];
        bool parameter = false;
        if (measure != NULL) spec_measure_default(measure, name, &parameter);
        const bool measured = a->kind == SPEC_CELL_NUMBER || b->kind == SPEC_CELL_NUMBER;
        const bool drawn = spec_word_list_has(&axes->y, name) ||
                           (axes->heat != NULL && strcmp(axes->heat, name) == 0);
        const bool result = measure != NULL && spec_measure_tells(measure, name) && !parameter;
        if (drawn || result || strcmp(name, "row_check") == 0 || strlen(name) > 40) continue;
        if (strcmp(spec_cell_format(a, SPEC_FORMAT_CSV, first, sizeof first),
                   spec_cell_format(b, SPEC_FORMAT_CSV, second, sizeof second)) == 0)
            continue;
        /* Numbers with many digits are results, not parameters. */
        if (measured && (strlen(first) > 6 || strlen(second) > 6)) continue;
        used += (size_t)snprintf(buffer + used, size - used, "%s%s", named++ > 0 ? ", " : "", name);
        if (used + 44 > size) break;
    }
    return buffer;
}

static void write_strokes(FILE *out, spec_figure_note *ret_note, spec_figure_data *data,
                          const spec_figure_axes *axes, const spec_figure_points *points)
{
    static const char *const names[] = {"THEORY", "BARS", "DOTS", "JOIN"};
    ret_note->text[0] = '\0';
    for (size_t k = 0; k < 4; k++) {
        fprintf(out, "array %s[%d]\n", names[k], points->n_panels);
        for (size_t i = 0; i < points->n;) {
            const spec_figure_point *first = &points->point[i];
            strokes s;
            long twice;
            if (i == 0 || first->panel != first[-1].panel)
                fprintf(out, "%s%s[%d] = '", i == 0 ? "" : "'\n", names[k], first->panel + 1);
            const size_t n = one_series(&s, &twice, points, i);
            const bool wanted[] = {s.theory, s.bars, s.dots && !s.bars, s.join};
            if (wanted[k]) fprintf(out, "%d ", first->series + 1);
            if (twice >= 0 && ret_note->text[0] == '\0' && !points->sideways &&
                axes->kind != SPEC_FIGURE_SCATTER) {
                char differ[160];
                const spec_figure_point *point = &points->point[twice];
                spec_figure_series_differ(differ, sizeof differ, data, point->row, point[-1].row,
                                          axes);
                snprintf(ret_note->text, sizeof ret_note->text,
                         "several rows have the same x, so no line joins them%s%.140s%s",
                         differ[0] != '\0' ? "; they differ in " : "", differ,
                         differ[0] != '\0' ? ": see --by, --facet, --where" : "");
            }
            i += n;
        }
        fputs("'\n", out);
    }
}

/* ---- legend ---------------------------------------------------------------------------------- */

typedef struct {
    FILE *title, *colour, *dash, *shape;
    int n;
} legend;

/* Adds an entry with numbers from 1, for style.gp. Colour 0: black; dash 0: no line; shape 0: no
 * point. */
static void add_entry(legend *keys, const char *title, int colour, int dash, int shape)
{
    fputs(keys->n == 0 ? "" : ", ", keys->title);
    spec_escape_gnuplot(keys->title, title);
    fprintf(keys->colour, "%s%d", keys->n == 0 ? "" : ", ", colour);
    fprintf(keys->dash, "%s%d", keys->n == 0 ? "" : ", ", dash);
    fprintf(keys->shape, "%s%d", keys->n == 0 ? "" : ", ", shape);
    keys->n++;
}

/* Returns the y column of a colour or a style, from its first point. */
static int column_of(const spec_figure_points *points, int opt_colour, int opt_style)
{
    const spec_figure_point *p = points->point;
    while ((opt_colour >= 0 && p->colour != opt_colour) ||
           (opt_style >= 0 && p->style != opt_style))
        p++;
    return p->y;
}

/* Returns the dash of a series, from 0. It changes when the colours, or the marks, start over. */
static int dash_of(const spec_figure_points *points, int colour, int style)
{
    if (points->n_styles > 1) return (style + style / MARKS) % DASHES;
    return points->numbers ? 0 : colour / COLOURS % DASHES;
}

/* Adds entries for colours, for styles, and for theory and data. If there are several styles, they
 * have the dashes and marks, and a colour is shown as a plain line. */
static void add_entries(legend *keys, const spec_figure_points *points, bool simulated)
{
    const bool several = points->n_styles > 1;
    for (int i = 0; i < points->n_colours && points->n_colours > 1; i++) {
        const int y = column_of(points, i, -1);
        const bool dots = !several && (points->sideways || points->dots[y]);
        const bool line = several || (!points->sideways && points->line[y]);
        const int dash = several ? 0 : dash_of(points, i, 0);
        add_entry(keys, points->colour[i], i + 1, line ? dash + 1 : 0, dots ? i + 1 : 0);
    }
    for (int i = 0; i < points->n_styles && several; i++) {
        const int y = column_of(points, -1, i);
        add_entry(keys, points->style[i], 0,
                  points->sideways || !points->line[y] ? 0 : dash_of(points, 0, i) + 1,
                  points->dots[y] ? i + 1 : 0);
    }
    if (!points->has_theory) return;
    add_entry(keys, "theory", 0, 1, 0);
    if (points->n_values == 1) add_entry(keys, simulated ? "simulated" : "data", 0, 0, 1);
}

static int write_legend(FILE *out, const spec_figure_points *points, bool simulated,
                        spec_error *error)
{
    spec_memory_text text[4] = {{.out = NULL}};
    int status = GSL_SUCCESS;
    static const char *const names[] = {"KEY_TITLE", "KEY_COLOUR", "KEY_DASH", "KEY_SHAPE"};
    for (int i = 0; i < 4; i++)
        if (!spec_memory_text_open(&text[i])) status = spec_no_memory(error);
    legend keys = {text[0].out, text[1].out, text[2].out, text[3].out, 0};
    if (status == GSL_SUCCESS) add_entries(&keys, points, simulated);
    fprintf(out, "KEYS = %d\n", keys.n);
    for (int i = 0; i < 4; i++) {
        char *entries = spec_memory_text_take(&text[i], NULL);
        if (entries == NULL) status = spec_no_memory(error);
        else if (keys.n > 0) fprintf(out, "array %s[%d] = [%s]\n", names[i], keys.n, entries);
        free(entries);
    }
    return status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void write_data(FILE *out, const spec_figure_points *points)
{
    fputs("$DATA << END\npanel,series,at,value,low,high,theory\n", out);
    for (size_t i = 0; i < points->n; i++) {
        const spec_figure_point *p = &points->point[i];
        /* gnuplot does not join points across a blank line */
        fprintf(out, "%s%d,%d", p->after_gap ? "\n" : "", p->panel + 1, p->series + 1);
        spec_gnuplot_number(out, ',', p->at);
        spec_gnuplot_number(out, ',', p->value);
        spec_gnuplot_number(out, ',', p->low);
        spec_gnuplot_number(out, ',', p->high);
        spec_gnuplot_number(out, ',', p->theory);
        fputc('\n', out);
    }
    fputs("END\n", out);
}

/* Counts the points from i and j on at which the two series coincide. */
static int places_alike(const spec_figure_points *points, size_t i, size_t j)
{
    const spec_figure_point *p = &points->point[i], *q = &points->point[j];
    int n = 0;
    for (; j + (size_t)n < points->n; n++)
        if (p[n].series != p->series || q[n].series != q->series || q[n].panel != p->panel ||
            p[n].at != q[n].at || !(fabs(p[n].value - q[n].value) <= 1e-3 * fabs(p[n].value)))
            break;
    return n;
}

/* Returns whether two colours coincide at three points in a row, so that one would hide the
 * other. */
static bool coincide(const spec_figure_points *points)
{
    if (points->sideways || points->n > COMPARED_MAX) return false;
    for (size_t i = 0; i < points->n; i++) {
        const spec_figure_point *p = &points->point[i];
        for (size_t j = i + 1; j < points->n && points->point[j].panel == p->panel; j++) {
            const spec_figure_point *q = &points->point[j];
            if (p->colour != q->colour && p->style == q->style && places_alike(points, i, j) >= 3)
                return true;
        }
    }
    return false;
}

static void write_series(FILE *out, const spec_figure_points *points,
                         const spec_figure_axes *axes)
{
    fprintf(out, "array COLOUR[%d]; array DASH[%d]; array SHAPE[%d]\n", points->n_series,
            points->n_series, points->n_series);
    for (int n = 0; n < points->n_series; n++) {
        const spec_figure_point *p = points->point;
        while (p->series != n) p++;
        const bool several = points->n_styles > 1;
        const int dash = dash_of(points, p->colour, p->style);
        fprintf(out, "COLOUR[%d] = %d; DASH[%d] = %d; SHAPE[%d] = %d\n", n + 1, p->colour + 1,
                n + 1, dash + 1, n + 1, (several ? p->style : p->colour) + 1);
    }
    /* Many colours are also graded if no marks distinguish them. */
    const bool alone = points->n_colours > COLOURS &&
                       (points->n_styles > 1 || axes->kind == SPEC_FIGURE_BARS);
    fprintf(out, "ORDERED = %d; NESTED = %d\n", points->numbers || alone ? points->n_colours : 0,
            coincide(points) ? points->n_colours : 0);
}

int spec_figure_series_write(FILE *out, spec_word_list *ret_constant, spec_figure_note *ret_note,
                             spec_figure_data *data, const spec_figure_axes *axes,
                             spec_error *error)
{
    spec_figure_points points;
    const spec_measure *measure = spec_figure_data_measure(data);
    int status = spec_figure_points_init(&points, data, axes, error);
    if (status != GSL_SUCCESS) return status;
    SPEC_TRY(spec_figure_ranges_write(out, &points, data, axes, error));
    write_data(out, &points);
    write_series(out, &points, axes);
    write_strokes(out, ret_note, data, axes, &points);
    fprintf(out, "PANELS = %d; SIDEWAYS = %d\n", points.n_panels, points.sideways);
    fprintf(out, "BOXES = %d\n", axes->kind == SPEC_FIGURE_BARS);
    spec_gnuplot_texts(out, "PANEL", points.panel, points.n_panels, false);
    SPEC_TRY(write_legend(out, &points, measure != NULL && measure->simulates, error));
    *ret_constant = points.constant;
    points.constant = (spec_word_list){0};
done:
    spec_figure_points_free(&points);
    return status;
}
