/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/figures/figure_points.h"

#include "cli/figures/figure_title.h"
#include "cli/figures/figure_words.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One property that distinguishes series or panels: a column, or (column NULL) the index of the y
 * column. */
typedef struct {
    const spec_figure_column *column;
    int n;
} dimension;

/* The pairs of four columns of 64 values each, and of the columns of values, can be numbered within
 * an int. */
enum { BY_MAX = 4, DIMENSIONS_MAX = BY_MAX + 1 };

typedef struct {
    spec_figure_points *points;
    spec_figure_data *data;
    const spec_figure_axes *axes;
    const spec_figure_column *facet;
    dimension dimension[DIMENSIONS_MAX];
    int n_dimensions;
    const spec_figure_column **se, **half, **low, **high,
        **theory; /* (n_values) NULL: no such column */
    const spec_figure_column *emitted,
        *emitted_se; /* if the speed-up takes their relative error, else NULL */
    spec_error *error;
} maker;

/* ---- columns --------------------------------------------------------------------------------- */

/* Returns the numeric column NAME_ending, if there is one. */
static int companion(const spec_figure_column **ret, maker *in, const char *name,
                     const char *ending)
{
    char *full = NULL;
    int status = GSL_SUCCESS;
    *ret = NULL;
    if (asprintf(&full, "%s_%s", name, ending) < 0) return spec_no_memory(in->error);
    if (spec_figure_data_has(in->data, full))
        status = spec_figure_data_column(ret, in->data, full, in->error);
    if (*ret != NULL && (*ret)->is_text) *ret = NULL;
    free(full);
    return status;
}

/* Finds the standard error of the tokens per round. In results of the measure `acceptance` the time
 * of a round has no error and the speed-up no column for one, so the speed-up takes the relative
 * error of the tokens per round. */
static int find_emitted(maker *in)
{
    const spec_measure *measure = spec_figure_data_measure(in->data);
    if (measure == NULL || strcmp(measure->name, "acceptance") != 0 ||
        spec_figure_data_has(in->data, "speedup_se") || !spec_figure_data_has(in->data, "emitted"))
        return GSL_SUCCESS;
    int status = companion(&in->emitted_se, in, "emitted", "se");
    if (in->emitted_se != NULL && status == GSL_SUCCESS)
        status = spec_figure_data_column(&in->emitted, in->data, "emitted", in->error);
    return status;
}

/* Finds a column of numbers that --error names. */
static int error_column(const spec_figure_column **ret, maker *in, const char *name)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_figure_data_column(ret, in->data, name, in->error));
    if ((*ret)->is_text)
        status = spec_fail(in->error, GSL_EINVAL, "%s: column '%.60s' of --error holds texts",
                           in->data->path, name);
done:
    return status;
}

/* Takes the error bars of column j of y from --error. */
static int take_error(maker *in, int j)
{
    const spec_word_list *error = &in->axes->error;
    int status = GSL_SUCCESS;
    in->se[j] = in->low[j] = in->high[j] = NULL;
    if (in->points->has_error) {
        SPEC_TRY(error_column(&in->half[j], in, error->word[j]));
    } else {
        SPEC_TRY(error_column(&in->low[j], in, error->word[2 * j]));
        SPEC_TRY(error_column(&in->high[j], in, error->word[2 * j + 1]));
    }
done:
    return status;
}

