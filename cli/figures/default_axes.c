/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/figures/default_axes.h"

#include "base/escape.h"
#include "cli/figures/figure_points.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SERIES_VALUES = 12, /* maximum values of a column that distinguishes series */
    SERIES_COLUMNS = 3, /* maximum such columns */
    NAMES_BELOW = 6,    /* maximum names below a horizontal axis */
    LONG_NAME = 12,     /* longer names are put on a vertical axis */
    COMPARED_MAX = 2000 /* maximum rows that are compared with each other */
};

typedef struct {
    const spec_measure *measure;       /* NULL: the file is from another program */
    const spec_figure_axes *given;     /* axes that the user gave; may be NULL */
    const spec_figure_column **column; /* (n) */
    int n;
    size_t n_rows;
} chooser;

/* ---- what a column is ------------------------------------------------------------------------ */

static bool has_values(const spec_figure_column *c)
{
    return c->n_levels > 0;
}

/* Returns whether a column qualifies another one: its error, its theory or the like. */
static bool is_companion(const chooser *in, const char *name)
{
    static const char *const endings[] = {"_se", "_low", "_high", "_theory",
                                          "_z",  "_iid", "_std",  "_err"};
    const size_t length = strlen(name);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        const size_t n = strlen(endings[i]);
        if (length <= n || strcmp(name + length - n, endings[i]) != 0) continue;
        for (int c = 0; c < in->n; c++)
            if (strncmp(in->column[c]->name, name, length - n) == 0 &&
                in->column[c]->name[length - n] == '\0')
                return true;
    }
    return false;
}

/* Returns whether a column identifies the row, rather than holding a result. */
static bool is_key(const chooser *in, const spec_figure_column *c)
{
    bool parameter = false;
    if (in->measure == NULL) return c->is_text;
    spec_measure_default(in->measure, c->name, &parameter);
    for (int i = 0; in->measure->keys != NULL && in->measure->keys[i] != NULL; i++)
        parameter = parameter || strcmp(in->measure->keys[i], c->name) == 0;
    return parameter || !spec_measure_tells(in->measure, c->name);
}

/* Returns whether a column can be the axis: numbers, or few enough names. */
static bool is_axis(const spec_figure_column *c)
{
    return has_values(c) && (!c->is_text || c->n_levels <= SPEC_FIGURE_NAMES_MAX);
}

/* ---- x --------------------------------------------------------------------------------------- */

/* Ranks how well a column serves as the x axis: parameters are best, then columns that vary, then
 * numbers. 0: not at all. */
static int rank(const chooser *in, const spec_figure_column *c)
{
    if (!is_axis(c) || strcmp(c->name, "row_check") == 0 || is_companion(in, c->name)) return 0;
    if (in->given != NULL && (spec_word_list_has(&in->given->by, c->name) ||
                              (in->given->facet != NULL && strcmp(in->given->facet, c->name) == 0)))
        return 0;
    if (in->measure == NULL) return 1 + (c->n_levels > 1);
    return 1 + 2 * (!c->is_text) + 4 * (c->n_levels > 1) + 8 * is_key(in, c);
}

/* Returns whether texts could be curves over x: some value of x occurs with two of them. */
static bool has_curves(const chooser *in, const spec_figure_column *text,
                       const spec_figure_column *x)
{
    if (text->n_levels < 2 || text->n_levels > SERIES_VALUES ||
        (size_t)text->n_levels >= in->n_rows || x->n_levels < 2)
        return false;
    for (size_t r = 1; r < in->n_rows && r < COMPARED_MAX; r++)
        for (size_t q = 0; q < r; q++)
            if (x->value[q] == x->value[r] && text->value[q] != text->value[r]) return true;
    return false;
}

/* For a foreign file whose first column is text: returns the first column of numbers over which the
 * texts could be curves, if another one is left for the values. NULL if there is none. */
static const spec_figure_column *choose_x_of_curves(const chooser *in,
                                                    const spec_figure_column *text)
{
    const spec_figure_column *found = NULL;
    int numbers = 0;
    for (int c = 0; c < in->n; c++) {
        const spec_figure_column *one = in->column[c];
        if (one->is_text || rank(in, one) < 2) continue;
        numbers++;
        if (found == NULL && has_curves(in, text, one)) found = one;
    }
    return numbers > 1 ? found : NULL;
}

static const spec_figure_column *choose_x(const chooser *in)
{
    const spec_figure_column *best = NULL;
    for (int c = 0; c < in->n; c++) {
        const spec_figure_column *one = in->column[c];
        if (rank(in, one) == 0) continue;
        if (best == NULL || rank(in, one) > rank(in, best))
            best = one;
        else if (in->measure != NULL && rank(in, one) == rank(in, best) &&
                 one->n_levels > best->n_levels)
            best = one;
    }
    const spec_figure_column *curves = NULL;
    if (in->measure == NULL && best != NULL && best->is_text)
        curves = choose_x_of_curves(in, best);
    return curves != NULL ? curves : best;
}

/* ---- y --------------------------------------------------------------------------------------- */

/* Returns whether some row has a value in both columns. */
static bool meet(const chooser *in, const spec_figure_column *x, const spec_figure_column *y)
{
    for (size_t r = 0; r < in->n_rows; r++)
        if (!isnan(x->value[r]) && !isnan(y->value[r])) return true;
    return false;
}

