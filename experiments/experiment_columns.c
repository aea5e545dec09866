/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/experiment_columns.h"

#include "base/names.h"

#include <stdlib.h>
#include <string.h>

#define FAIL(in, setting, ...) spec_config_fail(&(in)->config, setting, GSL_EINVAL, __VA_ARGS__)

int spec_experiment_columns_axes(const char *known[SPEC_AXES_MAX + 1], const spec_grid *grid)
{
    for (int i = 0; i < grid->n_axes; i++) known[i] = grid->axis[i].name;
    known[grid->n_axes] = NULL;
    return grid->n_axes;
}

int spec_experiment_columns_label(spec_experiment_loader *in)
{
    spec_config_node *setting = spec_config_tree_member(in->config.root, "labels");
    spec_experiment *e = in->experiment;
    const char *known[SPEC_AXES_MAX + 1];
    char near[SPEC_NAMES_MEANT_SIZE];
    spec_experiment_columns_axes(known, &e->grid);
    for (int i = 0; setting != NULL && i < spec_config_list_length(setting); i++) {
        const char *name = NULL;
        bool parameter;
        int status = spec_config_list_item(&name, &in->config, setting, i);
        if (status != GSL_SUCCESS) return status;
        spec_axis *axis = spec_grid_axis(&e->grid, name);
        spec_measure_default(e->measure, name, &parameter);
        if (spec_given_models_noted(&in->dropped, name)) continue;
        if (axis == NULL)
            return FAIL(in, setting, "no axis is named '%.60s'%s", name,
                        spec_names_meant(near, name, known, ""));
        if (parameter)
            return FAIL(in, setting, "'%.60s' is a parameter of %s, not a label", name,
                        e->measure->name);
        axis->label = true;
    }
    return GSL_SUCCESS;
}

/* Returns the setting that names an axis, whose line we report; NULL for an axis of the command
 * line. */
static const spec_config_node *axis_setting(const spec_config *config, const char *name)
{
    spec_config_node *grid = spec_config_tree_member(config->root, "grid");
    spec_config_node *points = spec_config_tree_member(config->root, "points");
    spec_config_node *setting = grid == NULL ? NULL : spec_config_tree_member(grid, name);
    if (setting != NULL || points == NULL) return setting;
    return spec_config_tree_member(points->child[0], name);
}

static int check_axes(spec_experiment_loader *in)
{
    enum { PARAMETERS_MAX = 64, NAME_SIZE = 64 };
    const spec_experiment *e = in->experiment;
    char names[PARAMETERS_MAX][NAME_SIZE], near[SPEC_NAMES_MEANT_SIZE];
    const char *known[PARAMETERS_MAX + 1] = {NULL};
    for (int i = 0; i < PARAMETERS_MAX && e->measure->parameters[i] != NULL; i++) {
        const char *parameter = e->measure->parameters[i];
        snprintf(names[i], NAME_SIZE, "%.*s", (int)strcspn(parameter, "="), parameter);
        known[i] = names[i];
    }
    for (int i = 0; i < e->grid.n_axes; i++) {
        const char *name = e->grid.axis[i].name;
        bool parameter;
        spec_measure_default(e->measure, name, &parameter);
        if (!e->grid.axis[i].label && !parameter)
            return FAIL(in, axis_setting(&in->config, name), "%s has no parameter '%.60s'%s",
                        e->measure->name, name, spec_names_meant(near, name, known, ""));
    }
    return GSL_SUCCESS;
}

static int read_show(spec_experiment_loader *in)
{
    spec_config_node *setting = spec_config_tree_member(in->config.root, "show");
    spec_experiment *e = in->experiment;
    const char *known[SPEC_AXES_MAX + 257];
    char near[SPEC_NAMES_MEANT_SIZE];
    if (setting == NULL) return GSL_SUCCESS;
    int n = spec_config_list_length(setting),
        n_known = spec_experiment_columns_axes(known, &e->grid);
    for (int i = 0; e->measure->columns[i] != NULL && i < 256; i++)
        known[n_known++] = e->measure->columns[i];
    known[n_known] = NULL;
    if (n == 0) return GSL_SUCCESS;
    if ((e->show = calloc((size_t)n, sizeof *e->show)) == NULL)
        return spec_config_no_memory(&in->config);
    for (int i = 0; i < n; i++) {
        const char *name = NULL;
        int status = spec_config_list_item(&name, &in->config, setting, i), hit = 0;
        if (status != GSL_SUCCESS) return status;
        if (spec_given_models_noted(&in->dropped, name)) continue;
        while (known[hit] != NULL && strcmp(known[hit], name) != 0) hit++;
        if (known[hit] == NULL)
            return FAIL(in, setting, "show: no column '%.60s'%s", name,
                        spec_names_meant(near, name, known, ""));
        for (int k = 0; k < e->n_show; k++)
            if (strcmp(e->show[k], name) == 0)
                return FAIL(in, setting, "show: column '%.60s' is named twice", name);
        if ((e->show[e->n_show] = strdup(name)) == NULL) return spec_config_no_memory(&in->config);
        e->n_show++;
    }
    return GSL_SUCCESS;
}

/* Drops the figure if it needs a column that a dropped axis would have had. */
static int drop_figure(spec_experiment_loader *in)
{
    const spec_config_node *show = spec_config_tree_member(in->config.root, "show");
    spec_experiment *e = in->experiment;
    bool shown = show == NULL;
    for (int i = 0; show != NULL && i < spec_config_list_length(show); i++) {
        const char *name = NULL;
        const int status = spec_config_list_item(&name, &in->config, show, i);
        if (status != GSL_SUCCESS) return status;
        shown = shown || spec_given_models_noted(&in->dropped, name);
    }
    if (in->dropped.n == 0 || !shown || e->figure[0] == '\0') return GSL_SUCCESS;
    char *note = NULL;
    if (asprintf(&note, "%s; without the figure '%s', which needs them", e->note, e->figure) < 0)
        return spec_config_no_memory(&in->config);
    free(e->note);
    e->note = note;
    e->figure[0] = '\0';
    return GSL_SUCCESS;
}

int spec_experiment_columns_read(spec_experiment_loader *in)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(check_axes(in));
    SPEC_TRY(read_show(in));
    SPEC_TRY(drop_figure(in));
done:
    return status;
}
