/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/figures/figure_series.h"

#include "base/escape.h"
#include "cli/figures/figure_title.h"
#include "cli/figures/figure_words.h"
#include "cli/figures/gnuplot.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE_MAX = 200, TITLE_SIZE = 160 };

typedef struct {
    const spec_figure_column *x, *y, *z, *opt_facet;
    int n_panels;
    long *row;        /* (n_panels, y, x) row of the data; -1: none */
    double low, high; /* range of z */
    bool ratio;       /* z = 1 separates gain from loss */
} map;

static int find_columns(map *m, spec_word_list *constant, spec_figure_data *data,
                        const spec_figure_axes *axes, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_figure_data_column(&m->x, data, axes->x, error));
    SPEC_TRY(spec_figure_data_column(&m->y, data, axes->y.word[0], error));
    SPEC_TRY(spec_figure_data_column(&m->z, data, axes->heat, error));
    if (axes->facet != NULL)
        SPEC_TRY(spec_figure_data_column(&m->opt_facet, data, axes->facet, error));
    m->n_panels = m->opt_facet != NULL ? m->opt_facet->n_levels : 1;
    if (m->z->is_text)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%s: column '%.60s' holds texts, not numbers",
                           data->path, m->z->name));
    const spec_figure_column *side = m->x->n_levels > m->y->n_levels ? m->x : m->y;
    if (side->n_levels > SIDE_MAX)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "--heat: column '%.60s' has over %d values",
                           side->name, SIDE_MAX));
    if (m->n_panels > SPEC_FIGURE_PANELS_MAX)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "--facet %.60s: %s has more than %d values of it; choose some with "
                           "--where",
                           m->opt_facet->name, data->path, SPEC_FIGURE_PANELS_MAX));
    if (m->n_panels == 1 && m->opt_facet != NULL &&
        spec_figure_title_add(constant, m->opt_facet) != GSL_SUCCESS)
        status = spec_no_memory(error);
done:
    return status;
}

/* Puts each row into its cell. Two rows of one cell are an error that says which option to add. */
static int fill_cells(map *m, spec_figure_data *data, const spec_figure_axes *axes,
                      spec_error *error)
{
    const size_t side = (size_t)m->x->n_levels,
                 cells = side * (size_t)m->y->n_levels * (size_t)m->n_panels;
    m->low = INFINITY;
    m->high = -INFINITY;
    if ((m->row = malloc((cells + 1) * sizeof *m->row)) == NULL) return spec_no_memory(error);
    for (size_t i = 0; i < cells; i++) m->row[i] = -1;
    for (size_t r = 0; r < data->n_rows; r++) {
        const int x = spec_figure_column_level(m->x, r), y = spec_figure_column_level(m->y, r);
        const int panel = m->opt_facet != NULL ? spec_figure_column_level(m->opt_facet, r) : 0;
        const double z = m->z->value[r];
        if (x < 0 || y < 0 || panel < 0 || isnan(z)) continue;
        long *cell =
            &m->row[((size_t)panel * (size_t)m->y->n_levels + (size_t)y) * side + (size_t)x];
        if (*cell >= 0) {
            char differ[160];
            spec_figure_series_differ(differ, sizeof differ, data, r, (size_t)*cell, axes);
            return spec_fail(
                error, GSL_EINVAL,
                "%s: several rows have %.40s = %.40s and %.40s = %.40s%s%s; choose one with "
                "--where, or --facet",
                data->path, m->x->name, m->x->level[x], m->y->name, m->y->level[y],
                differ[0] != '\0' ? " and differ in " : "", differ);
        }
        *cell = (long)r;
        m->low = fmin(m->low, z);
        m->high = fmax(m->high, z);
    }
    if (m->low <= m->high) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL, "%s: no row has values of '%.60s', '%.60s' and '%.60s'",
                     data->path, m->x->name, m->y->name, m->z->name);
}

static double cell(const map *m, int panel, int y, int x)
{
    if (x < 0 || y < 0 || x >= m->x->n_levels || y >= m->y->n_levels) return NAN;
    const long row = m->row[(panel * m->y->n_levels + y) * m->x->n_levels + x];
    return row < 0 ? NAN : m->z->value[row];
}

/* ---- colours --------------------------------------------------------------------------------- */

/* Returns the largest distance of a ratio from 1, as a logarithm. */
static double farthest(const map *m)
{
    return fmax(fabs(log(m->low)), fabs(log(m->high)));
}

/* Writes the scale of colours: heat.gp colours a ratio by its logarithm, and other numbers
 * linearly. */
static void write_scale(FILE *out, const map *m)
{
    const double margin = m->high > m->low ? 0.0 : 0.5;
    const bool ratio = m->ratio && margin == 0.0;
    fprintf(out, "ZLOW = %.10g; ZHIGH = %.10g; RATIO = %d; FARTHEST = %.10g\n", m->low - margin,
            m->high + margin, ratio, ratio ? farthest(m) : 0.0);
}

