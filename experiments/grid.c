/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/grid.h"

#include "base/memory_text.h"
#include "experiments/number_list.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void axis_free(spec_axis *axis)
{
    for (int i = 0; axis->value != NULL && i < axis->n; i++) free(axis->value[i]);
    for (int i = 0; axis->origin != NULL && i < axis->n; i++) free(axis->origin[i]);
    free(axis->value);
    free(axis->origin);
    free(axis->name);
    *axis = (spec_axis){0};
}

void spec_grid_free(spec_grid *grid)
{
    for (int i = 0; i < grid->n_axes; i++) axis_free(&grid->axis[i]);
    free(grid->axis);
    *grid = (spec_grid){0};
}

int spec_grid_add(spec_grid *grid, const char *name, const char *const *values, int n, bool label)
{
    assert(n >= 1);
    if (grid->n_axes == SPEC_AXES_MAX) return GSL_EINVAL;
    spec_axis *all = realloc(grid->axis, (size_t)(grid->n_axes + 1) * sizeof *all);
    if (all == NULL) return GSL_ENOMEM;
    grid->axis = all;
    spec_axis axis = {.name = strdup(name),
                      .value = calloc((size_t)n, sizeof *axis.value),
                      .n = n,
                      .label = label};
    bool whole = axis.name != NULL && axis.value != NULL;
    for (int i = 0; whole && i < n; i++) whole = (axis.value[i] = strdup(values[i])) != NULL;
    if (!whole) {
        axis_free(&axis);
        return GSL_ENOMEM;
    }
    grid->axis[grid->n_axes++] = axis;
    return GSL_SUCCESS;
}

int spec_grid_add_numbers(spec_grid *grid, const char *name, const char *list, spec_error *error)
{
    spec_number_list numbers = {0};
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_number_list_parse(&numbers, name, list, error));
    if ((status = spec_grid_add(grid, name, (const char *const *)numbers.value, numbers.n,
                                false)) != GSL_SUCCESS)
        spec_fail(error, status, status == GSL_ENOMEM ? "%s: out of memory" : "%s: too many axes",
                  name);
done:
    spec_number_list_free(&numbers);
    return status;
}

/* ---- points ---------------------------------------------------------------------------------- */

uint64_t spec_grid_size(const spec_grid *grid)
{
    uint64_t size = grid->n_axes > 0;
    for (int i = 0; i < grid->n_axes; i++) {
        uint64_t n = (uint64_t)grid->axis[i].n;
        if (grid->zipped) return n;
        if (n != 0 && size > UINT64_MAX / n) return UINT64_MAX;
        size *= n;
    }
    return size;
}

spec_axis *spec_grid_axis(const spec_grid *grid, const char *name)
{
    for (int i = 0; i < grid->n_axes; i++)
        if (strcmp(grid->axis[i].name, name) == 0) return &grid->axis[i];
    return NULL;
}

const char *spec_grid_axis_value(const spec_grid *grid, uint64_t point, int axis)
{
    if (grid->zipped) return grid->axis[axis].value[point];
    for (int i = grid->n_axes - 1; i > axis; i--) point /= (uint64_t)grid->axis[i].n;
    return grid->axis[axis].value[point % (uint64_t)grid->axis[axis].n];
}

const char *spec_grid_value(const spec_grid *grid, uint64_t point, const char *name)
{
    assert(point < spec_grid_size(grid));
    spec_axis *axis = spec_grid_axis(grid, name);
    return axis == NULL ? NULL : spec_grid_axis_value(grid, point, (int)(axis - grid->axis));
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const spec_axis *const *)a)->name, (*(const spec_axis *const *)b)->name);
}

static bool is_among(const char *name, const char *const *opt_names)
{
    for (; opt_names != NULL && *opt_names != NULL; opt_names++)
        if (strcmp(name, *opt_names) == 0) return true;
    return false;
}

