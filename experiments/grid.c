#include "experiments/grid.h"

#include "base/names.h"
#include "base/settings.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXPANDED_MAX = 100000 };

static void axis_free(spec_axis *axis)
{
    for (int i = 0; axis->value != NULL && i < axis->n; i++) free(axis->value[i]);
    free(axis->value);
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
    spec_axis axis = {.name = strdup(name), .value = calloc((size_t)n, sizeof *axis.value), .n = n, .label = label};
    bool whole = axis.name != NULL && axis.value != NULL;
    for (int i = 0; whole && i < n; i++) whole = (axis.value[i] = strdup(values[i])) != NULL;
    if (!whole) {
        axis_free(&axis);
        return GSL_ENOMEM;
    }
    grid->axis[grid->n_axes++] = axis;
    return GSL_SUCCESS;
}

const char *spec_grid_number(double value, char buffer[SPEC_NUMBER_SIZE])
{
    if (value == floor(value) && fabs(value) < 1e15) { /* 1000000 and not 1e+06, no whole number to a reader of those */
        snprintf(buffer, SPEC_NUMBER_SIZE, "%.0f", value + 0.0);
        return buffer;
    }
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(buffer, SPEC_NUMBER_SIZE, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value) break;
    }
    return buffer;
}

/* ---- lists of numbers -------------------------------------------------------------------------------------------- */

typedef struct {
    char **value;
    int n, capacity;
} texts;

static void texts_free(texts *list)
{
    for (int i = 0; i < list->n; i++) free(list->value[i]);
    free(list->value);
}

static int texts_add(texts *list, const char *text)
{
    if (list->n == list->capacity) {
        int capacity = list->capacity == 0 ? 16 : 2 * list->capacity;
        char **value = realloc(list->value, (size_t)capacity * sizeof *value);
        if (value == NULL) return GSL_ENOMEM;
        list->value = value;
        list->capacity = capacity;
    }
    if ((list->value[list->n] = strdup(text)) == NULL) return GSL_ENOMEM;
    list->n++;
    return GSL_SUCCESS;
}

static int add_range(texts *list, const char *name, const char *item, double low, double high, double step,
                     spec_error *error)
{
    double count = floor((high - low) / step + 1e-9) + 1.0; /* within rounding, the end belongs to the range */
    if (step == 0.0) return spec_fail(error, GSL_EINVAL, "%s: the step of '%.80s' is zero", name, item);
    if (!(count >= 1.0)) return spec_fail(error, GSL_EINVAL, "%s: the range '%.80s' is empty", name, item);
    if (count > SPEC_AXIS_VALUES_MAX - list->n)
        return spec_fail(error, GSL_EINVAL, "%s: '%.80s' has over a million values", name, item);
    for (int i = 0; i < (int)count; i++) {
        char rounded[SPEC_NUMBER_SIZE], buffer[SPEC_NUMBER_SIZE];
        double value = low + i * step;
        if (fabs(value) < 1e-12 * fabs(step)) value = 0.0; /* -0.1:0.1:0.1 */
        snprintf(rounded, sizeof rounded, "%.12g", value);
        if (texts_add(list, spec_grid_number(strtod(rounded, NULL), buffer)) != GSL_SUCCESS)
            return spec_fail(error, GSL_ENOMEM, "%s: out of memory", name);
    }
    return GSL_SUCCESS;
}