/* Returns whether white text is easier to read on the colour of z. */
static bool is_dark(const map *m, double z)
{
    if (!(m->high > m->low)) return true;
    return m->ratio ? fabs(log(z)) > 0.6 * farthest(m) : (z - m->low) / (m->high - m->low) < 0.55;
}

/* ---- cells and contour ----------------------------------------------------------------------- */

static void write_cells(FILE *out, const map *m)
{
    fputs("$DATA << END\npanel,x,y,z,dark\n", out);
    for (int p = 0; p < m->n_panels; p++)
        for (int y = 0; y < m->y->n_levels; y++)
            for (int x = 0; x < m->x->n_levels; x++) {
                const double z = cell(m, p, y, x);
                if (!isnan(z))
                    fprintf(out, "%d,%d,%d,%.10g,%d\n", p + 1, x + 1, y + 1, z, is_dark(m, z));
            }
    fputs("END\n", out);
}

/* Draws the edges between cells above and below 1. shown[panel]: the panel has such an edge. */
static void write_edges(FILE *out, const map *m)
{
    fprintf(out, "array EDGES[%d]\n", m->n_panels);
    fputs("$EDGE << END\npanel,x,y,dx,dy\n", out);
    bool shown[SPEC_FIGURE_PANELS_MAX] = {false};
    for (int p = 0; p < m->n_panels; p++)
        for (int y = 0; y < m->y->n_levels; y++)
            for (int x = 0; x < m->x->n_levels; x++)
                for (int up = 0; up < 2 && m->ratio; up++) {
                    const double z = cell(m, p, y, x), other = cell(m, p, y + up, x + 1 - up);
                    if (isnan(z) || isnan(other) || (z >= 1.0) == (other >= 1.0)) continue;
                    fprintf(out, "%d,%g,%g,%d,%d\n", p + 1, x + 1 + (up ? -0.5 : 0.5),
                            y + 1 + (up ? 0.5 : -0.5), up, 1 - up);
                    shown[p] = true;
                }
    fputs("END\n", out);
    for (int p = 0; p < m->n_panels; p++) fprintf(out, "EDGES[%d] = %d\n", p + 1, shown[p]);
}

static void write_title(FILE *out, const char *name, const char *opt_title, const char *column,
                        const char *more)
{
    char axis[TITLE_SIZE], title[TITLE_SIZE + 32];
    snprintf(title, sizeof title, "%s%s", spec_figure_words_axis(axis, sizeof axis, column), more);
    fprintf(out, "%s = ", name);
    spec_escape_gnuplot(out, opt_title != NULL ? opt_title : title);
    fputc('\n', out);
}

int spec_figure_heat_write(FILE *out, spec_word_list *ret_constant, spec_figure_data *data,
                           const spec_figure_axes *axes, spec_error *error)
{
    map m = {0};
    int status = GSL_SUCCESS;
    char *const none[] = {(char[]){""}};
    *ret_constant = (spec_word_list){0};
    SPEC_TRY(find_columns(&m, ret_constant, data, axes, error));
    SPEC_TRY(fill_cells(&m, data, axes, error));
    m.ratio = m.low > 0.0 && spec_figure_words_ratio(m.z->name);
    write_cells(out, &m);
    write_edges(out, &m);
    write_scale(out, &m);
    write_title(out, "XAXIS", axes->x_title, m.x->name, "");
    write_title(out, "YAXIS", axes->y_title, m.y->name, "");
    write_title(out, "ZTITLE", NULL, m.z->name,
                m.ratio && m.low < 1.0 && m.high >= 1.0 ? " (line: 1)" : "");
    spec_gnuplot_texts(out, "XNAME", m.x->level, m.x->n_levels, true);
    spec_gnuplot_texts(out, "YNAME", m.y->level, m.y->n_levels, true);
    fprintf(out, "PANELS = %d; XNAMES = %d; YNAMES = %d\n", m.n_panels, m.x->n_levels,
            m.y->n_levels);
    if (m.n_panels == 1) {
        spec_gnuplot_texts(out, "PANEL", none, 1, false);
    } else {
        fprintf(out, "array PANEL[%d]\n", m.n_panels);
        for (int p = 0; p < m.n_panels; p++) {
            char *text = spec_figure_words_value(m.opt_facet->name, m.opt_facet->level[p],
                                                 !m.opt_facet->is_text);
            if (text == NULL) SPEC_TRY(spec_no_memory(error));
            fprintf(out, "PANEL[%d] = ", p + 1);
            spec_escape_gnuplot(out, text);
            fputc('\n', out);
            free(text);
        }
    }
done:
    if (status != GSL_SUCCESS) spec_word_list_free(ret_constant);
    free(m.row);
    return status;
}
