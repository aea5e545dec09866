/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/grid_references.h"

#include "base/memory_text.h"
#include "base/names.h"
#include "experiments/report/naming.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

static bool refers(const spec_axis *axis)
{
    for (int i = 0; i < axis->n; i++)
        if (strchr(axis->value[i], '{') != NULL) return true;
    return false;
}

/* Finds the axis that the braces at `brace` name. */
static int referred(spec_axis **ret_axis, const spec_grid *grid, const char *brace,
                    size_t *ret_length, spec_error *error)
{
    const char *known[SPEC_AXES_MAX + 1] = {NULL};
    char name[64], near[SPEC_NAMES_MEANT_SIZE];
    size_t n = strcspn(brace + 1, "}");
    if (brace[1 + n] == '\0')
        return spec_fail(error, GSL_EINVAL, "a brace is not closed: '%.80s'", brace);
    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), brace + 1);
    *ret_length = n + 2;
    *ret_axis = spec_grid_axis(grid, name);
    if (*ret_axis != NULL && !refers(*ret_axis)) return GSL_SUCCESS;
    if (*ret_axis != NULL)
        return spec_fail(error, GSL_EINVAL, "{%s} refers to an axis that has braces itself", name);
    for (int i = 0; i < grid->n_axes; i++) known[i] = grid->axis[i].name;
    return spec_fail(error, GSL_EINVAL, "no axis is named '%s'%s", name,
                     spec_names_meant(near, name, known, ""));
}

static int replace(char **ret_text, const spec_grid *grid, uint64_t point, const char *text,
                   bool label, spec_error *error)
{
    size_t length = 0;
    int status = GSL_SUCCESS;
    spec_memory_text made;
    *ret_text = NULL;
    if (!spec_memory_text_open(&made)) return spec_no_memory(error);
    while (*text != '\0' && status == GSL_SUCCESS) {
        spec_axis *axis;
        size_t plain = strcspn(text, "{");
        fprintf(made.out, "%.*s", (int)plain, text);
        text += plain;
        if (*text == '\0') break;
        if ((status = referred(&axis, grid, text, &length, error)) != GSL_SUCCESS) break;
        const char *value = spec_grid_axis_value(grid, point, (int)(axis - grid->axis));
        char *name = label ? spec_naming_short(value) : NULL;
        if (label && name == NULL) status = spec_no_memory(error);
        fputs(name != NULL ? name : value, made.out);
        free(name);
        if (!label) axis->label = true;
        text += length;
    }
    *ret_text = spec_memory_text_take(&made, NULL);
    return status == GSL_SUCCESS && *ret_text == NULL ? spec_no_memory(error) : status;
}

/* Saves the values of an axis before references are replaced. */
static int keep_origin(spec_axis *expanded, const spec_grid *grid, int axis, spec_error *error)
{
    if (!refers(&grid->axis[axis])) return GSL_SUCCESS;
    expanded->origin = calloc((size_t)expanded->n, sizeof *expanded->origin);
    for (int i = 0; expanded->origin != NULL && i < expanded->n; i++)
        if ((expanded->origin[i] = strdup(spec_grid_axis_value(grid, (uint64_t)i, axis))) == NULL)
            return spec_no_memory(error);
    return expanded->origin != NULL ? GSL_SUCCESS : spec_no_memory(error);
}

int spec_grid_references_expand(spec_grid *grid, spec_error *error)
{
    spec_grid zipped = {.zipped = true};
    uint64_t size = spec_grid_size(grid);
    int status = GSL_SUCCESS;
    bool any = false;
    char **value = NULL;
    for (int a = 0; a < grid->n_axes; a++) any = any || refers(&grid->axis[a]);
    if (!any) return GSL_SUCCESS;
    if (size > SPEC_GRID_ZIPPED_MAX)
        return spec_fail(error, GSL_EINVAL, "over %d points in a grid with {axis} in it",
                         (int)SPEC_GRID_ZIPPED_MAX);
    if ((value = calloc(size, sizeof *value)) == NULL) return spec_no_memory(error);
    for (int a = 0; a < grid->n_axes; a++) {
        for (uint64_t i = 0; i < size; i++)
            SPEC_TRY(replace(&value[i], grid, i, spec_grid_axis_value(grid, i, a),
                             grid->axis[a].label, error));
        if ((status = spec_grid_add(&zipped, grid->axis[a].name, (const char *const *)value,
                                    (int)size, false)) != 0) {
            spec_fail(error, status, "out of memory");
            goto done;
        }
        for (uint64_t i = 0; i < size; i++) {
            free(value[i]);
            value[i] = NULL;
        }
    }
    for (int a = 0; a < grid->n_axes; a++) {
        zipped.axis[a].label = grid->axis[a].label;
        SPEC_TRY(keep_origin(&zipped.axis[a], grid, a, error));
    }
    spec_grid_free(grid);
    *grid = zipped;
    zipped = (spec_grid){0};
done:
    for (uint64_t i = 0; i < size; i++) free(value[i]);
    free(value);
    spec_grid_free(&zipped);
    return status;
}

bool spec_grid_references_has(const spec_grid *grid, const char *name)
{
    const size_t n = strlen(name);
    for (int a = 0; a < grid->n_axes; a++)
        for (int i = 0; i < grid->axis[a].n; i++)
            for (const char *at = grid->axis[a].value[i]; (at = strchr(at, '{')) != NULL; at++)
                if (strncmp(at + 1, name, n) == 0 && at[1 + n] == '}') return true;
    return false;
}