static int add_item(texts *list, const char *name, char *item, spec_error *error)
{
    char *part[3] = {item, NULL, NULL}, whole[100], buffer[SPEC_NUMBER_SIZE];
    double number[3];
    int n = 1;
    snprintf(whole, sizeof whole, "%s", item);
    for (char *c = item; *c != '\0'; c++) {
        if (*c != ':') continue;
        if (n == 3) return spec_fail(error, GSL_EINVAL, "%s: '%.80s' is not lo:hi:step", name, whole);
        *c = '\0';
        part[n++] = c + 1;
    }
    for (int i = 0; i < n; i++) {
        part[i] += strspn(part[i], " \t\n");
        for (size_t end = strlen(part[i]); end > 0 && strchr(" \t\n", part[i][end - 1]) != NULL; end--)
            part[i][end - 1] = '\0';
        if (!spec_settings_parse_double(&number[i], part[i]))
            return spec_fail(error, GSL_EINVAL, "%s: '%.80s' is not a number or lo:hi:step", name, whole);
    }
    if (n == 2 && (number[0] != floor(number[0]) || number[1] != floor(number[1])))
        return spec_fail(error, GSL_EINVAL, "%s: '%.80s' is not lo:hi:step", name, whole);
    if (n == 2) number[2] = 1.0;
    if (n >= 2) return add_range(list, name, whole, number[0], number[1], number[2], error);
    if (list->n == SPEC_AXIS_VALUES_MAX) return spec_fail(error, GSL_EINVAL, "%s: over a million values", name);
    if (texts_add(list, spec_grid_number(number[0], buffer)) == GSL_SUCCESS) return GSL_SUCCESS;
    return spec_fail(error, GSL_ENOMEM, "%s: out of memory", name);
}

