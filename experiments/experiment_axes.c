/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/experiment_axes.h"

#include "base/memory_text.h"
#include "experiments/experiment_columns.h"
#include "experiments/grid_references.h"

#include <stdlib.h>
#include <string.h>

#define FAIL(in, setting, ...) spec_config_fail(&(in)->config, setting, GSL_EINVAL, __VA_ARGS__)

/* ---- axes ------------------------------------------------------------------------------------ */

static int add_axis(spec_experiment_loader *in, spec_grid *grid, const spec_config_node *setting,
                    const char *name, char **value, int n)
{
    for (int i = 0; i < n; i++)
        for (const char *c = value[i]; *c != '\0'; c++)
            if ((unsigned char)*c < ' ')
                return FAIL(in, setting,
                            "%.60s: a value with a line break or another control character", name);
    int status = spec_grid_add(grid, name, (const char *const *)value, n, false);
    if (status == GSL_ENOMEM) return spec_config_no_memory(&in->config);
    return status == GSL_SUCCESS ? status : FAIL(in, setting, "over %d axes", SPEC_AXES_MAX);
}

/* Adds an axis from a text. If the text has only numbers, it is a list of numbers; otherwise it is
 * one value. */
static int add_axis_text(spec_experiment_loader *in, spec_grid *grid,
                         const spec_config_node *opt_setting, const char *name, char *text)
{
    bool numbers = strpbrk(text, "0123456789") != NULL &&
                   strspn(text, "0123456789+-.eE,: \t\n") == strlen(text);
    spec_error inner;
    if (!numbers) return add_axis(in, grid, opt_setting, name, &text, 1);
    int status = spec_grid_add_numbers(grid, name, text, &inner);
    return status == GSL_SUCCESS
               ? status
               : spec_config_fail(&in->config, opt_setting, status, "%s", inner.text);
}

static void free_texts(char **text, int n)
{
    for (int i = 0; text != NULL && i < n; i++) free(text[i]);
    free(text);
}

static int read_axis(spec_experiment_loader *in, spec_grid *grid, const spec_config_node *setting)
{
    const char *name = setting->name;
    int n = setting->n, status = GSL_SUCCESS;
    char *one = NULL;
    if (spec_config_is_scalar(setting)) {
        if ((status = spec_config_text(&one, &in->config, setting)) == GSL_SUCCESS)
            status = setting->kind == SPEC_NODE_TEXT
                         ? add_axis_text(in, grid, setting, name, one)
                         : add_axis(in, grid, setting, name, &one, 1);
        free(one);
        return status;
    }
    if (setting->kind == SPEC_NODE_GROUP)
        return FAIL(in, setting, "%.60s is not a value or a list of values", name);
    if (n == 0) return FAIL(in, setting, "%.60s: the list is empty", name);
    char **value = calloc((size_t)n, sizeof *value);
    if (value == NULL) return spec_config_no_memory(&in->config);
    for (int i = 0; i < n; i++)
        SPEC_TRY(spec_config_text(&value[i], &in->config,
                                  setting->child[i]));
    status = add_axis(in, grid, setting, name, value, n);
done:
    free_texts(value, n);
    return status;
}

/* ---- models that are given ------------------------------------------------------------------- */

static const char *as_string(const spec_config_node *setting)
{
    return setting != NULL && setting->kind == SPEC_NODE_TEXT
               ? setting->text
               : "";
}

/* Returns the model with which the user replaces a model of the file. Notes which axes the replaced
 * model refers to. The caller frees it. */
static int place_model(char **ret_model, spec_experiment_loader *in, const char *given,
                       const char *original)
{
    spec_error inner;
    in->models_given = true;
    spec_given_models_note(&in->replaced, original);
    const int status = spec_given_models_place(ret_model, given, original, &inner);
    return status == GSL_SUCCESS ? status
                                 : spec_config_fail(&in->config, NULL, status, "%s", inner.text);
}

/* Adds an axis of models in which the given model replaces each model of the file. Equal models are
 * merged. */
