/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/figures/figure.h"

#include "base/memory_text.h"
#include "cli/figures/default_axes.h"
#include "cli/figures/figure_data.h"
#include "cli/figures/figure_file.h"
#include "cli/figures/figure_prelude.h"
#include "cli/figures/figure_title.h"
#include "cli/figures/gnuplot.h"
#include "cli/output.h"
#include "cli/share.h"
#include "speclab/no_memory.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HAS_IT_SIZE = 160, ROOM_STEPS = 12 };
#define ROOM_STEP 1.1

/* ---- which figure ---------------------------------------------------------------------------- */

static bool is_own(const spec_figure_axes *axes)
{
    return axes->x != NULL || axes->y.n > 0 || axes->heat != NULL;
}

static int check_own(const spec_figure_axes *axes, spec_error *error)
{
    if (axes->x == NULL) return spec_fail(error, GSL_EINVAL, "--y and --heat need --x COLUMN");
    if (axes->y.n == 0) return spec_fail(error, GSL_EINVAL, "--x needs --y COLUMN");
    if (axes->heat != NULL && axes->y.n > 1)
        return spec_fail(error, GSL_EINVAL, "--heat takes one column of --y");
    if (axes->heat != NULL && axes->by.n > 0)
        return spec_fail(error, GSL_EINVAL, "--heat draws no series: use --facet instead of --by");
    if (axes->heat != NULL && (axes->log_x || axes->log_y))
        return spec_fail(error, GSL_EINVAL,
                         "--heat and --log cannot be combined: a heat map has one cell for each "
                         "value");
    return GSL_SUCCESS;
}

/* Splits a list of columns at its commas, unless the whole text is the name of a column. */
static int split_columns(spec_word_list *list, spec_figure_data *data, spec_error *error)
{
    const spec_figure_column *column;
    int status = GSL_SUCCESS;
    if (list->n == 1 && !spec_figure_data_has(data, list->word[0])) {
        spec_word_list whole = *list;
        *list = (spec_word_list){0};
        const int split = spec_word_list_split(list, whole.word[0], ",");
        spec_word_list_free(&whole);
        if (split != GSL_SUCCESS) return spec_no_memory(error);
    }
    for (int i = 0; i < list->n && status == GSL_SUCCESS; i++)
        status = spec_figure_data_column(&column, data, list->word[i], error);
    return status;
}

/* Checks that all columns of a request exist. */
static int find_columns(spec_figure_axes *axes, spec_figure_data *data, spec_error *error)
{
    const char *const single[] = {axes->x, axes->facet, axes->heat};
    const spec_figure_column *column;
    int status = GSL_SUCCESS;
    for (size_t i = 0; i < sizeof single / sizeof single[0]; i++)
        if (single[i] != NULL) SPEC_TRY(spec_figure_data_column(&column, data, single[i], error));
    SPEC_TRY(split_columns(&axes->y, data, error));
    SPEC_TRY(split_columns(&axes->by, data, error));
    SPEC_TRY(split_columns(&axes->error, data, error));
    if (is_own(axes)) status = check_own(axes, error);
done:
    return status;
}

static int check_columns(const spec_figure_script *script, const spec_figure_data *data,
                         spec_error *error)
{
    spec_word_list columns;
    char has_it[HAS_IT_SIZE];
    int status = GSL_SUCCESS;
    if (spec_figure_script_columns(&columns, script) != GSL_SUCCESS) return spec_no_memory(error);
    for (int i = 0; i < columns.n && status == GSL_SUCCESS; i++)
        if (!spec_figure_data_has(data, columns.word[i]))
            status = spec_fail(
                error, GSL_EINVAL, "%s has no column '%s', which the figure '%s' needs%s",
                data->path, columns.word[i], script->name,
                spec_figure_script_has_it(has_it, sizeof has_it, script, columns.word[i]));
    spec_word_list_free(&columns);
    return status;
}

/* ---- the program of gnuplot ------------------------------------------------------------------ */

/* Writes everything before the text of the scripts. */
static int write_prelude(FILE *out, spec_word_list *ret_constant, spec_figure_note *ret_note,
                         spec_figure_data *data, const spec_figure_script *opt_script,
                         const spec_figure_axes *axes, spec_error *error)
{
    int status = GSL_SUCCESS;
    if (axes->x == NULL) return spec_figure_prelude_write(out, data, opt_script, error);
    if (axes->heat != NULL)
        status = spec_figure_heat_write(out, ret_constant, data, axes, error);
    else
        status = spec_figure_series_write(out, ret_constant, ret_note, data, axes, error);
    if (status != GSL_SUCCESS || opt_script != NULL) return status;
    return spec_figure_title_parameters(ret_constant, data, axes, error);
}