static const spec_figure_column *choose_y(const chooser *in, const spec_figure_column *x)
{
    const spec_figure_column *found = NULL;
    for (int i = 0; in->measure != NULL && in->measure->headlines[i].column != NULL; i++)
        for (int c = 0; c < in->n; c++)
            if (strcmp(in->column[c]->name, in->measure->headlines[i].column) == 0 &&
                !in->column[c]->is_text && meet(in, x, in->column[c]))
                return in->column[c];
    int first = 0; /* in a foreign file, the search begins after x */
    while (in->measure == NULL && in->column[first] != x) first++;
    for (int pass = 0; pass < 2 && found == NULL; pass++)
        for (int c = 0; c < in->n && found == NULL; c++) {
            const spec_figure_column *one = in->column[(first + c) % in->n];
            if (one == x || one->is_text || !meet(in, x, one)) continue;
            if (pass == 0 && (is_companion(in, one->name) || one->n_levels == 1 ||
                              (in->measure != NULL && is_key(in, one))))
                continue;
            found = one;
        }
    return found;
}

/* ---- series ---------------------------------------------------------------------------------- */

/* Returns whether the column has a value in every row that is drawn. */
static bool is_whole(const chooser *in, const spec_figure_column *column,
                     const spec_figure_column *y)
{
    for (size_t r = 0; r < in->n_rows; r++)
        if (!isnan(y->value[r]) && isnan(column->value[r])) return false;
    return true;
}

/* Returns whether two columns distinguish the same rows, such as alpha and a draft made with it. */
static bool are_alike(const chooser *in, const spec_figure_column *a, const spec_figure_column *b)
{
    for (size_t r = 1; r < in->n_rows && r < COMPARED_MAX; r++)
        for (size_t q = 0; q < r; q++)
            if ((a->value[q] == a->value[r]) != (b->value[q] == b->value[r])) return false;
    return true;
}

static int choose_series(spec_figure_axes *axes, const chooser *in, const spec_figure_column *x,
                         const spec_figure_column *y)
{
    int series = 1, status = GSL_SUCCESS;
    for (int c = 0; c < in->n && axes->by.n < SERIES_COLUMNS; c++) {
        const spec_figure_column *one = in->column[c];
        if (one == x || one == y || !is_key(in, one) || one->n_levels < 2 ||
            one->n_levels > SERIES_VALUES || !is_whole(in, one, y) || are_alike(in, x, one) ||
            strcmp(one->name, "row_check") == 0 ||
            (axes->facet != NULL && strcmp(axes->facet, one->name) == 0))
            continue;
        if (series * one->n_levels <= SPEC_FIGURE_SERIES_MAX / 2) {
            series *= one->n_levels;
            SPEC_TRY(spec_word_list_add(&axes->by, one->name));
        } else if (axes->facet == NULL) {
            if ((axes->facet = strdup(one->name)) == NULL) SPEC_TRY(GSL_ENOMEM);
        }
    }
done:
    return status;
}

/* Returns whether there are too many names, or too long ones, for a horizontal axis. */
static bool is_sideways(const spec_figure_column *x)
{
    bool wide = x->n_levels > NAMES_BELOW;
    for (int i = 0; x->is_text && i < x->n_levels; i++)
        wide = wide || strlen(x->level[i]) > LONG_NAME;
    return x->is_text && wide;
}

int spec_default_axes(spec_figure_axes *axes, const spec_figure_axes *opt_given,
                      spec_figure_data *data, spec_error *error)
{
    chooser in = {
        .measure = spec_figure_data_measure(data), .given = opt_given, .n_rows = data->n_rows};
    const bool series = opt_given != NULL && (opt_given->by.n > 0 || opt_given->facet != NULL);
    int status = GSL_SUCCESS;
    in.column = calloc((size_t)data->table.n_columns, sizeof *in.column);
    if (in.column == NULL) SPEC_TRY(spec_no_memory(error));
    for (; in.n < data->table.n_columns; in.n++)
        SPEC_TRY(spec_figure_data_column(&in.column[in.n], data, data->table.column[in.n], error));
    const spec_figure_column *x = choose_x(&in), *y = x != NULL ? choose_y(&in, x) : NULL;
    if (y == NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "%s names no figure, and has no column of numbers to draw over another "
                           "column",
                           data->path));
    const bool sideways = is_sideways(x);
    axes->x = strdup(sideways ? y->name : x->name);
    if (axes->x == NULL ||
        spec_word_list_add(&axes->y, sideways ? x->name : y->name) != GSL_SUCCESS ||
        (!series && choose_series(axes, &in, x, y) != GSL_SUCCESS))
        status = spec_no_memory(error);
done:
    free(in.column);
    return status;
}

static void write_option(FILE *out, const char *option, const char *column)
{
    fprintf(out, " --%s ", option);
    spec_escape_shell(out, column);
}

void spec_default_axes_note(char *buffer, size_t size, const spec_error *why,
                            const spec_figure_axes *axes)
{
    FILE *out = fmemopen(buffer, size, "w");
    buffer[0] = '\0';
    if (out == NULL) return;
    fprintf(out, "%.140s; drawn with", why->text);
    write_option(out, "x", axes->x);
    write_option(out, "y", axes->y.word[0]);
    for (int i = 0; i < axes->by.n; i++) {
        fputs(i > 0 ? "," : " --by ", out);
        spec_escape_shell(out, axes->by.word[i]);
    }
    if (axes->facet != NULL) write_option(out, "facet", axes->facet);
    fclose(out);
    buffer[size - 1] = '\0';
}
