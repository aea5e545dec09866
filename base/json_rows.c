/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/json_rows.h"

#include "base/json_memory.h"
#include "base/memory_text.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
#include <string.h>

enum { NAME = 256 };

/* Called for each scalar; false stops the walk. */
typedef bool visit(void *self, const char *name, json_t *value);

/* Visits the scalars of an object, with dotted names; a list counts as its length. */
static bool walk(json_t *object, const char *prefix, int depth, visit *each, void *self)
{
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        char name[NAME];
        snprintf(name, sizeof name, "%.120s%s%.120s", prefix, prefix[0] != '\0' ? "." : "", key);
        const bool goes_on = json_is_object(value) && depth < SPEC_JSON_ROWS_DEPTH
                                 ? walk(value, name, depth + 1, each, self)
                                 : each(self, name, value);
        if (!goes_on) return false;
    }
    return true;
}

/* ---- columns --------------------------------------------------------------------------------- */

typedef struct {
    char *name[SPEC_JSON_ROWS_COLUMNS];
    int n;
    bool lost; /* memory ran out; if false, there were too many columns */
} columns;

static int find(const columns *c, const char *name)
{
    for (int i = 0; i < c->n; i++)
        if (strcmp(c->name[i], name) == 0) return i;
    return -1;
}

static bool add_column(void *self, const char *name, json_t *value)
{
    columns *c = self;
    (void)value;
    if (find(c, name) >= 0) return true;
    if (c->n == SPEC_JSON_ROWS_COLUMNS) return false;
    c->name[c->n] = strdup(name);
    c->lost = c->name[c->n] == NULL;
    c->n += !c->lost;
    return !c->lost;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void write_value(FILE *out, json_t *value)
{
    if (json_is_string(value))
        fwrite(json_string_value(value), 1, json_string_length(value), out);
    else if (json_is_array(value) || json_is_object(value))
        fprintf(out, "%zu values",
                json_is_array(value) ? json_array_size(value) : json_object_size(value));
    else if (json_is_integer(value))
        fprintf(out, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        fprintf(out, "%.10g", json_real_value(value));
    else
        fputs(json_is_true(value) ? "true" : json_is_false(value) ? "false" : "", out);
}

static bool fill_cell(void *self, const char *name, json_t *value)
{
    spec_table *table = self;
    if (json_is_integer(value))
        spec_table_integer(table, name, json_integer_value(value));
    else if (json_is_real(value))
        spec_table_number(table, name, json_real_value(value));
    else if (json_is_string(value))
        spec_table_text(table, name, json_string_value(value));
    else if (json_is_boolean(value))
        spec_table_text(table, name, json_is_true(value) ? "true" : "false");
    else if (json_is_array(value) || json_is_object(value)) {
        char text[32];
        snprintf(text, sizeof text, "%zu values",
                 json_is_array(value) ? json_array_size(value) : json_object_size(value));
        spec_table_text(table, name, text);
    }
    return true;
}

static int fill_rows(spec_table *table, json_t *list, const char *path, spec_error *error)
{
    columns c = {.n = 0};
    int status = GSL_SUCCESS;
    bool fits = true;
    for (size_t i = 0; i < json_array_size(list) && fits; i++)
        fits = walk(json_array_get(list, i), "", 0, add_column, &c);
    if (c.lost)
        status = spec_no_memory(error);
    else if (!fits)
        status = spec_fail(error, GSL_EINVAL, "%s: a row has more than %d members", path,
                           SPEC_JSON_ROWS_COLUMNS);
    else if (c.n == 0)
        status = spec_fail(error, GSL_EINVAL, "%s: its rows are objects without members", path);
    if (status == GSL_SUCCESS && spec_table_init(table, (const char *const *)c.name, c.n) != 0)
        status = spec_no_memory(error);
    for (size_t i = 0; i < json_array_size(list) && status == GSL_SUCCESS; i++) {
        walk(json_array_get(list, i), "", 0, fill_cell, table);
        if (spec_table_append(table) != GSL_SUCCESS) status = spec_no_memory(error);
    }
    for (int i = 0; i < c.n; i++) free(c.name[i]);
    return status;
}

/* ---- which list ------------------------------------------------------------------------------ */

static bool is_list(json_t *value)
{
    for (size_t i = 0; i < json_array_size(value); i++)
        if (!json_is_object(json_array_get(value, i))) return false;
    return json_array_size(value) > 0;
}

/* Returns the longest list of objects among the root and its members, or NULL. */
static json_t *find_list(json_t *root)
{
    json_t *longest = is_list(root) ? root : NULL;
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value) if (is_list(value) &&
                                              json_array_size(value) > json_array_size(longest))
        longest = value;
    return longest;
}

static bool add_pair(void *self, const char *name, json_t *value)
{
    json_t *pair = json_object();
    json_object_set_new(pair, "key", json_string(name));
    json_object_set(pair, "value", value);
    json_array_append_new(self, pair);
    return true;
}

static bool add_line(void *self, const char *name, json_t *value)
{
    if (json_is_null(value) || is_list(value)) return true;
    fprintf(self, "%s: ", name);
    write_value(self, value);
    fputc('\n', self);
    return true;
}

static int add_provenance(spec_table *table, json_t *root, spec_error *error)
{
    spec_memory_text text;
    if (!json_is_object(root)) return GSL_SUCCESS;
    if (!spec_memory_text_open(&text)) return spec_no_memory(error);
    walk(root, "", 0, add_line, text.out);
    char *lines = spec_memory_text_take(&text, NULL);
    if (lines == NULL) return spec_no_memory(error);
    free(table->provenance);
    table->provenance = lines;
    return GSL_SUCCESS;
}

static bool is_blank(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memchr(" \t\r\n", bytes[i], 4) == NULL) return false;
    return true;
}