char *spec_grid_identity(const spec_grid *grid, uint64_t point, const char *const *opt_without)
{
    const spec_axis *sorted[SPEC_AXES_MAX];
    spec_memory_text text;
    int n = 0;
    if (!spec_memory_text_open(&text)) return NULL;
    for (int i = 0; i < grid->n_axes; i++)
        if (!grid->axis[i].label && !is_among(grid->axis[i].name, opt_without))
            sorted[n++] = &grid->axis[i];
    qsort(sorted, (size_t)n, sizeof *sorted, by_name);
    for (int i = 0; i < n; i++)
        fprintf(text.out, "%s%s=%s", i > 0 ? ";" : "", sorted[i]->name,
                spec_grid_axis_value(grid, point, (int)(sorted[i] - grid->axis)));
    return spec_memory_text_take(&text, NULL);
}

int spec_grid_cross(spec_grid *grid, const spec_grid *product, spec_error *error)
{
    spec_grid crossed = {.zipped = true};
    const uint64_t outer = spec_grid_size(grid), inner = spec_grid_size(product);
    int status = GSL_SUCCESS;
    const char **value = NULL;
    if (product->n_axes == 0) return GSL_SUCCESS;
    if (inner > SPEC_GRID_ZIPPED_MAX || outer > SPEC_GRID_ZIPPED_MAX / inner)
        return spec_fail(error, GSL_EINVAL, "over %d points", (int)SPEC_GRID_ZIPPED_MAX);
    for (int a = 0; a < product->n_axes; a++)
        if (spec_grid_axis(grid, product->axis[a].name) != NULL)
            return spec_fail(error, GSL_EINVAL, "'%.60s' is in the points and in the grid",
                             product->axis[a].name);
    if ((value = calloc(outer * inner, sizeof *value)) == NULL)
        return spec_no_memory(error);
    for (int a = 0; a < grid->n_axes + product->n_axes; a++) {
        const bool own = a < grid->n_axes;
        const spec_axis *axis = own ? &grid->axis[a] : &product->axis[a - grid->n_axes];
        for (uint64_t i = 0; i < outer * inner; i++)
            value[i] = own ? spec_grid_axis_value(grid, i / inner, a)
                           : spec_grid_axis_value(product, i % inner, a - grid->n_axes);
        if ((status = spec_grid_add(&crossed, axis->name, value, (int)(outer * inner),
                                    axis->label)) == GSL_SUCCESS)
            continue;
        spec_fail(error, status, status == GSL_ENOMEM ? "out of memory" : "over %d axes",
                  (int)SPEC_AXES_MAX);
        goto done;
    }
    spec_grid_free(grid);
    *grid = crossed;
    crossed = (spec_grid){0};
done:
    spec_grid_free(&crossed);
    free(value);
    return status;
}

/* ---- fewer axes, fewer points ---------------------------------------------------------------- */

void spec_grid_remove(spec_grid *grid, const char *name)
{
    spec_axis *axis = spec_grid_axis(grid, name);
    if (axis == NULL) return;
    axis_free(axis);
    memmove(axis, axis + 1, (size_t)(&grid->axis[grid->n_axes] - (axis + 1)) * sizeof *axis);
    grid->n_axes--;
}

static bool is_repeated(const spec_grid *grid, int point)
{
    for (int earlier = 0; earlier < point; earlier++) {
        bool equal = true;
        for (int a = 0; a < grid->n_axes && equal; a++)
            equal = strcmp(grid->axis[a].value[earlier], grid->axis[a].value[point]) == 0;
        if (equal) return true;
    }
    return false;
}

static void swap(char **text, int i, int k)
{
    char *other = text[i];
    text[i] = text[k];
    text[k] = other;
}

void spec_grid_merge_equal(spec_grid *grid)
{
    if (!grid->zipped || grid->n_axes == 0) return;
    int kept = 0;
    for (int i = 0, n = grid->axis[0].n; i < n; i++) {
        for (int a = 0; a < grid->n_axes; a++) {
            swap(grid->axis[a].value, kept, i);
            if (grid->axis[a].origin != NULL) swap(grid->axis[a].origin, kept, i);
        }
        if (!is_repeated(grid, kept)) kept++;
    }
    for (int a = 0; a < grid->n_axes; a++) {
        spec_axis *axis = &grid->axis[a];
        for (int i = kept; i < axis->n; i++) {
            free(axis->value[i]);
            if (axis->origin != NULL) free(axis->origin[i]);
        }
        axis->n = kept;
    }
}