static int add_models(spec_experiment_loader *in, spec_grid *grid, const spec_config_node *setting,
                      const char *given)
{
    const bool one = spec_config_is_scalar(setting);
    const int n = one ? 1 : setting->n;
    int status = GSL_SUCCESS, n_models = 0;
    char **model = calloc((size_t)n + 1, sizeof *model);
    if (model == NULL) return spec_config_no_memory(&in->config);
    for (int i = 0; i < n; i++) {
        const spec_config_node *item =
            one ? setting : setting->child[i];
        SPEC_TRY(place_model(&model[n_models++], in, given, as_string(item)));
        for (int k = 0; k + 1 < n_models; k++) {
            if (strcmp(model[k], model[n_models - 1]) != 0) continue;
            free(model[--n_models]);
            model[n_models] = NULL;
        }
    }
    status = add_axis(in, grid, setting, setting->name, model, n_models);
done:
    free_texts(model, n_models);
    return status;
}

/* Returns whether this parameter is a model that the user may give. */
static bool takes_model(const spec_experiment_loader *in, const char *name)
{
    bool parameter;
    spec_measure_default(in->experiment->measure, name, &parameter);
    return parameter && spec_given_models_takes(name);
}

/* Drops axes that were only needed for replaced models, and notes their names. */
static int drop_axes(spec_experiment_loader *in)
{
    spec_experiment *e = in->experiment;
    spec_memory_text text;
    if (!spec_memory_text_open(&text)) return spec_config_no_memory(&in->config);
    for (int i = 0; i < in->replaced.n; i++) {
        const char *name = in->replaced.name[i];
        bool parameter;
        spec_measure_default(e->measure, name, &parameter);
        if (parameter || spec_grid_axis(&e->grid, name) == NULL ||
            spec_grid_references_has(&e->grid, name))
            continue;
        spec_grid_remove(&e->grid, name);
        fprintf(text.out, "%s%s",
                in->dropped.n == 0 ? "without the axes that built the replaced models: " : ", ",
                name);
        strcpy(in->dropped.name[in->dropped.n++], name);
    }
    char *note = spec_memory_text_take(&text, NULL);
    if (note == NULL) return spec_config_no_memory(&in->config);
    free(e->note);
    e->note = note;
    return GSL_SUCCESS;
}

/* ---- grid and points ------------------------------------------------------------------------- */

static int read_grid(spec_experiment_loader *in, spec_grid *ret_grid, const spec_config_node *grid)
{
    if (grid->kind != SPEC_NODE_GROUP)
        return FAIL(in, grid, "grid is not a group { alpha = \"0.5:0.9:0.1\"; ... }");
    for (int i = 0; i < grid->n; i++) {
        spec_config_node *setting = grid->child[i];
        const char *given = spec_config_override(&in->config, setting->name);
        char *text = given == NULL ? NULL : strdup(given);
        if (given != NULL && text == NULL) return spec_config_no_memory(&in->config);
        int status = GSL_SUCCESS;
        if (given == NULL) status = read_axis(in, ret_grid, setting);
        else if (takes_model(in, setting->name))
            status = add_models(in, ret_grid, setting, given);
        else status = add_axis_text(in, ret_grid, NULL, setting->name, text);
        free(text);
        if (status != GSL_SUCCESS) return status;
    }
    return GSL_SUCCESS;
}

/* Reads one key of the points: a value for each row, or the override for all rows. */
static int read_column(spec_experiment_loader *in, spec_grid *grid, spec_config_node *points,
                       const char *name)
{
    int n = points->n, status = GSL_SUCCESS;
    const char *given = spec_config_override(&in->config, name);
    char **value = calloc((size_t)n, sizeof *value);
    if (value == NULL) return spec_config_no_memory(&in->config);
    for (int i = 0; i < n; i++) {
        spec_config_node *row = points->child[i], *setting = NULL;
        if (row->kind == SPEC_NODE_GROUP) setting = spec_config_tree_member(row, name);
        if (setting == NULL) {
            status = FAIL(in, row, "this point has no '%.60s', and the first one has", name);
            goto done;
        }
        if (given == NULL) SPEC_TRY(spec_config_text(&value[i], &in->config, setting));
        else if (takes_model(in, name))
            SPEC_TRY(place_model(&value[i], in, given, as_string(setting)));
        else if ((value[i] = strdup(given)) == NULL) SPEC_TRY(spec_config_no_memory(&in->config));
    }
    status = add_axis(in, grid, points, name, value, n);
done:
    free_texts(value, n);
    return status;
}