static int no_value(const char *path, const json_error_t *where, int line, spec_error *error)
{
    if (spec_json_lost()) return spec_no_memory(error);
    return spec_fail(error, GSL_EINVAL, "%s:%d: %.200s", path, line + where->line, where->text);
}

/* Loads a file with one JSON value per line, as a list of these values. */
static int load_lines(json_t **ret_root, const char *bytes, size_t n, const char *path,
                      spec_error *error)
{
    int status = GSL_SUCCESS, line = 0;
    if ((*ret_root = json_array()) == NULL) return spec_no_memory(error);
    for (size_t at = 0, length; at < n && status == GSL_SUCCESS; at += length + 1, line++) {
        const char *end = memchr(bytes + at, '\n', n - at);
        json_error_t where;
        length = end != NULL ? (size_t)(end - (bytes + at)) : n - at;
        if (is_blank(bytes + at, length)) continue;
        json_t *value = spec_json_load(bytes + at, length, 0, &where);
        if (value == NULL)
            status = no_value(path, &where, line, error);
        else if (json_array_append_new(*ret_root, value) != 0)
            status = spec_no_memory(error);
    }
    return status;
}

/* Loads a single JSON value, or one value per line. */
static int load(json_t **ret_root, const char *bytes, size_t n, const char *path, spec_error *error)
{
    json_error_t where;
    if ((*ret_root = spec_json_load(bytes, n, 0, &where)) != NULL) return GSL_SUCCESS;
    const char *end = memchr(bytes, '\n', n);
    if (!spec_json_lost() && end != NULL &&
        json_error_code(&where) == json_error_end_of_input_expected)
        return load_lines(ret_root, bytes, n, path, error);
    return no_value(path, &where, 0, error);
}

int spec_json_rows_read(spec_table *ret_table, const char *bytes, size_t n, const char *path,
                        spec_error *error)
{
    int status = GSL_SUCCESS;
    json_t *pairs = NULL, *root = NULL;
    *ret_table = (spec_table){.n_rows = 0};
    SPEC_TRY(load(&root, bytes, n, path, error));
    json_t *list = find_list(root);
    if (list == NULL) {
        if ((pairs = json_array()) != NULL) walk(root, "", 0, add_pair, pairs);
        if (pairs == NULL || spec_json_lost()) SPEC_TRY(spec_no_memory(error));
        if (json_array_size(pairs) == 0)
            SPEC_TRY(spec_fail(error, GSL_EINVAL, "%s: contains no object with members", path));
    }
    SPEC_TRY(fill_rows(ret_table, list != NULL ? list : pairs, path, error));
    if (list != NULL) SPEC_TRY(add_provenance(ret_table, root, error));
done:
    if (status != GSL_SUCCESS) spec_table_free(ret_table);
    if (status != GSL_SUCCESS) *ret_table = (spec_table){.n_rows = 0};
    json_decref(pairs);
    json_decref(root);
    return status;
}