static int find_values(maker *in)
{
    const spec_figure_axes *axes = in->axes;
    spec_figure_points *points = in->points;
    const spec_figure_column *x, *y;
    const size_t n = (size_t)axes->y.n;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_figure_data_column(&x, in->data, axes->x, in->error));
    SPEC_TRY(spec_figure_data_column(&y, in->data, axes->y.word[0], in->error));
    points->value = calloc(n, sizeof *points->value);
    points->line = calloc(2 * n, sizeof *points->line);
    in->se = calloc(5 * n, sizeof *in->se);
    if (points->value == NULL || points->line == NULL || in->se == NULL)
        SPEC_TRY(spec_no_memory(in->error));
    points->dots = points->line + n;
    in->low = in->se + n;
    in->high = in->low + n;
    in->theory = in->high + n;
    in->half = in->theory + n;
    points->sideways = y->is_text && !x->is_text && n == 1;
    points->at = points->sideways ? y : x;
    points->n_values = (int)n;
    points->names = points->at->is_text || axes->kind == SPEC_FIGURE_BARS;
    points->has_error = axes->error.n == points->n_values;
    if (axes->error.n > 0 && axes->error.n != (int)n && axes->error.n != 2 * (int)n)
        SPEC_TRY(spec_fail(in->error, GSL_EINVAL,
                           "--error needs one column for each column of --y, or two with the ends "
                           "of its bars"));
    if (points->n_values > SPEC_FIGURE_SERIES_MAX)
        SPEC_TRY(
            spec_fail(in->error, GSL_EINVAL, "--y: more than %d columns", SPEC_FIGURE_SERIES_MAX));
    for (int j = 0; j < points->n_values; j++) {
        const char *name = axes->y.word[j];
        const spec_figure_column *value = x;
        if (!points->sideways) SPEC_TRY(spec_figure_data_column(&value, in->data, name, in->error));
        if (value->is_text)
            SPEC_TRY(spec_fail(in->error, GSL_EINVAL,
                               "%s: column '%.60s' holds texts such as '%.60s', not numbers",
                               in->data->path, value->name, value->level[0]));
        points->value[j] = value;
        points->line[j] = axes->lines.n == 0 || spec_word_list_has(&axes->lines, value->name);
        points->dots[j] =
            axes->lines.n == 0 ? !spec_figure_words_formula(value->name) : !points->line[j];
        SPEC_TRY(companion(&in->se[j], in, value->name, "se"));
        SPEC_TRY(companion(&in->low[j], in, value->name, "low"));
        SPEC_TRY(companion(&in->high[j], in, value->name, "high"));
        SPEC_TRY(companion(&in->theory[j], in, value->name, "theory"));
        if (in->low[j] == NULL || in->high[j] == NULL) in->low[j] = in->high[j] = NULL;
        if (axes->error.n > 0) SPEC_TRY(take_error(in, j));
        if (axes->kind != SPEC_FIGURE_LINES) {
            points->line[j] = false;
            points->dots[j] = true;
            in->theory[j] = NULL;
        }
        for (int i = 0; in->theory[j] != NULL && i < axes->y.n;
             i++) /* theory is a separate series */
            if (strcmp(axes->y.word[i], in->theory[j]->name) == 0) in->theory[j] = NULL;
    }
    if (points->names && points->at->n_levels > SPEC_FIGURE_NAMES_MAX)
        status = spec_fail(in->error, GSL_EINVAL,
                           "%s: column '%.60s' has over %d names, too many for an axis",
                           in->data->path, points->at->name, SPEC_FIGURE_NAMES_MAX);
done:
    return status;
}

/* Finds the columns that distinguish series; those with one value go into the title. */
static int find_dimensions(maker *in)
{
    const spec_figure_axes *axes = in->axes;
    int status = GSL_SUCCESS;
    for (int i = 0; i <= axes->by.n; i++) {
        const char *name = i < axes->by.n ? axes->by.word[i] : axes->facet;
        const spec_figure_column *column;
        if (name == NULL) continue;
        SPEC_TRY(spec_figure_data_column(&column, in->data, name, in->error));
        if (column->n_levels == 1 &&
            spec_figure_title_add(&in->points->constant, column) != GSL_SUCCESS)
            SPEC_TRY(spec_no_memory(in->error));
        if (column->is_constant) continue;
        const bool is_facet = i == axes->by.n;
        const int most = is_facet ? SPEC_FIGURE_PANELS_MAX : SPEC_FIGURE_SERIES_MAX;
        if (column->n_levels > most)
            SPEC_TRY(spec_fail(in->error, GSL_EINVAL,
                               "--%s %.60s: %s has more than %d values of it; choose some with "
                               "--where",
                               is_facet ? "facet" : "by", name, in->data->path, most));
        if (!is_facet && in->n_dimensions == BY_MAX)
            SPEC_TRY(spec_fail(in->error, GSL_EINVAL, "--by: more than %d columns", BY_MAX));
        if (is_facet) in->facet = column;
        else in->dimension[in->n_dimensions++] = (dimension){column, column->n_levels};
    }
    if (in->points->n_values > 1)
        in->dimension[in->n_dimensions++] = (dimension){NULL, in->points->n_values};
done:
    return status;
}

