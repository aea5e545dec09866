/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/naming.h"

#include "base/escape.h"
#include "base/memory_text.h"
#include "base/names.h"
#include "base/settings.h"
#include "experiments/number_list.h"
#include "models/transform.h"
#include "sim/draft/drafter.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- one value ------------------------------------------------------------------------------- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* Returns whether this is a file of weights or rows, whose name shows its kind. */
static bool is_model_file(const char *kind)
{
    return strcmp(kind, "gguf") == 0 || strcmp(kind, "llama2c") == 0 || strcmp(kind, "rows") == 0;
}

static void write_model(FILE *out, const spec_settings *model)
{
    const char *order = spec_settings_text(model, "order"),
               *tokens = spec_settings_text(model, "tokens");
    if (strcmp(model->name, "ngram") == 0) {
        const bool bytes = tokens == NULL || strcmp(tokens, "bytes") == 0;
        fprintf(out, "%s-grams of %s%s%s", order != NULL ? order : "4", bytes ? "" : tokens,
                bytes ? "" : " of ", base_name(model->path));
        return;
    }
    if (model->path[0] == '\0') fputs(base_name(model->name), out);
    else if (!is_model_file(model->name)) fprintf(out, "%s:", model->name);
    fputs(base_name(model->path), out);
    const char *separator = "?";
    for (int i = 0; i < model->n; i++) {
        if (spec_transform_is_key(model->key[i])) continue;
        fprintf(out, "%s%s=%s", separator, model->key[i], model->value[i]);
        separator = "&";
    }
}

char *spec_naming_short(const char *value)
{
    spec_memory_text text;
    spec_settings model = {0};
    const char *spec = spec_drafter_model_of(value);
    const bool has_settings = strpbrk(spec, ":?") != NULL;
    const int status = has_settings ? spec_settings_init(&model, spec, NULL) : GSL_SUCCESS;
    if (status == GSL_ENOMEM || !spec_memory_text_open(&text)) {
        spec_settings_free(&model);
        return NULL;
    }
    FILE *out = text.out;
    fprintf(out, "%.*s", (int)(spec - value), value);
    if (!has_settings) {
        fputs(base_name(spec), out);
    } else if (status == GSL_SUCCESS) {
        if (spec > value && strcmp(model.name, "ngram") == 0) fputc(' ', out); /* words follow */
        write_model(out, &model);
    } else {
        fputs(spec, out);
    }
    spec_settings_free(&model);
    return spec_memory_text_take(&text, NULL);
}

/* ---- all values of an axis ------------------------------------------------------------------- */

typedef struct {
    const char *text;
    int at;
} occurrence;

static int by_text(const void *a, const void *b)
{
    const occurrence *one = a, *other = b;
    const int order = strcmp(one->text, other->text);
    return order != 0 ? order : one->at - other->at;
}

static int by_place(const void *a, const void *b)
{
    return ((const occurrence *)a)->at - ((const occurrence *)b)->at;
}

/* Lists the distinct non-empty values in order of first appearance. Returns their number, or -1 if
 * out of memory. */
static int distinct(occurrence **ret_values, char *const *values, int n_values)
{
    int n = 0;
    occurrence *all = calloc((size_t)n_values + 1, sizeof *all);
    *ret_values = all;
    if (all == NULL) return -1;
    for (int i = 0; i < n_values; i++)
        if (values[i][0] != '\0') all[n++] = (occurrence){.text = values[i], .at = i};
    qsort(all, (size_t)n, sizeof *all, by_text);
    n_values = n;
    n = 0;
    for (int i = 0; i < n_values; i++)
        if (n == 0 || strcmp(all[n - 1].text, all[i].text) != 0) all[n++] = all[i];
    qsort(all, (size_t)n, sizeof *all, by_place);
    return n;
}

typedef struct {
    char *first[SPEC_NAMING_LIST_MAX]; /* the first names */
    int n;                             /* distinct names; beyond `listed`, distinct values */
    int listed;
    bool as_typed, markdown;
    bool numbers;
    double low, high;
} names;

/* Returns the name of a value: a number, its short name, or in Markdown as it was typed. */
static char *name_of(const char *value, bool as_typed, bool markdown)
{
    char *name = as_typed ? strdup(value) : spec_naming_short(value);
    spec_memory_text text = {.out = NULL};
    if (!markdown || name == NULL) return name;
    if (spec_memory_text_open(&text))
        (as_typed ? spec_escape_code : spec_escape_markdown)(text.out, name);
    free(name);
    return spec_memory_text_take(&text, NULL);
}