/* Applies the user's changes to the axes; borrows their texts. */
static void change_axes(spec_figure_axes *axes, const spec_figure_axes *given)
{
    if (given->by.n > 0) axes->by = given->by;
    if (given->facet != NULL) axes->facet = given->facet;
    if (given->x_title != NULL) axes->x_title = given->x_title;
    if (given->y_title != NULL) axes->y_title = given->y_title;
    if (given->kind != SPEC_FIGURE_LINES) axes->kind = given->kind;
    axes->error = given->error; /* the scripts themselves never set it */
    axes->log_x = axes->log_x || given->log_x;
    axes->log_y = axes->log_y || given->log_y;
}

static bool changes_axes(const spec_figure_axes *given)
{
    return given->by.n > 0 || given->facet != NULL || given->x_title != NULL ||
           given->y_title != NULL || given->error.n > 0 || given->kind != SPEC_FIGURE_LINES ||
           given->log_x || given->log_y;
}

/* Chooses the axes of a script, with the request's changes. Borrows both. */
static int choose_axes(spec_figure_axes *ret, const spec_figure_request *request,
                       const spec_figure_script *script, spec_error *error)
{
    *ret = script->axes;
    if (request->axes == NULL) return GSL_SUCCESS;
    if (script->axes.x == NULL && changes_axes(request->axes))
        return spec_fail(error, GSL_EINVAL,
                         "the figure '%s' has its own axes; --by, --facet, --log, --kind, --error, "
                         "--xlabel and --ylabel need --x and --y",
                         script->name);
    change_axes(ret, request->axes);
    return GSL_SUCCESS;
}

/* Loads the figure that the request or the result names. Returns GSL_CONTINUE, with the reason in
 * *ret_why, if none is named, or if the result lacks columns of its figure. */
static int find_script(spec_figure_script *script, const spec_figure_request *request,
                       const spec_figure_data *data, spec_error *ret_why, spec_error *error)
{
    char named[NAME_MAX + 1];
    const char *name = request->opt_name;
    if (name == NULL &&
        (name = spec_table_provenance(&data->table, "figure", named, sizeof named)) == NULL) {
        spec_fail(ret_why, GSL_CONTINUE, "%s names no figure", data->path);
        return GSL_CONTINUE;
    }
    const int status = spec_figure_script_load(script, name, error);
    if (status != GSL_SUCCESS || request->opt_name != NULL)
        return status == GSL_SUCCESS ? check_columns(script, data, error) : status;
    return check_columns(script, data, ret_why) == GSL_SUCCESS ? GSL_SUCCESS : GSL_CONTINUE;
}

/* Appends " (interrupted after 3 of 8 points)" to the title, even to one that the user gave. */
static int add_unfinished(char **title, const spec_figure_data *data, spec_error *error)
{
    char *whole = NULL, number[32], part[48];
    const char *words = data->table.unfinished;
    if (words == NULL && spec_table_provenance(&data->table, "shard", number, sizeof number)) {
        snprintf(part, sizeof part, "part %s", number);
        words = part;
    }
    if (words == NULL) return GSL_SUCCESS;
    if (asprintf(&whole, "%s%s(%s)", *title, **title != '\0' ? " " : "", words) < 0)
        return spec_no_memory(error);
    free(*title);
    *title = whole;
    return GSL_SUCCESS;
}