/* ---- points ---------------------------------------------------------------------------------- */

static double value_at(const spec_figure_column *opt_column, size_t row)
{
    return opt_column != NULL ? opt_column->value[row] : NAN;
}

/* Returns the level of a row's value in a dimension; -1: empty. */
static int level_of(const dimension *d, size_t row, int y)
{
    return d->column == NULL ? y : spec_figure_column_level(d->column, row);
}

/* Returns the first dimension that sets the style. Bars have no style: all dimensions set their
 * colour. */
static int first_style(const maker *in)
{
    return in->axes->kind == SPEC_FIGURE_BARS ? 0 : 1;
}

/* Returns the panel and series of a row; false if a value is missing. */
static bool place(spec_figure_point *point, const maker *in)
{
    int style = 0;
    point->panel = in->facet != NULL ? spec_figure_column_level(in->facet, point->row) : 0;
    point->colour = in->n_dimensions > 0 ? level_of(&in->dimension[0], point->row, point->y) : 0;
    for (int d = first_style(in); d < in->n_dimensions; d++) {
        const int level = level_of(&in->dimension[d], point->row, point->y);
        if (level < 0) return false;
        style = style * in->dimension[d].n + level;
    }
    point->style = style;
    if (first_style(in) == 0) {
        point->colour = style;
        point->style = 0;
    }
    return point->panel >= 0 && point->colour >= 0;
}

/* Returns the position on the x axis: the number itself, or the index of a name, from 1. */
static double place_of(const spec_figure_points *points, size_t row)
{
    const double value = points->at->value[row];
    if (!points->names || points->at->is_text || isnan(value)) return value;
    return 1.0 + spec_figure_column_level(points->at, row);
}

static bool is_gap(const spec_figure_point *point)
{
    return isnan(point->value) && isnan(point->theory);
}

static void take_point(maker *in, size_t row, int y)
{
    spec_figure_points *points = in->points;
    const double value = points->value[y]->value[row];
    const bool as_emitted = in->emitted_se != NULL && in->axes->error.n == 0 &&
                            strcmp(points->value[y]->name, "speedup") == 0;
    const double half = value_at(in->half[y], row);
    const double se = as_emitted ? value * in->emitted_se->value[row] / in->emitted->value[row]
                                 : value_at(in->se[y], row);
    spec_figure_point point = {.row = row,
                               .y = y,
                               .at = place_of(points, row),
                               .value = value,
                               .low = value_at(in->low[y], row),
                               .high = value_at(in->high[y], row),
                               .theory = value_at(in->theory[y], row)};
    const bool interval = !isnan(point.low) && !isnan(point.high);
    if (isnan(point.at) || !place(&point, in)) return;
    if (is_gap(&point)) {
        points->point[points->n++] = point;
        return;
    }
    if (!isnan(se) || !isnan(half)) {
        point.low = value - (isnan(half) ? 2.0 * se : half);
        point.high = value + (isnan(half) ? 2.0 * se : half);
    } else if (!interval) {
        point.low = point.high = NAN;
    }
    points->has_bars = points->has_bars || !isnan(point.low);
    points->has_low_high = points->has_low_high || (isnan(se) && interval);
    points->has_theory = points->has_theory || !isnan(point.theory);
    points->point[points->n++] = point;
}

