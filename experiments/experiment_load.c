#include "experiments/experiment.h"

#include "models/settings.h"

#include <assert.h>
#include <errno.h>
#include <libconfig.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 8, SET_MAX = 64 };

static const char *const top_keys[] = {"title",  "question",       "theory", "finding", "time", "figure",   "measure", "grid",
                                       "points", "standard_error", "labels", "rounds",  "seed", "defaults", "show",    NULL};

typedef struct {
    spec_experiment *experiment;
    const char *path;
    const char *const *set; /* overrides, NULL-terminated; never NULL */
    bool used[SET_MAX];
    config_setting_t *root, *defaults;
    spec_error *error;
} loader;

#define FAIL(in, setting, ...) fail_at(in, setting, GSL_EINVAL, __VA_ARGS__)

/* "file:line: what", or "file: what" where there is no setting to blame. */
__attribute__((format(printf, 4, 5))) static int fail_at(loader *in, const config_setting_t *opt_setting, int status,
                                                         const char *format, ...)
{
    char what[400];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (opt_setting == NULL) return spec_fail(in->error, status, "%.100s: %s", in->path, what);
    return spec_fail(in->error, status, "%.100s:%d: %s", in->path, (int)config_setting_source_line(opt_setting), what);
}

static int no_memory(loader *in)
{
    return fail_at(in, NULL, GSL_ENOMEM, "out of memory");
}

/* "; did you mean 'x'?", or "". */
static const char *meant(char buffer[100], const char *name, const char *const *known)
{
    const char *near = spec_settings_nearest(name, known);
    buffer[0] = '\0';
    if (near != NULL) snprintf(buffer, 100, "; did you mean '%.60s'?", near);
    return buffer;
}

/* ---- before the parser sees it ------------------------------------------------------------------------------------------------------ */

/* libconfig reads what it is given, includes other files and recurses: what is not a small text of shallow nesting is refused before. */
static int check_bytes(const char *path, const char *bytes, size_t n, spec_error *error)
{
    enum { CODE, STRING, LINE_COMMENT, COMMENT } state = CODE;
    int line = 1, depth = 0;
    if (n == 0) return spec_fail(error, GSL_EINVAL, "%.100s: the file is empty", path);
    if (n > SPEC_EXPERIMENT_BYTES)
        return spec_fail(error, GSL_EINVAL, "%.100s: larger than %d kB: not an experiment", path,
                         SPEC_EXPERIMENT_BYTES / 1024);
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)bytes[i];
        char next = i + 1 < n ? bytes[i + 1] : '\0';
        if ((c < ' ' && c != '\n' && c != '\t' && c != '\r') || c == 127)
            return spec_fail(error, GSL_EINVAL, "%.100s:%d: a control character (%d): not an experiment", path, line, c);
        if (c == '@' && n - i >= 8 && strncmp(&bytes[i], "@include", 8) == 0)
            return spec_fail(error, GSL_EINVAL, "%.100s:%d: @include is not allowed in an experiment", path, line);
        if (c == '\n') line++;
        if (state == STRING) {
            if (c == '\\') i++;
            else if (c == '"') state = CODE;
        } else if (state == LINE_COMMENT) {
            if (c == '\n') state = CODE;
        } else if (state == COMMENT) {
            if (c == '*' && next == '/') state = CODE;
        } else if (c == '"') {
            state = STRING;
        } else if (c == '#' || (c == '/' && next == '/')) {
            state = LINE_COMMENT;
        } else if (c == '/' && next == '*') {
            state = COMMENT;
            i++;
        } else if (strchr("({[", c) != NULL && ++depth > DEPTH_MAX) {
            return spec_fail(error, GSL_EINVAL, "%.100s:%d: nested more than %d deep", path, line, DEPTH_MAX);
        } else if (strchr(")}]", c) != NULL) {
            depth--;
        }
    }
    return GSL_SUCCESS;
}

/* ---- overrides and ${NAME} ------------------------------------------------------------------------------------------------------- */

/* The value of the override "key=value", or NULL; marks it used. */
static const char *override(loader *in, const char *key)
{
    size_t n = strlen(key);
    for (int i = 0; in->set[i] != NULL; i++) {
        if (strncmp(in->set[i], key, n) != 0 || in->set[i][n] != '=') continue;
        in->used[i] = true;
        return in->set[i] + n + 1;
    }
    return NULL;
}

