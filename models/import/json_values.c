/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/json_values.h"

#include "base/json_memory.h"
#include "base/mapping.h"
#include "speclab/no_memory.h"

#include <string.h>
#include <unistd.h>

enum { BYTES_MAX = 1 << 28 }; /* per file; its values take several times as much memory */

int spec_json_values_parse(json_t **ret_root, const char *bytes, size_t n, const char *path,
                           spec_error *error)
{
    json_error_t why;
    *ret_root = spec_json_load(bytes, n, JSON_REJECT_DUPLICATES, &why);
    if (*ret_root == NULL && spec_json_lost()) return spec_no_memory_for(error, path);
    if (*ret_root == NULL)
        return spec_fail(error, GSL_EINVAL, "%.300s: is not valid JSON: line %d: %.120s", path,
                         why.line, why.text);
    if (json_is_object(*ret_root)) return GSL_SUCCESS;
    json_decref(*ret_root);
    *ret_root = NULL;
    return spec_fail(error, GSL_EINVAL, "%.300s: is JSON, but not an object", path);
}

int spec_json_values_load(json_t **ret_root, const char *path, bool optional, spec_error *error)
{
    spec_mapping file;
    *ret_root = NULL;
    if (optional && access(path, F_OK) != 0) return GSL_SUCCESS;
    int status = spec_mapping_init(&file, path, error);
    if (status == GSL_SUCCESS && file.length > BYTES_MAX)
        status =
            spec_fail(error, GSL_EINVAL, "%.300s: larger than %d MiB: too large for a model's JSON",
                      path, BYTES_MAX >> 20);
    if (status == GSL_SUCCESS)
        status =
            spec_json_values_parse(ret_root, (const char *)file.bytes, file.length, path, error);
    spec_mapping_free(&file);
    return status;
}

int spec_json_values_refuse(const spec_json_values *of, const char *key, const char *what)
{
    return spec_fail(of->error, GSL_EINVAL, "%.300s: the value of '%.60s' is not %s", of->path, key,
                     what);
}

/* Returns NULL for a missing value and for null. */
static const json_t *find(const spec_json_values *of, const char *key)
{
    const json_t *value = json_object_get(of->object, key);
    return json_is_null(value) ? NULL : value;
}

int spec_json_values_integer(int *ret_value, const spec_json_values *of, const char *key,
                             int fallback, int low, int high)
{
    const json_t *value = find(of, key);
    char range[64];
    *ret_value = fallback;
    if (value == NULL) return GSL_SUCCESS;
    *ret_value = 0;
    snprintf(range, sizeof range, "a whole number between %d and %d", low, high);
    if (!json_is_integer(value) || json_integer_value(value) < low ||
        json_integer_value(value) > high)
        return spec_json_values_refuse(of, key, range);
    *ret_value = (int)json_integer_value(value);
    return GSL_SUCCESS;
}

int spec_json_values_need(int *ret_value, const spec_json_values *of, const char *key, int high)
{
    *ret_value = 0;
    if (find(of, key) == NULL)
        return spec_fail(of->error, GSL_EINVAL, "%.300s: key '%.60s' is missing", of->path, key);
    return spec_json_values_integer(ret_value, of, key, 0, 1, high);
}

int spec_json_values_real(double *ret_value, const spec_json_values *of, const char *key,
                          double fallback)
{
    const json_t *value = find(of, key);
    *ret_value = fallback;
    if (value == NULL) return GSL_SUCCESS;
    *ret_value = 0.0;
    if (!json_is_number(value)) return spec_json_values_refuse(of, key, "a number");
    *ret_value = json_number_value(value);
    return GSL_SUCCESS;
}

int spec_json_values_bool(bool *ret_value, const spec_json_values *of, const char *key,
                          bool fallback)
{
    const json_t *value = find(of, key);
    *ret_value = value == NULL ? fallback : json_is_true(value);
    return value == NULL || json_is_boolean(value)
               ? GSL_SUCCESS
               : spec_json_values_refuse(of, key, "true or false");
}

int spec_json_values_text(const char **ret_value, const spec_json_values *of, const char *key,
                          const char *fallback)
{
    const json_t *value = find(of, key);
    *ret_value = value == NULL ? fallback : json_string_value(value);
    return value == NULL || json_is_string(value) ? GSL_SUCCESS
                                                  : spec_json_values_refuse(of, key, "a text");
}

int spec_json_values_object(spec_json_values *ret, const spec_json_values *of, const char *key)
{
    const json_t *value = find(of, key);
    *ret = (spec_json_values){of->path, value, of->error};
    return value == NULL || json_is_object(value) ? GSL_SUCCESS
                                                  : spec_json_values_refuse(of, key, "an object");
}

const char *spec_json_values_word(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

bool spec_json_values_is_on(const json_t *object, const char *key, bool fallback)
{
    const json_t *value = json_object_get(object, key);
    return value == NULL || json_is_null(value) ? fallback : json_is_true(value);
}