int spec_grid_add_numbers(spec_grid *grid, const char *name, const char *list, spec_error *error)
{
    texts values = {0};
    int status = GSL_SUCCESS;
    char *copy = strdup(list);
    if (copy == NULL) return spec_fail(error, GSL_ENOMEM, "%s: out of memory", name);
    for (char *item = copy, *next; item != NULL; item = next) {
        next = strchr(item, ',');
        if (next != NULL) *next++ = '\0';
        SPEC_TRY(add_item(&values, name, item, error));
    }
    if ((status = spec_grid_add(grid, name, (const char *const *)values.value, values.n, false)) != GSL_SUCCESS)
        spec_fail(error, status, status == GSL_ENOMEM ? "%s: out of memory" : "%s: too many axes", name);
done:
    texts_free(&values);
    free(copy);
    return status;
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

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

static const char *value_of(const spec_grid *grid, uint64_t point, int axis)
{
    if (grid->zipped) return grid->axis[axis].value[point];
    for (int i = grid->n_axes - 1; i > axis; i--) point /= (uint64_t)grid->axis[i].n;
    return grid->axis[axis].value[point % (uint64_t)grid->axis[axis].n];
}

const char *spec_grid_value(const spec_grid *grid, uint64_t point, const char *name)
{
    assert(point < spec_grid_size(grid));
    spec_axis *axis = spec_grid_axis(grid, name);
    return axis == NULL ? NULL : value_of(grid, point, (int)(axis - grid->axis));
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
    char *text = NULL;
    size_t size = 0;
    int n = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) return NULL;
    for (int i = 0; i < grid->n_axes; i++)
        if (!grid->axis[i].label && !is_among(grid->axis[i].name, opt_without)) sorted[n++] = &grid->axis[i];
    qsort(sorted, (size_t)n, sizeof *sorted, by_name);
    for (int i = 0; i < n; i++)
        fprintf(out, "%s%s=%s", i > 0 ? ";" : "", sorted[i]->name,
                value_of(grid, point, (int)(sorted[i] - grid->axis)));
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

int spec_grid_cross(spec_grid *grid, const spec_grid *product, spec_error *error)
{
    spec_grid crossed = {.zipped = true};
    const uint64_t outer = spec_grid_size(grid), inner = spec_grid_size(product);
    int status = GSL_SUCCESS;
    const char **value = NULL;
    if (product->n_axes == 0) return GSL_SUCCESS;
    if (inner > EXPANDED_MAX || outer > EXPANDED_MAX / inner)
        return spec_fail(error, GSL_EINVAL, "over %d points", (int)EXPANDED_MAX);
    for (int a = 0; a < product->n_axes; a++)
        if (spec_grid_axis(grid, product->axis[a].name) != NULL)
            return spec_fail(error, GSL_EINVAL, "'%.60s' is in the points and in the grid", product->axis[a].name);
    if ((value = calloc(outer * inner, sizeof *value)) == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    for (int a = 0; a < grid->n_axes + product->n_axes; a++) {
        const bool own = a < grid->n_axes;
        const spec_axis *axis = own ? &grid->axis[a] : &product->axis[a - grid->n_axes];
        for (uint64_t i = 0; i < outer * inner; i++)
            value[i] = own ? value_of(grid, i / inner, a) : value_of(product, i % inner, a - grid->n_axes);
        if ((status = spec_grid_add(&crossed, axis->name, value, (int)(outer * inner), axis->label)) == GSL_SUCCESS)
            continue;
        spec_fail(error, status, status == GSL_ENOMEM ? "out of memory" : "over %d axes", (int)SPEC_AXES_MAX);
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

/* ---- values that refer to other axes ----------------------------------------------------------------------------- */

static bool refers(const spec_axis *axis)
{
    for (int i = 0; i < axis->n; i++)
        if (strchr(axis->value[i], '{') != NULL) return true;
    return false;
}

/* The axis named by the braces that begin at `brace`. */
static int referred(spec_axis **ret_axis, const spec_grid *grid, const char *brace, size_t *ret_length,
                    spec_error *error)
{
    const char *known[SPEC_AXES_MAX + 1] = {NULL};
    char name[64], near[SPEC_NAMES_MEANT_SIZE];
    size_t n = strcspn(brace + 1, "}");
    if (brace[1 + n] == '\0') return spec_fail(error, GSL_EINVAL, "a brace is not closed: '%.80s'", brace);
    snprintf(name, sizeof name, "%.*s", (int)(n < sizeof name ? n : sizeof name - 1), brace + 1);
    *ret_length = n + 2;
    *ret_axis = spec_grid_axis(grid, name);
    if (*ret_axis != NULL && !refers(*ret_axis)) return GSL_SUCCESS;
    if (*ret_axis != NULL) return spec_fail(error, GSL_EINVAL, "{%s} refers to an axis that has braces itself", name);
    for (int i = 0; i < grid->n_axes; i++) known[i] = grid->axis[i].name;
    return spec_fail(error, GSL_EINVAL, "no axis is named '%s'%s", name, spec_names_meant(near, name, known, ""));
}

static int replace(char **ret_text, const spec_grid *grid, uint64_t point, const char *text, spec_error *error)
{
    size_t size = 0, length = 0;
    int status = GSL_SUCCESS;
    *ret_text = NULL;
    FILE *out = open_memstream(ret_text, &size);
    if (out == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    while (*text != '\0') {
        spec_axis *axis;
        size_t plain = strcspn(text, "{");
        fprintf(out, "%.*s", (int)plain, text);
        text += plain;
        if (*text == '\0') break;
        if ((status = referred(&axis, grid, text, &length, error)) != GSL_SUCCESS) break;
        fputs(value_of(grid, point, (int)(axis - grid->axis)), out);
        axis->label = true;
        text += length;
    }
    fclose(out);
    return status;
}

int spec_grid_expand(spec_grid *grid, spec_error *error)
{
    spec_grid zipped = {.zipped = true};
    uint64_t size = spec_grid_size(grid);
    int status = GSL_SUCCESS;
    bool any = false;
    char **value = NULL;
    for (int a = 0; a < grid->n_axes; a++) any = any || refers(&grid->axis[a]);
    if (!any) return GSL_SUCCESS;
    if (size > EXPANDED_MAX)
        return spec_fail(error, GSL_EINVAL, "over %d points in a grid with {axis} in it", (int)EXPANDED_MAX);
    if ((value = calloc(size, sizeof *value)) == NULL) return spec_fail(error, GSL_ENOMEM, "out of memory");
    for (int a = 0; a < grid->n_axes; a++) {
        for (uint64_t i = 0; i < size; i++) SPEC_TRY(replace(&value[i], grid, i, value_of(grid, i, a), error));
        if ((status = spec_grid_add(&zipped, grid->axis[a].name, (const char *const *)value, (int)size, false)) != 0) {
            spec_fail(error, status, "out of memory");
            goto done;
        }
        for (uint64_t i = 0; i < size; i++) {
            free(value[i]);
            value[i] = NULL;
        }
    }
    for (int a = 0; a < grid->n_axes; a++) zipped.axis[a].label = grid->axis[a].label;
    spec_grid_free(grid);
    *grid = zipped;
    zipped = (spec_grid){0};
done:
    for (uint64_t i = 0; i < size; i++) free(value[i]);
    free(value);
    spec_grid_free(&zipped);
    return status;
}