static bool is_scalar(const config_setting_t *setting)
{
    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64:
    case CONFIG_TYPE_FLOAT:
    case CONFIG_TYPE_BOOL:
    case CONFIG_TYPE_STRING: return true;
    default: return false;
    }
}

/* The text of a scalar, as it stands. A number prints so that it reads back the same. */
static int raw_text(char **ret_text, loader *in, const config_setting_t *setting)
{
    char buffer[SPEC_NUMBER_SIZE];
    const char *text = buffer;
    *ret_text = NULL;
    switch (config_setting_type(setting)) {
    case CONFIG_TYPE_INT:
    case CONFIG_TYPE_INT64: snprintf(buffer, sizeof buffer, "%lld", config_setting_get_int64(setting)); break;
    case CONFIG_TYPE_FLOAT:
        if (!isfinite(config_setting_get_float(setting))) return FAIL(in, setting, "a number that is not finite");
        spec_grid_number(config_setting_get_float(setting), buffer);
        break;
    case CONFIG_TYPE_BOOL: text = config_setting_get_bool(setting) ? "true" : "false"; break;
    case CONFIG_TYPE_STRING: text = config_setting_get_string(setting); break;
    default: return FAIL(in, setting, "a number or a string is expected here");
    }
    return (*ret_text = strdup(text)) == NULL ? no_memory(in) : GSL_SUCCESS;
}

/* Write what ${name} stands for. */
static int write_named(FILE *out, loader *in, const config_setting_t *setting, const char *name)
{
    const char *value = override(in, name);
    config_setting_t *given = in->defaults == NULL ? NULL : config_setting_get_member(in->defaults, name);
    char *text = NULL;
    if (value == NULL && given == NULL)
        return FAIL(in, setting, "${%.60s} has no value: give one in defaults, or %.60s=... on the command line", name, name);
    if (value == NULL) {
        int status = raw_text(&text, in, given);
        if (status != GSL_SUCCESS) return status;
    }
    fputs(value != NULL ? value : text, out);
    free(text);
    return GSL_SUCCESS;
}

/* The text of a scalar with every ${NAME} replaced, once: what a value brings in is not searched again. */
static int get_text(char **ret_text, loader *in, const config_setting_t *setting)
{
    char *raw, name[64];
    size_t size = 0;
    int status = raw_text(&raw, in, setting);
    *ret_text = NULL;
    if (status != GSL_SUCCESS) return status;
    FILE *out = open_memstream(ret_text, &size);
    if (out == NULL) {
        free(raw);
        return no_memory(in);
    }
    for (const char *at = raw; *at != '\0' && status == GSL_SUCCESS;) {
        if (at[0] != '$' || at[1] != '{') {
            fputc(*at++, out);
            continue;
        }
        size_t n = strcspn(at + 2, "}");
        if (at[2 + n] == '\0' || n == 0 || n >= sizeof name) {
            status = FAIL(in, setting, "'%.20s' is not ${NAME}", at);
            break;
        }
        snprintf(name, sizeof name, "%.*s", (int)n, at + 2);
        status = write_named(out, in, setting, name);
        at += n + 3;
    }
    if (fclose(out) != 0 && status == GSL_SUCCESS) status = no_memory(in);
    free(raw);
    if (status == GSL_SUCCESS) return status;
    free(*ret_text);
    *ret_text = NULL;
    return status;
}

/* ---- top level ------------------------------------------------------------------------------------------------------------------- */

static int read_string(char **text, loader *in, const char *key)
{
    const char *value = override(in, key);
    config_setting_t *setting = config_setting_get_member(in->root, key);
    char *read = NULL;
    if (value == NULL && setting == NULL) return GSL_SUCCESS;
    if (value == NULL && config_setting_type(setting) != CONFIG_TYPE_STRING)
        return FAIL(in, setting, "%s is not a string", key);
    int status = GSL_SUCCESS;
    if (value == NULL) status = get_text(&read, in, setting);
    else if ((read = strdup(value)) == NULL) status = no_memory(in);
    if (status != GSL_SUCCESS) return status;
    free(*text);
    *text = read;
    return GSL_SUCCESS;
}

