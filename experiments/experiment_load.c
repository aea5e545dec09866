#include "experiments/experiment.h"

#include "experiments/config.h"
#include "base/names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const top_keys[] = {"title", "question", "theory",         "finding", "time",   "figure", "measure",
                                       "grid",  "points",   "standard_error", "labels",  "rounds", "seed",   "defaults",
                                       "show",  NULL};

typedef struct {
    spec_experiment *experiment;
    spec_config config;
} loader;

#define FAIL(in, setting, ...) spec_config_fail(&(in)->config, setting, GSL_EINVAL, __VA_ARGS__)

static int no_memory(loader *in)
{
    return spec_config_fail(&in->config, NULL, GSL_ENOMEM, "out of memory");
}

/* ---- top level --------------------------------------------------------------------------------------------------- */

static int read_top(loader *in)
{
    spec_experiment *e = in->experiment;
    spec_config *config = &in->config;
    char near[SPEC_NAMES_MEANT_SIZE];
    double rounds = 0.0;
    int status = GSL_SUCCESS;
    for (int i = 0; i < config_setting_length(in->config.root); i++) {
        config_setting_t *setting = config_setting_get_elem(in->config.root, (unsigned)i);
        bool known = false;
        for (int k = 0; top_keys[k] != NULL; k++)
            known = known || strcmp(top_keys[k], config_setting_name(setting)) == 0;
        if (!known)
            return FAIL(in, setting, "unknown key '%.60s'%s", config_setting_name(setting),
                        spec_names_meant(near, config_setting_name(setting), top_keys, ""));
    }
    in->config.defaults = config_setting_get_member(in->config.root, "defaults");
    if (in->config.defaults != NULL && !config_setting_is_group(in->config.defaults))
        return FAIL(in, in->config.defaults, "defaults is not a group { NAME = \"value\"; }");
    SPEC_TRY(spec_config_string(&e->title, config, "title"));
    SPEC_TRY(spec_config_string(&e->question, config, "question"));
    SPEC_TRY(spec_config_string(&e->theory, config, "theory"));
    SPEC_TRY(spec_config_string(&e->finding, config, "finding"));
    SPEC_TRY(spec_config_string(&e->time, config, "time"));
    SPEC_TRY(spec_config_string(&e->figure, config, "figure"));
    SPEC_TRY(spec_config_number(&rounds, config, "rounds", 1e15, true));
    SPEC_TRY(spec_config_number(&e->standard_error, config, "standard_error", 1e6, false));
    SPEC_TRY(spec_config_u64(&e->seed, config, "seed"));
    e->rounds = (uint64_t)rounds;
    if (e->rounds == 0 && !(e->standard_error > 0.0)) e->rounds = SPEC_EXPERIMENT_ROUNDS;

    config_setting_t *measure = config_setting_get_member(in->config.root, "measure");
    if (measure == NULL) return FAIL(in, NULL, "no measure is given, e.g. measure = \"acceptance\";");
    if (config_setting_type(measure) != CONFIG_TYPE_STRING) return FAIL(in, measure, "measure is not a string");
    spec_error inner;
    if (spec_measure_find(&e->measure, config_setting_get_string(measure), &inner) != GSL_SUCCESS)
        return FAIL(in, measure, "%s", inner.text);
done:
    return status;
}

/* ---- grid and points --------------------------------------------------------------------------------------------- */

static int add_axis(loader *in, spec_grid *grid, const config_setting_t *setting, const char *name, char **value, int n)
{
    for (int i = 0; i < n; i++)
        for (const char *c = value[i]; *c != '\0'; c++)
            if ((unsigned char)*c < ' ')
                return FAIL(in, setting, "%.60s: a value with a line break or another control character", name);
    int status = spec_grid_add(grid, name, (const char *const *)value, n, false);
    if (status == GSL_ENOMEM) return no_memory(in);
    return status == GSL_SUCCESS ? status : FAIL(in, setting, "over %d axes", SPEC_AXES_MAX);
}

/* A text that can only be meant as a list of numbers is one; any other is one value. */
static int add_axis_text(loader *in, spec_grid *grid, const config_setting_t *opt_setting, const char *name, char *text)
{
    bool numbers = strpbrk(text, "0123456789") != NULL && strspn(text, "0123456789+-.eE,: \t\n") == strlen(text);
    spec_error inner;
    if (!numbers) return add_axis(in, grid, opt_setting, name, &text, 1);
    int status = spec_grid_add_numbers(grid, name, text, &inner);
    return status == GSL_SUCCESS ? status : spec_config_fail(&in->config, opt_setting, status, "%s", inner.text);
}