static int gather(names *seen, char *const *all, int n_all)
{
    occurrence *values;
    const int n = distinct(&values, all, n_all);
    int status = n >= 0 ? GSL_SUCCESS : GSL_ENOMEM;
    seen->numbers = true;
    for (int i = 0; i < n && status == GSL_SUCCESS; i++) {
        double number;
        const bool is_number = spec_settings_parse_double(&number, values[i].text);
        seen->numbers = seen->numbers && is_number;
        if (i == 0 || number < seen->low) seen->low = number;
        if (i == 0 || number > seen->high) seen->high = number;
        char *name =
            name_of(values[i].text, seen->as_typed && !is_number, seen->markdown && !is_number);
        bool listed = false;
        if (name == NULL) status = GSL_ENOMEM;
        for (int k = 0; name != NULL && k < seen->n && k < seen->listed; k++)
            listed = listed || strcmp(seen->first[k], name) == 0;
        if (name == NULL || listed || seen->n >= seen->listed) free(name);
        else seen->first[seen->n] = name;
        seen->n += name != NULL && !listed;
    }
    free(values);
    return status;
}

static void write_names(FILE *out, const names *seen)
{
    char low[SPEC_NUMBER_SIZE], high[SPEC_NUMBER_SIZE];
    if (seen->n == 0) fputs("none", out);
    if (seen->n > seen->listed && seen->numbers)
        fprintf(out, "%s to %s", spec_number_list_text(seen->low, low),
                spec_number_list_text(seen->high, high));
    else if (seen->n > seen->listed) fprintf(out, "%d values", seen->n);
    else
        for (int i = 0; i < seen->n; i++)
            fprintf(out, "%s%s", i == 0 ? "" : i + 1 < seen->n ? ", " : " and ", seen->first[i]);
}

static char *list_of(char *const *values, int n, int listed, bool as_typed, bool markdown)
{
    names seen = {.listed = listed, .as_typed = as_typed, .markdown = markdown};
    spec_memory_text made = {.out = NULL};
    const bool open = gather(&seen, values, n) == GSL_SUCCESS && spec_memory_text_open(&made);
    const bool fits = seen.n <= listed || seen.numbers || !as_typed;
    if (open && fits) write_names(made.out, &seen);
    char *text = spec_memory_text_take(&made, NULL);
    for (int i = 0; i < seen.n && i < listed; i++) free(seen.first[i]);
    if (text == NULL || fits) return text;
    free(text);
    return list_of(values, n, listed, false, markdown);
}

char *spec_naming_list(char *const *values, int n, int listed, bool markdown)
{
    return list_of(values, n, listed, markdown, markdown);
}

/* ---- sentences ------------------------------------------------------------------------------- */

int spec_naming_expand(char **ret_text, const spec_grid *grid, const char *text, spec_error *error)
{
    const char *known[SPEC_AXES_MAX + 1] = {NULL};
    char axis[64], near[SPEC_NAMES_MEANT_SIZE];
    int status = GSL_SUCCESS;
    spec_memory_text made;
    *ret_text = NULL;
    if (!spec_memory_text_open(&made)) return spec_no_memory(error);
    FILE *out = made.out;
    for (int i = 0; i < grid->n_axes; i++) known[i] = grid->axis[i].name;
    while (*text != '\0' && status == GSL_SUCCESS) {
        const size_t plain = strcspn(text, "{");
        fprintf(out, "%.*s", (int)plain, text);
        text += plain;
        if (*text == '\0') break;
        const size_t n = strcspn(++text, "}");
        snprintf(axis, sizeof axis, "%.*s", n < sizeof axis ? (int)n : 0, text);
        const spec_axis *found = spec_grid_axis(grid, axis);
        if (text[n] == '\0') {
            status = spec_fail(error, GSL_EINVAL, "a brace is not closed: '{%.80s'", text);
        } else if (found == NULL) {
            status =
                spec_fail(error, GSL_EINVAL, "no axis is named '%.*s'%s", (int)(n < 60 ? n : 60),
                          text, spec_names_meant(near, axis, known, ""));
        } else {
            char *values = spec_naming_list(found->value, found->n, SPEC_NAMING_TITLE, false);
            if (values == NULL) status = spec_no_memory(error);
            else fputs(values, out);
            free(values);
        }
        text += n + (text[n] == '}');
    }
    *ret_text = spec_memory_text_take(&made, NULL);
    if (*ret_text == NULL && status == GSL_SUCCESS) status = spec_no_memory(error);
    if (status == GSL_SUCCESS) return status;
    free(*ret_text);
    *ret_text = NULL;
    return status;
}
