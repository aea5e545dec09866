/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/figures/figure_script.h"

#include "base/input_file.h"
#include "base/names.h"
#include "cli/share.h"
#include "experiments/measures/measure.h"
#include "speclab/no_memory.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const spec_input_limit limit = {"a figure script", 1 << 16};

/* ---- the file -------------------------------------------------------------------------------- */

int spec_figure_script_text(char **ret_text, const char *name, spec_error *error)
{
    char relative[NAME_MAX + 16], path[PATH_MAX];
    *ret_text = NULL;
    snprintf(relative, sizeof relative, "plots/%.200s.gp", name);
    if (spec_share_find(path, sizeof path, relative) != 0)
        return spec_fail(error, GSL_EINVAL, "%s is missing from speclab's own files", relative);
    size_t n;
    return spec_input_file_read_text(ret_text, &n, path, &limit, error);
}

static int no_script(const char *name, spec_error *error)
{
    char near[SPEC_NAMES_MEANT_SIZE], folder[PATH_MAX];
    spec_word_list known = {0};
    if (spec_share_folder(folder, sizeof folder) != 0)
        return spec_fail(error, GSL_EINVAL,
                         "the figure scripts are not found: set SPECLAB_SHARE to the folder that "
                         "contains plots/");
    const int status = spec_figure_script_list(&known, error);
    if (status == GSL_SUCCESS)
        spec_fail(error, GSL_EINVAL, "there is no figure '%.60s'%s", name,
                  spec_names_meant(near, name, (const char *const *)known.word,
                                   "; 'speclab list figures' names them"));
    spec_word_list_free(&known);
    return status == GSL_SUCCESS ? GSL_EINVAL : status;
}

/* ---- the comments at the top ----------------------------------------------------------------- */

/* Returns the text after "# key: " in a line, or NULL. */
static const char *value_of(const char *line, const char *key)
{
    const size_t n = strlen(key);
    return strncmp(line, "# ", 2) == 0 && strncmp(line + 2, key, n) == 0 &&
                   strncmp(line + 2 + n, ": ", 2) == 0
               ? line + 2 + n + 2
               : NULL;
}

static int read_line(spec_figure_script *script, const char *line, spec_error *error)
{
    const struct {
        const char *key;
        char **text;
        spec_word_list *list;
    } keys[] = {
        {"title", &script->title, NULL},      {"from", &script->from, NULL},
        {"x", &script->axes.x, NULL},         {"facet", &script->axes.facet, NULL},
        {"y", NULL, &script->axes.y},         {"by", NULL, &script->axes.by},
        {"lines", NULL, &script->axes.lines}, {"labels", NULL, &script->axes.labels},
        {"needs", NULL, &script->needs},      {"names", NULL, &script->names},
        {"may use", NULL, &script->may_use},  {"said", NULL, &script->said},
        {"row", NULL, &script->row},          {"may name", NULL, &script->may_name},
    };
    const char *value = value_of(line, "log");
    if (value != NULL) return spec_figure_axes_log(&script->axes, value, error);
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if ((value = value_of(line, keys[i].key)) == NULL) continue;
        const bool phrases = keys[i].list == &script->said || keys[i].list == &script->axes.labels;
        if (keys[i].list != NULL) {
            const int status = spec_word_list_split(keys[i].list, value, phrases ? "," : " ");
            return status == GSL_SUCCESS ? status : spec_no_memory(error);
        }
        free(*keys[i].text);
        return (*keys[i].text = strdup(value)) == NULL ? spec_no_memory(error) : GSL_SUCCESS;
    }
    if (script->summary != NULL || strncmp(line, "# ", 2) != 0) return GSL_SUCCESS;
    return (script->summary = strdup(line + 2)) == NULL ? spec_no_memory(error) : GSL_SUCCESS;
}

static int read_top(spec_figure_script *script, spec_error *error)
{
    int status = GSL_SUCCESS;
    for (const char *at = script->text; *at == '#' && status == GSL_SUCCESS;) {
        const size_t n = strcspn(at, "\n");
        char *line = strndup(at, n);
        status = line == NULL ? spec_no_memory(error) : read_line(script, line, error);
        free(line);
        at += n + (at[n] == '\n');
    }
    return status;
}