static void free_texts(char **text, int n)
{
    for (int i = 0; text != NULL && i < n; i++) free(text[i]);
    free(text);
}

static int read_axis(loader *in, spec_grid *grid, const config_setting_t *setting)
{
    const char *name = config_setting_name(setting);
    int n = config_setting_length(setting), status = GSL_SUCCESS;
    char *one = NULL;
    if (spec_config_is_scalar(setting)) {
        if ((status = spec_config_text(&one, &in->config, setting)) == GSL_SUCCESS)
            status = config_setting_type(setting) == CONFIG_TYPE_STRING ? add_axis_text(in, grid, setting, name, one)
                                                                        : add_axis(in, grid, setting, name, &one, 1);
        free(one);
        return status;
    }
    if (config_setting_is_group(setting)) return FAIL(in, setting, "%.60s is not a value or a list of values", name);
    if (n == 0) return FAIL(in, setting, "%.60s: the list is empty", name);
    char **value = calloc((size_t)n, sizeof *value);
    if (value == NULL) return no_memory(in);
    for (int i = 0; i < n; i++)
        SPEC_TRY(spec_config_text(&value[i], &in->config, config_setting_get_elem(setting, (unsigned)i)));
    status = add_axis(in, grid, setting, name, value, n);
done:
    free_texts(value, n);
    return status;
}

static int read_grid(loader *in, spec_grid *ret_grid, const config_setting_t *grid)
{
    if (!config_setting_is_group(grid)) return FAIL(in, grid, "grid is not a group { alpha = \"0.5:0.9:0.1\"; ... }");
    for (int i = 0; i < config_setting_length(grid); i++) {
        config_setting_t *setting = config_setting_get_elem(grid, (unsigned)i);
        const char *given = spec_config_override(&in->config, config_setting_name(setting));
        char *text = given == NULL ? NULL : strdup(given);
        if (given != NULL && text == NULL) return no_memory(in);
        int status = given == NULL ? read_axis(in, ret_grid, setting)
                                   : add_axis_text(in, ret_grid, NULL, config_setting_name(setting), text);
        free(text);
        if (status != GSL_SUCCESS) return status;
    }
    return GSL_SUCCESS;
}

/* One key of the points: the value of every row, or the override's for all of them. */
static int read_column(loader *in, spec_grid *grid, config_setting_t *points, const char *name)
{
    int n = config_setting_length(points), status = GSL_SUCCESS;
    const char *given = spec_config_override(&in->config, name);
    char **value = calloc((size_t)n, sizeof *value);
    if (value == NULL) return no_memory(in);
    for (int i = 0; i < n; i++) {
        config_setting_t *row = config_setting_get_elem(points, (unsigned)i), *setting = NULL;
        if (config_setting_is_group(row)) setting = config_setting_get_member(row, name);
        if (setting == NULL) {
            status = FAIL(in, row, "this point has no '%.60s', and the first one has", name);
            goto done;
        }
        if (given == NULL) SPEC_TRY(spec_config_text(&value[i], &in->config, setting));
        else if ((value[i] = strdup(given)) == NULL) SPEC_TRY(no_memory(in));
    }
    status = add_axis(in, grid, points, name, value, n);
done:
    free_texts(value, n);
    return status;
}

static int read_points(loader *in, spec_grid *grid, config_setting_t *points)
{
    int n = config_setting_length(points);
    if (!config_setting_is_list(points) || n == 0)
        return FAIL(in, points, "points is not a list of groups ( { alpha = 0.8; K = 5; }, ... )");
    config_setting_t *first = config_setting_get_elem(points, 0);
    if (!config_setting_is_group(first) || config_setting_length(first) == 0)
        return FAIL(in, points, "a point is not a group { alpha = 0.8; K = 5; }");
    grid->zipped = true;
    for (int k = 0; k < config_setting_length(first); k++) {
        int status = read_column(in, grid, points, config_setting_name(config_setting_get_elem(first, (unsigned)k)));
        if (status != GSL_SUCCESS) return status;
    }
    for (int i = 1; i < n; i++) {
        config_setting_t *row = config_setting_get_elem(points, (unsigned)i);
        for (int k = 0; k < config_setting_length(row); k++) {
            config_setting_t *setting = config_setting_get_elem(row, (unsigned)k);
            if (config_setting_get_member(first, config_setting_name(setting)) == NULL)
                return FAIL(in, setting, "the first point has no '%.60s'", config_setting_name(setting));
        }
    }
    return GSL_SUCCESS;
}