/* A number within [0, high], from an override or the file; *ret stays where neither gives it. */
static int read_number(double *ret, loader *in, const char *key, double high, bool whole)
{
    config_setting_t *setting = config_setting_get_member(in->root, key);
    const char *given = override(in, key);
    char *text = NULL;
    double value;
    if (given == NULL && setting == NULL) return GSL_SUCCESS;
    if (given == NULL) {
        int status = get_text(&text, in, setting);
        if (status != GSL_SUCCESS) return status;
    } else {
        setting = NULL;
    }
    const char *read = given != NULL ? given : text;
    int status = GSL_SUCCESS;
    if (!spec_settings_parse_double(&value, read)) {
        status = FAIL(in, setting, "%s: '%.60s' is not a number", key, read);
    } else if (!(value >= 0.0 && value <= high) || (whole && value != floor(value))) {
        status = FAIL(in, setting, "%s = %.60s is not %s within [0, %g]", key, read, whole ? "a whole number" : "a number",
                      high);
    } else {
        *ret = value;
    }
    free(text);
    return status;
}

static int read_seed(loader *in)
{
    config_setting_t *setting = config_setting_get_member(in->root, "seed");
    const char *given = override(in, "seed");
    char *text = NULL;
    int status = GSL_SUCCESS;
    if (given == NULL && setting == NULL) return GSL_SUCCESS;
    if (given == NULL && (status = get_text(&text, in, setting)) != GSL_SUCCESS) return status;
    if (!spec_settings_parse_u64(&in->experiment->seed, given != NULL ? given : text))
        status = FAIL(in, given != NULL ? NULL : setting, "seed: '%.60s' is not a whole number from 0 to 2^64 - 1",
                      given != NULL ? given : text);
    free(text);
    return status;
}

static int read_top(loader *in)
{
    spec_experiment *e = in->experiment;
    char near[100];
    double rounds = 0.0;
    int status = GSL_SUCCESS;
    for (int i = 0; i < config_setting_length(in->root); i++) {
        config_setting_t *setting = config_setting_get_elem(in->root, (unsigned)i);
        bool known = false;
        for (int k = 0; top_keys[k] != NULL; k++) known = known || strcmp(top_keys[k], config_setting_name(setting)) == 0;
        if (!known)
            return FAIL(in, setting, "unknown key '%.60s'%s", config_setting_name(setting),
                        meant(near, config_setting_name(setting), top_keys));
    }
    in->defaults = config_setting_get_member(in->root, "defaults");
    if (in->defaults != NULL && !config_setting_is_group(in->defaults))
        return FAIL(in, in->defaults, "defaults is not a group { NAME = \"value\"; }");
    SPEC_TRY(read_string(&e->title, in, "title"));
    SPEC_TRY(read_string(&e->question, in, "question"));
    SPEC_TRY(read_string(&e->theory, in, "theory"));
    SPEC_TRY(read_string(&e->finding, in, "finding"));
    SPEC_TRY(read_string(&e->time, in, "time"));
    SPEC_TRY(read_string(&e->figure, in, "figure"));
    SPEC_TRY(read_number(&rounds, in, "rounds", 1e15, true));
    SPEC_TRY(read_number(&e->standard_error, in, "standard_error", 1e6, false));
    SPEC_TRY(read_seed(in));
    e->rounds = (uint64_t)rounds;
    if (e->rounds == 0 && !(e->standard_error > 0.0)) e->rounds = SPEC_EXPERIMENT_ROUNDS;

    config_setting_t *measure = config_setting_get_member(in->root, "measure");
    if (measure == NULL) return FAIL(in, NULL, "no measure is given, e.g. measure = \"acceptance\";");
    if (config_setting_type(measure) != CONFIG_TYPE_STRING) return FAIL(in, measure, "measure is not a string");
    spec_error inner;
    if (spec_measure_find(&e->measure, config_setting_get_string(measure), &inner) != GSL_SUCCESS)
        return FAIL(in, measure, "%s", inner.text);
done:
    return status;
}

/* ---- grid and points ------------------------------------------------------------------------------------------------------------- */

static int add_axis(loader *in, const config_setting_t *setting, const char *name, char **value, int n)
{
    int status = spec_grid_add(&in->experiment->grid, name, (const char *const *)value, n, false);
    if (status == GSL_ENOMEM) return no_memory(in);
    return status == GSL_SUCCESS ? status : FAIL(in, setting, "over %d axes", SPEC_AXES_MAX);
}