int spec_figure_script_load(spec_figure_script *script, const char *name, spec_error *error)
{
    int status = GSL_SUCCESS;
    char relative[NAME_MAX + 16], path[PATH_MAX];
    *script = (spec_figure_script){0};
    snprintf(relative, sizeof relative, "plots/%.200s.gp", name);
    if (strchr(name, '/') != NULL || spec_share_find(path, sizeof path, relative) != 0)
        return no_script(name, error);
    if ((script->name = strdup(name)) == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(spec_figure_script_text(&script->text, name, error));
    SPEC_TRY(read_top(script, error));
    if (script->needs.n == 0 && script->axes.x == NULL)
        status = no_script(name, error); /* a file such as style.gp */
done:
    if (status != GSL_SUCCESS) spec_figure_script_free(script);
    return status;
}

void spec_figure_script_free(spec_figure_script *script)
{
    free(script->name);
    free(script->summary);
    free(script->title);
    free(script->from);
    free(script->text);
    spec_word_list_free(&script->needs);
    spec_word_list_free(&script->names);
    spec_word_list_free(&script->may_use);
    spec_word_list_free(&script->said);
    spec_word_list_free(&script->row);
    spec_word_list_free(&script->may_name);
    spec_figure_axes_free(&script->axes);
    *script = (spec_figure_script){0};
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int is_script(const struct dirent *entry)
{
    static const char *const others[] = {"style.gp", "series.gp", "heat.gp"};
    const size_t length = strlen(entry->d_name);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(entry->d_name, others[i]) == 0) return 0;
    return length > 3 && strcmp(entry->d_name + length - 3, ".gp") == 0;
}

int spec_figure_script_list(spec_word_list *ret_names, spec_error *error)
{
    char share[PATH_MAX], folder[PATH_MAX + 16];
    struct dirent **entry = NULL;
    int status = GSL_SUCCESS;
    *ret_names = (spec_word_list){0};
    if (spec_share_folder(share, sizeof share) != 0) return GSL_SUCCESS;
    snprintf(folder, sizeof folder, "%s/plots", share);
    const int n = scandir(folder, &entry, is_script, alphasort);
    if (n < 0 && errno == ENOMEM) return spec_no_memory(error);
    for (int i = 0; i < n; i++) {
        entry[i]->d_name[strlen(entry[i]->d_name) - 3] = '\0';
        if (status == GSL_SUCCESS) status = spec_word_list_add(ret_names, entry[i]->d_name);
        free(entry[i]);
    }
    free(entry);
    if (status == GSL_SUCCESS) return status;
    spec_word_list_free(ret_names);
    return spec_no_memory(error);
}

/* ---- columns --------------------------------------------------------------------------------- */

static int add_all(spec_word_list *into, const spec_word_list *list)
{
    int status = GSL_SUCCESS;
    for (int i = 0; i < list->n && status == GSL_SUCCESS; i++)
        status = spec_word_list_add(into, list->word[i]);
    return status;
}

int spec_figure_script_columns(spec_word_list *ret_columns, const spec_figure_script *script)
{
    const spec_figure_axes *axes = &script->axes;
    int status = GSL_SUCCESS;
    *ret_columns = (spec_word_list){0};
    SPEC_TRY(add_all(ret_columns, &script->names));
    SPEC_TRY(add_all(ret_columns, &script->needs));
    if (axes->x != NULL) SPEC_TRY(spec_word_list_add(ret_columns, axes->x));
    SPEC_TRY(add_all(ret_columns, &axes->y));
    SPEC_TRY(add_all(ret_columns, &axes->by));
    if (axes->facet != NULL) SPEC_TRY(spec_word_list_add(ret_columns, axes->facet));
done:
    if (status != GSL_SUCCESS) spec_word_list_free(ret_columns);
    return status;
}

const char *spec_figure_script_has_it(char *buffer, size_t size, const spec_figure_script *script,
                                      const char *column)
{
    const char *from = script->from;
    size_t used = 0;
    buffer[0] = '\0';
    if (from != NULL) {
        snprintf(buffer, size, "; '%s' writes it", from);
        return buffer;
    }
    for (int i = 0; spec_measures[i] != NULL; i++) {
        bool known;
        spec_measure_default(spec_measures[i], column, &known);
        if (!known && !spec_measure_tells(spec_measures[i], column)) continue;
        const char *before = used == 0 ? "; measures with it: " : ", ";
        if (used + strlen(before) + strlen(spec_measures[i]->name) >= size) break;
        used +=
            (size_t)snprintf(buffer + used, size - used, "%s%s", before, spec_measures[i]->name);
    }
    return buffer;
}

int spec_figure_axes_log(spec_figure_axes *axes, const char *text, spec_error *error)
{
    axes->log_x = strcmp(text, "x") == 0 || strcmp(text, "xy") == 0;
    axes->log_y = strcmp(text, "y") == 0 || strcmp(text, "xy") == 0;
    if (axes->log_x || axes->log_y) return GSL_SUCCESS;
    return spec_fail(error, GSL_EINVAL, "--log: '%.60s' is not x, y or xy", text);
}

int spec_figure_axes_kind(spec_figure_axes *axes, const char *text, spec_error *error)
{
    static const char *const names[] = {"lines", "scatter", "bars"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        axes->kind = (spec_figure_kind)i;
        return GSL_SUCCESS;
    }
    return spec_fail(error, GSL_EINVAL, "--kind: '%.60s' is not lines, scatter or bars", text);
}

void spec_figure_axes_free(spec_figure_axes *axes)
{
    free(axes->x_title);
    free(axes->y_title);
    spec_word_list_free(&axes->error);
    free(axes->x);
    free(axes->facet);
    free(axes->heat);
    spec_word_list_free(&axes->y);
    spec_word_list_free(&axes->by);
    spec_word_list_free(&axes->lines);
    spec_word_list_free(&axes->labels);
    *axes = (spec_figure_axes){0};
}