static int read_points(spec_experiment_loader *in, spec_grid *grid, spec_config_node *points)
{
    int n = points->n;
    if (points->kind != SPEC_NODE_LIST || n == 0)
        return FAIL(in, points, "points is not a list of groups ( { alpha = 0.8; K = 5; }, ... )");
    spec_config_node *first = points->child[0];
    if (first->kind != SPEC_NODE_GROUP || first->n == 0)
        return FAIL(in, points, "a point is not a group { alpha = 0.8; K = 5; }");
    grid->zipped = true;
    for (int k = 0; k < first->n; k++) {
        int status = read_column(in, grid, points,
                                 first->child[k]->name);
        if (status != GSL_SUCCESS) return status;
    }
    for (int i = 1; i < n; i++) {
        spec_config_node *row = points->child[i];
        for (int k = 0; k < row->n; k++) {
            spec_config_node *setting = row->child[k];
            if (spec_config_tree_member(first, setting->name) == NULL)
                return FAIL(in, setting, "the first point has no '%.60s'",
                            setting->name);
        }
    }
    return GSL_SUCCESS;
}

/* Adds axes for overrides of parameters that the measure reads, but the grid does not have. */
static int add_new_axes(spec_experiment_loader *in)
{
    spec_grid *grid = &in->experiment->grid;
    for (int i = 0; in->config.set[i] != NULL; i++) {
        char name[64];
        bool known;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(in->config.set[i], "="),
                 in->config.set[i]);
        spec_measure_default(in->experiment->measure, name, &known);
        if (in->config.used[i] || !known) continue;
        char *text = strdup(spec_config_override(&in->config, name));
        if (text == NULL) return spec_config_no_memory(&in->config);
        int status = GSL_SUCCESS;
        if (!grid->zipped) {
            status = add_axis_text(in, grid, NULL, name, text);
        } else {
            int n = (int)spec_grid_size(grid);
            char **value = calloc((size_t)n, sizeof *value);
            for (int k = 0; value != NULL && k < n; k++) value[k] = text;
            status = value == NULL ? spec_config_no_memory(&in->config)
                                   : add_axis(in, grid, NULL, name, value, n);
            free(value);
        }
        free(text);
        if (status != GSL_SUCCESS) return status;
    }
    return GSL_SUCCESS;
}

/* Reads the points, the product of the grid, or both crossed. */
int spec_experiment_read_axes(spec_experiment_loader *in)
{
    spec_config_node *grid = spec_config_tree_member(in->config.root, "grid");
    spec_config_node *points = spec_config_tree_member(in->config.root, "points");
    spec_grid product = {0}, *all = &in->experiment->grid;
    spec_error inner;
    int status = GSL_SUCCESS;
    if (grid == NULL && points == NULL) return FAIL(in, NULL, "neither grid nor points is given");
    if (points != NULL) SPEC_TRY(read_points(in, all, points));
    if (grid != NULL) SPEC_TRY(read_grid(in, points != NULL ? &product : all, grid));
    if ((status = spec_grid_cross(all, &product, &inner)) != GSL_SUCCESS) {
        spec_config_fail(&in->config, grid, status, "%s", inner.text);
        goto done;
    }
    SPEC_TRY(add_new_axes(in));
    SPEC_TRY(drop_axes(in));
    SPEC_TRY(spec_experiment_columns_label(in));
    if ((status = spec_grid_references_expand(all, &inner)) != GSL_SUCCESS) {
        spec_config_fail(&in->config, grid != NULL ? grid : points, status, "%s", inner.text);
        goto done;
    }
    if (points != NULL && in->models_given) spec_grid_merge_equal(all);
    SPEC_TRY(spec_experiment_columns_read(in));
done:
    spec_grid_free(&product);
    return status;
}
