/* SPDX-License-Identifier: GPL-3.0-or-later */
/* json_values: reads the values of a JSON object as C types.
 * A missing value, or null, becomes the caller's fallback; a value of another type is refused with
 * a line that names file and key. The caller frees what was loaded. */
#ifndef SPECLAB_JSON_VALUES_H
#define SPECLAB_JSON_VALUES_H

#include "speclab/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* An object, with the path of its file for error lines. */
typedef struct {
    const char *path;
    const json_t *object;
    spec_error *error;
} spec_json_values;

/* Parses n bytes as one object without duplicate keys. Returns GSL_EINVAL, with one line that names
 * the file and position, or GSL_ENOMEM. */
int spec_json_values_parse(json_t **ret_root, const char *bytes, size_t n, const char *path,
                           spec_error *error);

/* Does the same for a whole file. If the file does not exist and `optional` is set, returns
 * GSL_SUCCESS and sets *ret_root to NULL. */
int spec_json_values_load(json_t **ret_root, const char *path, bool optional, spec_error *error);

/* Read a whole number in [low, high]; a number; true or false; a text. `fallback` may be out of
 * range. On failure the value is 0, false or NULL. */
int spec_json_values_integer(int *ret_value, const spec_json_values *of, const char *key,
                             int fallback, int low, int high);
int spec_json_values_real(double *ret_value, const spec_json_values *of, const char *key,
                          double fallback);
int spec_json_values_bool(bool *ret_value, const spec_json_values *of, const char *key,
                          bool fallback);
int spec_json_values_text(const char **ret_value, const spec_json_values *of, const char *key,
                          const char *fallback);

/* Reads a whole number in [1, high] that the object must have. */
int spec_json_values_need(int *ret_value, const spec_json_values *of, const char *key, int high);

/* Reads the object under a key; ret->object is NULL if it is missing. */
int spec_json_values_object(spec_json_values *ret, const spec_json_values *of, const char *key);

/* Read optional values: the first returns "" if the value is not text, the second `fallback` if it
 * is missing. */
const char *spec_json_values_word(const json_t *object, const char *key);
bool spec_json_values_is_on(const json_t *object, const char *key, bool fallback);

/* Returns GSL_EINVAL with a line that says that the value of this key is not `what`. */
int spec_json_values_refuse(const spec_json_values *of, const char *key, const char *what);

#endif