/* Overrides of parameters that the measure reads and the grid leaves to their defaults become axes of their own. */
static int add_new_axes(loader *in)
{
    spec_grid *grid = &in->experiment->grid;
    for (int i = 0; in->config.set[i] != NULL; i++) {
        char name[64];
        bool known;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(in->config.set[i], "="), in->config.set[i]);
        spec_measure_default(in->experiment->measure, name, &known);
        if (in->config.used[i] || !known) continue;
        char *text = strdup(spec_config_override(&in->config, name));
        if (text == NULL) return no_memory(in);
        int status = GSL_SUCCESS;
        if (!grid->zipped) {
            status = add_axis_text(in, grid, NULL, name, text);
        } else {
            int n = (int)spec_grid_size(grid);
            char **value = calloc((size_t)n, sizeof *value);
            for (int k = 0; value != NULL && k < n; k++) value[k] = text;
            status = value == NULL ? no_memory(in) : add_axis(in, grid, NULL, name, value, n);
            free(value);
        }
        free(text);
        if (status != GSL_SUCCESS) return status;
    }
    return GSL_SUCCESS;
}

static int axis_names(const char *known[SPEC_AXES_MAX + 1], const spec_grid *grid)
{
    for (int i = 0; i < grid->n_axes; i++) known[i] = grid->axis[i].name;
    known[grid->n_axes] = NULL;
    return grid->n_axes;
}

static int read_labels(loader *in)
{
    config_setting_t *setting = config_setting_get_member(in->config.root, "labels");
    spec_experiment *e = in->experiment;
    const char *known[SPEC_AXES_MAX + 1];
    char near[SPEC_NAMES_MEANT_SIZE];
    axis_names(known, &e->grid);
    for (int i = 0; setting != NULL && i < spec_config_list_length(setting); i++) {
        const char *name = NULL;
        bool parameter;
        int status = spec_config_list_item(&name, &in->config, setting, i);
        if (status != GSL_SUCCESS) return status;
        spec_axis *axis = spec_grid_axis(&e->grid, name);
        spec_measure_default(e->measure, name, &parameter);
        if (axis == NULL)
            return FAIL(in, setting, "no axis is named '%.60s'%s", name, spec_names_meant(near, name, known, ""));
        if (parameter) return FAIL(in, setting, "'%.60s' is a parameter of %s, not a label", name, e->measure->name);
        axis->label = true;
    }
    return GSL_SUCCESS;
}

/* Where the file names an axis, to say which line is wrong; NULL where a command line did. */
static const config_setting_t *axis_setting(config_setting_t *grid, config_setting_t *points, const char *name)
{
    config_setting_t *setting = grid == NULL ? NULL : config_setting_get_member(grid, name);
    if (setting != NULL || points == NULL) return setting;
    return config_setting_get_member(config_setting_get_elem(points, 0), name);
}

static int check_axes(loader *in, config_setting_t *grid, config_setting_t *points)
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
            return FAIL(in, axis_setting(grid, points, name), "%s has no parameter '%.60s'%s", e->measure->name, name,
                        spec_names_meant(near, name, known, ""));
    }
    return GSL_SUCCESS;
}

static int read_show(loader *in)
{
    config_setting_t *setting = config_setting_get_member(in->config.root, "show");
    spec_experiment *e = in->experiment;
    const char *known[SPEC_AXES_MAX + 257];
    char near[SPEC_NAMES_MEANT_SIZE];
    if (setting == NULL) return GSL_SUCCESS;
    int n = spec_config_list_length(setting), n_known = axis_names(known, &e->grid);
    for (int i = 0; e->measure->columns[i] != NULL && i < 256; i++) known[n_known++] = e->measure->columns[i];
    known[n_known] = NULL;
    if (n == 0) return GSL_SUCCESS;
    if ((e->show = calloc((size_t)n, sizeof *e->show)) == NULL) return no_memory(in);
    for (int i = 0; i < n; i++) {
        const char *name = NULL;
        int status = spec_config_list_item(&name, &in->config, setting, i), hit = 0;
        if (status != GSL_SUCCESS) return status;
        while (known[hit] != NULL && strcmp(known[hit], name) != 0) hit++;
        if (known[hit] == NULL)
            return FAIL(in, setting, "show: no column '%.60s'%s", name, spec_names_meant(near, name, known, ""));
        for (int k = 0; k < i; k++)
            if (strcmp(e->show[k], name) == 0) return FAIL(in, setting, "show: column '%.60s' twice", name);
        if ((e->show[i] = strdup(name)) == NULL) return no_memory(in);
        e->n_show = i + 1;
    }
    return GSL_SUCCESS;
}