/* A text that can only be meant as a list of numbers is one; any other is one value. */
static int add_axis_text(loader *in, const config_setting_t *opt_setting, const char *name, char *text)
{
    bool numbers = strpbrk(text, "0123456789") != NULL && strspn(text, "0123456789+-.eE,: \t\n") == strlen(text);
    spec_error inner;
    if (!numbers) return add_axis(in, opt_setting, name, &text, 1);
    int status = spec_grid_add_numbers(&in->experiment->grid, name, text, &inner);
    return status == GSL_SUCCESS ? status : fail_at(in, opt_setting, status, "%s", inner.text);
}

static void free_texts(char **text, int n)
{
    for (int i = 0; text != NULL && i < n; i++) free(text[i]);
    free(text);
}

static int read_axis(loader *in, const config_setting_t *setting)
{
    const char *name = config_setting_name(setting);
    int n = config_setting_length(setting), status = GSL_SUCCESS;
    char *one = NULL;
    if (is_scalar(setting)) {
        if ((status = get_text(&one, in, setting)) == GSL_SUCCESS)
            status = config_setting_type(setting) == CONFIG_TYPE_STRING ? add_axis_text(in, setting, name, one)
                                                                        : add_axis(in, setting, name, &one, 1);
        free(one);
        return status;
    }
    if (config_setting_is_group(setting)) return FAIL(in, setting, "%.60s is not a value or a list of values", name);
    if (n == 0) return FAIL(in, setting, "%.60s: the list is empty", name);
    char **value = calloc((size_t)n, sizeof *value);
    if (value == NULL) return no_memory(in);
    for (int i = 0; i < n; i++) SPEC_TRY(get_text(&value[i], in, config_setting_get_elem(setting, (unsigned)i)));
    status = add_axis(in, setting, name, value, n);
done:
    free_texts(value, n);
    return status;
}

static int read_grid(loader *in, const config_setting_t *grid)
{
    if (!config_setting_is_group(grid)) return FAIL(in, grid, "grid is not a group { alpha = \"0.5:0.9:0.1\"; ... }");
    for (int i = 0; i < config_setting_length(grid); i++) {
        config_setting_t *setting = config_setting_get_elem(grid, (unsigned)i);
        const char *given = override(in, config_setting_name(setting));
        char *text = given == NULL ? NULL : strdup(given);
        if (given != NULL && text == NULL) return no_memory(in);
        int status = given == NULL ? read_axis(in, setting) : add_axis_text(in, NULL, config_setting_name(setting), text);
        free(text);
        if (status != GSL_SUCCESS) return status;
    }
    return GSL_SUCCESS;
}

/* One key of the points: the value of every row, or the override's for all of them. */
static int read_column(loader *in, config_setting_t *points, const char *name)
{
    int n = config_setting_length(points), status = GSL_SUCCESS;
    const char *given = override(in, name);
    char **value = calloc((size_t)n, sizeof *value);
    if (value == NULL) return no_memory(in);
    for (int i = 0; i < n; i++) {
        config_setting_t *row = config_setting_get_elem(points, (unsigned)i), *setting = NULL;
        if (config_setting_is_group(row)) setting = config_setting_get_member(row, name);
        if (setting == NULL) {
            status = FAIL(in, row, "this point has no '%.60s', and the first one has", name);
            goto done;
        }
        if (given == NULL) SPEC_TRY(get_text(&value[i], in, setting));
        else if ((value[i] = strdup(given)) == NULL) SPEC_TRY(no_memory(in));
    }
    status = add_axis(in, points, name, value, n);
done:
    free_texts(value, n);
    return status;
}