static int in_order(const void *a, const void *b)
{
    const spec_figure_point *p = a, *q = b;
    if (p->panel != q->panel) return p->panel < q->panel ? -1 : 1;
    if (p->colour != q->colour) return p->colour < q->colour ? -1 : 1;
    if (p->style != q->style) return p->style < q->style ? -1 : 1;
    if (p->at != q->at) return p->at < q->at ? -1 : 1;
    return (p->row > q->row) - (p->row < q->row);
}

/* Sorts the points, and turns rows without a value into a gap before the next point. */
static void order_points(spec_figure_points *points)
{
    spec_figure_point *last = NULL;
    double gap = NAN;
    qsort(points->point, points->n, sizeof *points->point, in_order);
    for (const spec_figure_point *p = points->point, *end = p + points->n; p < end; p++) {
        if (is_gap(p)) {
            gap = p->at;
            continue;
        }
        const bool same = last != NULL && last->panel == p->panel && last->colour == p->colour &&
                          last->style == p->style;
        const bool after = same && gap > last->at && gap < p->at;
        last = last != NULL ? last + 1 : points->point;
        *last = *p;
        last->after_gap = after;
        gap = NAN;
    }
    points->n = last != NULL ? (size_t)(last - points->point) + 1 : 0;
}

static int ascending_int(const void *a, const void *b)
{
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* Renumbers the distinct values of a member of the points from 0; *ret_values are the old
 * ones. */
static int compress(int **ret_values, int *ret_n, spec_figure_points *points, size_t offset)
{
    int *values = calloc(points->n + 1, sizeof *values), n = 0;
    *ret_values = values;
    if (values == NULL) return GSL_ENOMEM;
    for (size_t i = 0; i < points->n; i++) values[i] = *(int *)((char *)&points->point[i] + offset);
    qsort(values, points->n, sizeof *values, ascending_int);
    for (size_t i = 0; i < points->n; i++)
        if (i == 0 || values[i] != values[n - 1]) values[n++] = values[i];
    for (size_t i = 0; i < points->n; i++) {
        int *member = (int *)((char *)&points->point[i] + offset);
        const int *found = bsearch(member, values, (size_t)n, sizeof *values, ascending_int);
        *member = (int)(found - values);
    }
    *ret_n = n;
    return GSL_SUCCESS;
}

/* ---- names ----------------------------------------------------------------------------------- */

static char *name_of(const maker *in, const dimension *d, int level)
{
    char symbol[160];
    if (d->column == NULL && level < in->axes->labels.n)
        return strdup(in->axes->labels.word[level]);
    if (d->column == NULL)
        return strdup(
            spec_figure_words_symbol(symbol, sizeof symbol, in->points->value[level]->name));
    return spec_figure_words_value(d->column->name, d->column->level[level], !d->column->is_text);
}

/* Joins the names of the dimensions of a style, or of a bar's colour. */
static char *style_name(const maker *in, int style)
{
    char *name = strdup("");
    for (int d = in->n_dimensions - 1; d >= first_style(in) && name != NULL; d--) {
        char *joined = NULL, *one = name_of(in, &in->dimension[d], style % in->dimension[d].n);
        style /= in->dimension[d].n;
        if (one == NULL || asprintf(&joined, "%s%s%s", one, *name != '\0' ? ", " : "", name) < 0)
            joined = NULL;
        free(one);
        free(name);
        name = joined;
    }
    return name;
}

typedef enum { PANELS, COLOURS, STYLES } naming;

static int name_all(char ***ret_names, int *ret_n, maker *in, naming what)
{
    static const size_t offsets[] = {offsetof(spec_figure_point, panel),
                                     offsetof(spec_figure_point, colour),
                                     offsetof(spec_figure_point, style)};
    int *values = NULL, status = GSL_SUCCESS;
    SPEC_TRY(compress(&values, ret_n, in->points, offsets[what]));
    if ((*ret_names = calloc((size_t)*ret_n + 1, sizeof **ret_names)) == NULL) SPEC_TRY(GSL_ENOMEM);
    for (int i = 0; i < *ret_n; i++) {
        const bool joined = what == (first_style(in) == 0 ? COLOURS : STYLES);
        char *name = joined           ? style_name(in, values[i])
                     : what == STYLES ? strdup("")
                     : what == PANELS && in->facet != NULL
                         ? name_of(in, &(dimension){in->facet, 0}, values[i])
                     : what == COLOURS && in->n_dimensions > 0
                         ? name_of(in, &in->dimension[0], values[i])
                         : strdup("");
        if (((*ret_names)[i] = name) == NULL) SPEC_TRY(GSL_ENOMEM);
    }
done:
    free(values);
    return status == GSL_SUCCESS ? status : spec_no_memory(in->error);
}

static int gather(maker *in)
{
    spec_figure_points *points = in->points;
    int *values = NULL, status = GSL_SUCCESS;
    const size_t most = in->data->n_rows * (size_t)points->n_values;
    if ((points->point = calloc(most, sizeof *points->point)) == NULL)
        SPEC_TRY(spec_no_memory(in->error));
    for (size_t r = 0; r < in->data->n_rows; r++)
        for (int y = 0; y < points->n_values; y++) take_point(in, r, y);
    order_points(points);
    if (points->n == 0)
        SPEC_TRY(spec_fail(in->error, GSL_EINVAL,
                           "%s: no row has numbers in both '%.60s' and '%.60s'", in->data->path,
                           points->at->name, points->value[0]->name));
    SPEC_TRY(name_all(&points->panel, &points->n_panels, in, PANELS));
    SPEC_TRY(name_all(&points->colour, &points->n_colours, in, COLOURS));
    SPEC_TRY(name_all(&points->style, &points->n_styles, in, STYLES));
    points->numbers = in->n_dimensions > 0 && first_style(in) == 1 &&
                      in->dimension[0].column != NULL && !in->dimension[0].column->is_text;
    for (size_t i = 0; i < points->n; i++)
        points->point[i].series =
            points->point[i].colour * points->n_styles + points->point[i].style;
    if (compress(&values, &points->n_series, points, offsetof(spec_figure_point, series)) !=
        GSL_SUCCESS)
        SPEC_TRY(spec_no_memory(in->error));
    if (points->n_series > SPEC_FIGURE_SERIES_MAX)
        SPEC_TRY(spec_fail(in->error, GSL_EINVAL,
                           "%d series are too many for one figure; use --facet or --where",
                           points->n_series));
done:
    free(values);
    return status;
}

int spec_figure_points_init(spec_figure_points *points, spec_figure_data *data,
                            const spec_figure_axes *axes, spec_error *error)
{
    maker in = {.points = points, .data = data, .axes = axes, .error = error};
    int status = GSL_SUCCESS;
    *points = (spec_figure_points){0};
    SPEC_TRY(find_values(&in));
    SPEC_TRY(find_emitted(&in));
    SPEC_TRY(find_dimensions(&in));
    SPEC_TRY(gather(&in));
done:
    free(in.se);
    if (status != GSL_SUCCESS) spec_figure_points_free(points);
    return status;
}

static void free_names(char **name, int n)
{
    for (int i = 0; name != NULL && i < n; i++) free(name[i]);
    free(name);
}

void spec_figure_points_free(spec_figure_points *points)
{
    free_names(points->panel, points->n_panels);
    free_names(points->colour, points->n_colours);
    free_names(points->style, points->n_styles);
    spec_word_list_free(&points->constant);
    free(points->value);
    free(points->line);
    free(points->point);
    *points = (spec_figure_points){0};
}