/* The points, the product of the grid, or every point with every value of the grid. */
static int read_axes(loader *in)
{
    config_setting_t *grid = config_setting_get_member(in->config.root, "grid");
    config_setting_t *points = config_setting_get_member(in->config.root, "points");
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
    SPEC_TRY(read_labels(in));
    if ((status = spec_grid_expand(all, &inner)) != GSL_SUCCESS) {
        spec_config_fail(&in->config, grid != NULL ? grid : points, status, "%s", inner.text);
        goto done;
    }
    SPEC_TRY(check_axes(in, grid, points));
    SPEC_TRY(read_show(in));
done:
    spec_grid_free(&product);
    return status;
}

static int check_overrides(loader *in)
{
    const char *known[SPEC_AXES_MAX + 16 + 1];
    int n = axis_names(known, &in->experiment->grid);
    char near[SPEC_NAMES_MEANT_SIZE];
    for (int i = 0; top_keys[i] != NULL; i++) known[n++] = top_keys[i];
    known[n] = NULL;
    for (int i = 0; in->config.set[i] != NULL; i++) {
        char name[64];
        if (in->config.used[i]) continue;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(in->config.set[i], "="), in->config.set[i]);
        return FAIL(in, NULL, "nothing here is named '%s', which %.60s would set%s", name, in->config.set[i],
                    spec_names_meant(near, name, known, ""));
    }
    return GSL_SUCCESS;
}

/* ---- the whole file ---------------------------------------------------------------------------------------------- */

/* The file as it is and what was set besides: two runs that may differ in their rows differ in this text. */
static char *provenance_text(const char *bytes, size_t n, const char *const *set)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL) return NULL;
    fwrite(bytes, 1, n, out);
    if (n > 0 && bytes[n - 1] != '\n') fputc('\n', out);
    for (int i = 0; set[i] != NULL; i++) fprintf(out, "# set %s\n", set[i]);
    if (fclose(out) == 0) return text;
    free(text);
    return NULL;
}

static char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash == NULL ? path : slash + 1;
    size_t n = strlen(name);
    return strndup(name, n > 4 && strcmp(name + n - 4, ".cfg") == 0 ? n - 4 : n);
}

int spec_experiment_parse(spec_experiment *experiment, const char *path, const char *bytes, size_t n,
                          const char *const *opt_set, spec_error *error)
{
    loader in = {.experiment = experiment};
    char *name = NULL, *text = NULL;
    int status = GSL_SUCCESS;
    *experiment = (spec_experiment){0};
    SPEC_TRY(spec_config_init(&in.config, path, bytes, n, opt_set, error));
    name = base_name(path);
    text = provenance_text(bytes, n, in.config.set);
    if (name == NULL || text == NULL) SPEC_TRY(no_memory(&in));
    SPEC_TRY(spec_experiment_init(experiment, name, text, NULL, error));
    SPEC_TRY(read_top(&in));
    SPEC_TRY(read_axes(&in));
    SPEC_TRY(check_overrides(&in));
done:
    spec_config_free(&in.config);
    free(name);
    free(text);
    if (status != GSL_SUCCESS) spec_experiment_free(experiment);
    return status;
}

int spec_experiment_load(spec_experiment *experiment, const char *path, const char *const *opt_set, spec_error *error)
{
    int status = GSL_SUCCESS;
    char *bytes = NULL;
    *experiment = (spec_experiment){0};
    FILE *file = fopen(path, "rb");
    if (file == NULL) return spec_fail(error, GSL_EFAILED, "%.100s: %s", path, strerror(errno));
    if ((bytes = malloc(SPEC_CONFIG_BYTES + 1)) == NULL) {
        status = spec_fail(error, GSL_ENOMEM, "%.100s: out of memory", path);
        goto done;
    }
    size_t n = fread(bytes, 1, SPEC_CONFIG_BYTES + 1, file);
    if (ferror(file)) {
        status = spec_fail(error, GSL_EFAILED, "%.100s: %s", path, strerror(errno));
        goto done;
    }
    SPEC_TRY(spec_experiment_parse(experiment, path, bytes, n, opt_set, error));
done:
    free(bytes);
    fclose(file);
    return status;
}