static int read_points(loader *in, config_setting_t *points)
{
    int n = config_setting_length(points);
    if (!config_setting_is_list(points) || n == 0)
        return FAIL(in, points, "points is not a list of groups ( { alpha = 0.8; K = 5; }, ... )");
    config_setting_t *first = config_setting_get_elem(points, 0);
    if (!config_setting_is_group(first) || config_setting_length(first) == 0)
        return FAIL(in, points, "a point is not a group { alpha = 0.8; K = 5; }");
    in->experiment->grid.zipped = true;
    for (int k = 0; k < config_setting_length(first); k++) {
        int status = read_column(in, points, config_setting_name(config_setting_get_elem(first, (unsigned)k)));
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
    for (int i = 0; in->set[i] != NULL; i++) {
        char name[64];
        bool known;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(in->set[i], "="), in->set[i]);
        spec_measure_default(in->experiment->measure, name, &known);
        if (in->used[i] || !known) continue;
        in->used[i] = true;
        char *text = strdup(strchr(in->set[i], '=') + 1);
        if (text == NULL) return no_memory(in);
        int status = GSL_SUCCESS;
        if (!grid->zipped) {
            status = add_axis_text(in, NULL, name, text);
        } else {
            int n = (int)spec_grid_size(grid);
            char **value = calloc((size_t)n, sizeof *value);
            for (int k = 0; value != NULL && k < n; k++) value[k] = text;
            status = value == NULL ? no_memory(in) : add_axis(in, NULL, name, value, n);
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

/* A list of strings, or one string. */
static int list_item(const char **ret_text, loader *in, const config_setting_t *setting, int i)
{
    const config_setting_t *item = setting;
    if (config_setting_is_array(setting) || config_setting_is_list(setting))
        item = config_setting_get_elem(setting, (unsigned)i);
    if (item == NULL || config_setting_type(item) != CONFIG_TYPE_STRING)
        return FAIL(in, setting, "%s is not a list of strings", config_setting_name(setting));
    *ret_text = config_setting_get_string(item);
    return GSL_SUCCESS;
}

static int list_length(const config_setting_t *setting)
{
    return config_setting_is_array(setting) || config_setting_is_list(setting) ? config_setting_length(setting) : 1;
}

static int read_labels(loader *in)
{
    config_setting_t *setting = config_setting_get_member(in->root, "labels");
    spec_experiment *e = in->experiment;
    const char *known[SPEC_AXES_MAX + 1];
    char near[100];
    axis_names(known, &e->grid);
    for (int i = 0; setting != NULL && i < list_length(setting); i++) {
        const char *name = NULL;
        bool parameter;
        int status = list_item(&name, in, setting, i);
        if (status != GSL_SUCCESS) return status;
        spec_axis *axis = spec_grid_axis(&e->grid, name);
        spec_measure_default(e->measure, name, &parameter);
        if (axis == NULL) return FAIL(in, setting, "no axis is named '%.60s'%s", name, meant(near, name, known));
        if (parameter) return FAIL(in, setting, "'%.60s' is a parameter of %s, not a label", name, e->measure->name);
        axis->label = true;
    }
    return GSL_SUCCESS;
}

static int check_axes(loader *in, const config_setting_t *where)
{
    const spec_experiment *e = in->experiment;
    char names[64][64];
    const char *known[65] = {NULL};
    char near[100];
    for (int i = 0; i < 64 && e->measure->parameters[i] != NULL; i++) {
        const char *parameter = e->measure->parameters[i];
        snprintf(names[i], sizeof names[i], "%.*s", (int)strcspn(parameter, "="), parameter);
        known[i] = names[i];
    }
    for (int i = 0; i < e->grid.n_axes; i++) {
        const spec_axis *axis = &e->grid.axis[i];
        const config_setting_t *group = e->grid.zipped && config_setting_is_list(where)
                                            ? config_setting_get_elem(where, 0) : where;
        const config_setting_t *line = config_setting_get_member((config_setting_t *)(uintptr_t)group, axis->name);
        bool parameter;
        spec_measure_default(e->measure, axis->name, &parameter);
        if (!axis->label && !parameter)
            return FAIL(in, line, "%s has no parameter '%.60s'%s", e->measure->name, axis->name,
                        meant(near, axis->name, known));
    }
    return GSL_SUCCESS;
}

static int read_show(loader *in)
{
    config_setting_t *setting = config_setting_get_member(in->root, "show");
    spec_experiment *e = in->experiment;
    const char *known[SPEC_AXES_MAX + 257];
    char near[100];
    if (setting == NULL) return GSL_SUCCESS;
    int n = list_length(setting), n_known = axis_names(known, &e->grid);
    for (int i = 0; e->measure->columns[i] != NULL && i < 256; i++) known[n_known++] = e->measure->columns[i];
    known[n_known] = NULL;
    if (n == 0) return GSL_SUCCESS;
    if ((e->show = calloc((size_t)n, sizeof *e->show)) == NULL) return no_memory(in);
    for (int i = 0; i < n; i++) {
        const char *name = NULL;
        int status = list_item(&name, in, setting, i), hit = 0;
        if (status != GSL_SUCCESS) return status;
        while (known[hit] != NULL && strcmp(known[hit], name) != 0) hit++;
        if (known[hit] == NULL) return FAIL(in, setting, "show: no column '%.60s'%s", name, meant(near, name, known));
        for (int k = 0; k < i; k++)
            if (strcmp(e->show[k], name) == 0) return FAIL(in, setting, "show: column '%.60s' twice", name);
        if ((e->show[i] = strdup(name)) == NULL) return no_memory(in);
        e->n_show = i + 1;
    }
    return GSL_SUCCESS;
}

static int read_axes(loader *in)
{
    config_setting_t *grid = config_setting_get_member(in->root, "grid");
    config_setting_t *points = config_setting_get_member(in->root, "points");
    spec_error inner;
    int status = GSL_SUCCESS;
    if (grid != NULL && points != NULL) return FAIL(in, points, "both grid and points are given");
    if (grid == NULL && points == NULL) return FAIL(in, NULL, "neither grid nor points is given");
    SPEC_TRY(grid != NULL ? read_grid(in, grid) : read_points(in, points));
    SPEC_TRY(add_new_axes(in));
    SPEC_TRY(read_labels(in));
    if ((status = spec_grid_expand(&in->experiment->grid, &inner)) != GSL_SUCCESS)
        return fail_at(in, grid != NULL ? grid : points, status, "%s", inner.text);
    SPEC_TRY(check_axes(in, grid != NULL ? grid : points));
    SPEC_TRY(read_show(in));
done:
    return status;
}

static int check_overrides(loader *in)
{
    const char *known[SPEC_AXES_MAX + 16 + 1];
    int n = axis_names(known, &in->experiment->grid);
    char near[100];
    for (int i = 0; top_keys[i] != NULL; i++) known[n++] = top_keys[i];
    known[n] = NULL;
    for (int i = 0; in->set[i] != NULL; i++) {
        char name[64];
        if (in->used[i]) continue;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(in->set[i], "="), in->set[i]);
        return FAIL(in, NULL, "nothing here is named '%s', which %.60s would set%s", name, in->set[i],
                    meant(near, name, known));
    }
    return GSL_SUCCESS;
}

/* ---- the whole file -------------------------------------------------------------------------------------------------------------- */

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
    static const char *const nothing[] = {NULL};
    loader in = {.experiment = experiment, .path = path, .set = opt_set == NULL ? nothing : opt_set, .error = error};
    char *name = NULL, *text = NULL, *copy = NULL;
    config_t config;
    int status = GSL_SUCCESS;
    *experiment = (spec_experiment){0};
    config_init(&config);
    SPEC_TRY(check_bytes(path, bytes, n, error));
    for (int i = 0; in.set[i] != NULL; i++) {
        const char *equals = strchr(in.set[i], '=');
        if (i == SET_MAX) SPEC_TRY(FAIL(&in, NULL, "over %d settings on the command line", SET_MAX));
        if (equals == NULL || equals == in.set[i] || strpbrk(in.set[i], "\r\n") != NULL)
            SPEC_TRY(FAIL(&in, NULL, "'%.60s' is not key=value", in.set[i]));
    }
    name = base_name(path);
    text = provenance_text(bytes, n, in.set);
    copy = strndup(bytes, n);
    if (name == NULL || text == NULL || copy == NULL) SPEC_TRY(no_memory(&in));
    SPEC_TRY(spec_experiment_init(experiment, name, text, NULL, error));
    if (config_read_string(&config, copy) != CONFIG_TRUE) {
        const char *what = config_error_text(&config);
        const bool mixed = strstr(what, "mismatched element type") != NULL;
        status = spec_fail(error, GSL_EINVAL, "%.100s:%d: %s%s", path, config_error_line(&config), what,
                           mixed ? "; whole and other numbers mix in a list (0.5, 1) or a string \"0.5,1\"" : "");
        goto done;
    }
    in.root = config_root_setting(&config);
    SPEC_TRY(read_top(&in));
    SPEC_TRY(read_axes(&in));
    SPEC_TRY(check_overrides(&in));
done:
    config_destroy(&config);
    free(name);
    free(text);
    free(copy);
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
    if ((bytes = malloc(SPEC_EXPERIMENT_BYTES + 1)) == NULL) {
        status = spec_fail(error, GSL_ENOMEM, "%.100s: out of memory", path);
        goto done;
    }
    size_t n = fread(bytes, 1, SPEC_EXPERIMENT_BYTES + 1, file);
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