static int make_program(char **ret_program, size_t *ret_n, spec_figure_note *ret_note,
                        spec_figure_data *data, const spec_figure_request *request,
                        const spec_figure_script *opt_script, const spec_figure_axes *axes,
                        spec_error *error)
{
    int status = GSL_SUCCESS;
    char *style = NULL, *body = NULL, *title = NULL;
    spec_word_list constant = {0};
    spec_memory_text program;
    *ret_program = NULL;
    if (!spec_memory_text_open(&program)) return spec_no_memory(error);
    FILE *out = program.out;
    SPEC_TRY(write_prelude(out, &constant, ret_note, data, opt_script, axes, error));
    if (request->style.title != NULL)
        title = strdup(request->style.title);
    else
        title = spec_figure_title(opt_script, &constant, data);
    if (title == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(add_unfinished(&title, data, error));
    SPEC_TRY(spec_figure_script_text(&style, "style", error));
    if (axes->x != NULL)
        SPEC_TRY(spec_figure_script_text(&body, axes->heat != NULL ? "heat" : "series", error));
    spec_figure_style_write(out, &request->style, title);
    fprintf(out, "TITLE_GIVEN = %d\n", request->style.title != NULL);
    fprintf(out, "%s\n%s\n", style, body != NULL ? body : opt_script->text);
done:
    *ret_program = spec_memory_text_take(&program, ret_n);
    if (*ret_program == NULL && status == GSL_SUCCESS) status = spec_no_memory(error);
    spec_word_list_free(&constant);
    free(style);
    free(body);
    free(title);
    return status;
}

/* Finds the smallest size in which a figure that is too small can be drawn, for its message; "" if
 * none. */
static void find_room(char *ret_text, size_t size, const spec_figure_request *request,
                      spec_figure_data *data, const spec_figure_script *opt_script,
                      const spec_figure_axes *axes)
{
    spec_figure_request larger = *request;
    spec_figure_style *style = &larger.style;
    bool drawn = false;
    *ret_text = '\0';
    if (style->width == 0.0) return;
    for (int i = 0; i < ROOM_STEPS && !drawn; i++) {
        char *program, *picture = NULL;
        spec_figure_note note;
        spec_error why;
        size_t n;
        style->width *= ROOM_STEP;
        style->height *= ROOM_STEP;
        if (make_program(&program, &n, &note, data, &larger, opt_script, axes, &why) != GSL_SUCCESS)
            return;
        drawn = spec_gnuplot_run(&picture, &n, program, n, &why) == GSL_SUCCESS;
        free(program);
        free(picture);
    }
    const double cm = style->unit * 2.54 / 72.0;
    if (drawn)
        snprintf(ret_text, size, "; --size %.3gx%.3gcm has room", ceil(style->width * cm * 10) / 10,
                 ceil(style->height * cm * 10) / 10);
}

/* Runs gnuplot for the CSV; the caller frees the output. */
static int draw(char **ret_drawn, size_t *ret_n, spec_figure_note *ret_note,
                const spec_figure_request *request, const char *csv, spec_error *error)
{
    static const spec_word_list nothing = {0};
    int status = GSL_SUCCESS;
    spec_figure_data data = {0};
    spec_figure_script script = {0};
    spec_figure_axes axes = {0}, chosen = {0};
    char *program = NULL;
    size_t n_program = 0;
    spec_error why = {{0}};
    bool own = request->axes != NULL && is_own(request->axes);
    SPEC_TRY(spec_gnuplot_check(error));
    SPEC_TRY(spec_figure_data_load(&data, csv, request->where != NULL ? request->where : &nothing,
                                   error));
    if (request->axes != NULL) SPEC_TRY(find_columns(request->axes, &data, error));
    if (own)
        axes = *request->axes;
    else if ((status = find_script(&script, request, &data, &why, error)) == GSL_SUCCESS)
        SPEC_TRY(choose_axes(&axes, request, &script, error));
    else if (status == GSL_CONTINUE) {
        own = true;
        SPEC_TRY(spec_default_axes(&chosen, request->axes, &data, error));
        axes = chosen;
        if (request->axes != NULL) change_axes(&axes, request->axes);
    } else {
        goto done;
    }
    SPEC_TRY(make_program(&program, &n_program, ret_note, &data, request, own ? NULL : &script,
                          &axes, error));
    if (chosen.x != NULL)
        spec_default_axes_note(ret_note->text, sizeof ret_note->text, &why, &axes);
    spec_error inner = {{0}};
    if ((status = spec_gnuplot_run(ret_drawn, ret_n, program, n_program, &inner)) != GSL_SUCCESS) {
        char room[64] = "";
        if (strstr(inner.text, "has no room") != NULL)
            find_room(room, sizeof room, request, &data, own ? NULL : &script, &axes);
        SPEC_TRY(spec_fail(error, status, "%s is not drawn: %s%s", csv, inner.text, room));
    }
done:
    free(program);
    spec_figure_axes_free(&chosen);
    spec_figure_script_free(&script);
    spec_figure_data_free(&data);
    return status;
}

int spec_figure_draw(const spec_figure_request *request, const char *csv, const char *path,
                     spec_figure_note *opt_note, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_figure_note note = {""};
    spec_output file = {.out = NULL};
    char *drawn = NULL;
    size_t n = 0;
    SPEC_TRY(draw(&drawn, &n, &note, request, csv, error));
    SPEC_TRY(spec_output_open(&file, path, request->verb, error));
    SPEC_TRY(spec_figure_file_write(file.out, path, drawn, n, request->style.terminal, error));
    SPEC_TRY(spec_output_close(&file, request->force, request->verb, error));
    if (opt_note != NULL) *opt_note = note;
done:
    spec_output_discard(&file);
    free(drawn);
    return status;
}

int spec_figure_draw_svg(char **ret_svg, size_t *ret_n, const spec_figure_request *request,
                         const char *csv, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_figure_request with_mouse = *request;
    spec_figure_note note = {""};
    spec_memory_text svg = {.out = NULL};
    char *drawn = NULL;
    size_t n = 0;
    *ret_svg = NULL;
    with_mouse.style.mouse = true;
    SPEC_TRY(draw(&drawn, &n, &note, &with_mouse, csv, error));
    if (!spec_memory_text_open(&svg)) SPEC_TRY(spec_no_memory(error));
    status = spec_figure_file_write(svg.out, csv, drawn, n, SPEC_TERMINAL_SVG, error);
    *ret_svg = spec_memory_text_take(&svg, ret_n);
    if (*ret_svg == NULL && status == GSL_SUCCESS) status = spec_no_memory(error);
done:
    free(drawn);
    return status;
}

int spec_figure_draw_named(const char *name, const char *csv, const char *path, bool force,
                           const char *verb, spec_error *error)
{
    spec_figure_request request = {
        .opt_name = name, .style = SPEC_FIGURE_STYLE_DEFAULT, .verb = verb, .force = force};
    const int status = spec_figure_style_ending(&request.style, path, error);
    return status == GSL_SUCCESS ? spec_figure_draw(&request, csv, path, NULL, error) : status;
}

/* ---- before the work ------------------------------------------------------------------------- */

int spec_figure_check_path(const char *path, spec_error *error)
{
    spec_figure_style style;
    int status = spec_figure_style_ending(&style, path, error);
    if (status == GSL_SUCCESS) status = spec_gnuplot_check(error);
    return status == GSL_SUCCESS ? spec_output_probe(path, error) : status;
}

/* Returns whether the experiment's result has the column. *ret_hidden: `show` hides it. */
static bool result_has(bool *ret_hidden, const spec_experiment *e, const char *column)
{
    const bool computed = spec_measure_tells(e->measure, column);
    bool axis = false, shown = e->n_show == 0;
    for (int i = 0; i < e->grid.n_axes; i++)
        axis = axis || strcmp(e->grid.axis[i].name, column) == 0;
    for (int i = 0; i < e->n_show; i++) shown = shown || strcmp(e->show[i], column) == 0;
    *ret_hidden = (computed || axis) && !shown;
    return (computed || axis) && shown;
}

int spec_figure_check_experiment(const spec_experiment *experiment, spec_error *error)
{
    char folder[PATH_MAX], has_it[HAS_IT_SIZE];
    spec_figure_script script;
    spec_word_list columns = {0};
    int status = GSL_SUCCESS;
    if (experiment->figure[0] == '\0' || spec_share_folder(folder, sizeof folder) != 0)
        return status;
    if ((status = spec_figure_script_load(&script, experiment->figure, error)) != GSL_SUCCESS)
        return status;
    if (spec_figure_script_columns(&columns, &script) != GSL_SUCCESS)
        status = spec_no_memory(error);
    for (int i = 0; i < columns.n && status == GSL_SUCCESS; i++) {
        bool hidden;
        if (result_has(&hidden, experiment, columns.word[i])) continue;
        status = spec_fail(
            error, GSL_EINVAL, "the figure '%s' needs the column '%s', which %s%s%s", script.name,
            columns.word[i], hidden ? "'show' leaves out" : experiment->measure->name,
            hidden ? "" : " does not have",
            hidden ? ""
                   : spec_figure_script_has_it(has_it, sizeof has_it, &script, columns.word[i]));
    }
    spec_word_list_free(&columns);
    spec_figure_script_free(&script);
    return status;
}
