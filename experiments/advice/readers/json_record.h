/* SPDX-License-Identifier: GPL-3.0-or-later */
/* json_record: objects of counts in a record, and other values near them, as jansson reads them.
 * A record is one JSON value, or a line of text with JSON in it. Only these objects are parsed, and
 * the elements of an array of records; nothing else of a long response is. */
#ifndef SPECLAB_JSON_RECORD_H
#define SPECLAB_JSON_RECORD_H

#include "experiments/advice/log_format.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum { SPEC_JSON_DEPTH = 512 }; /* deepest nesting of an object of counts */

typedef struct {
    const char *bytes; /* (n) */
    size_t n;
} spec_json_part;

/* Finds the text behind a key and its colon; NULL: there is no such key. The text may be cut. In
 * JSON no string looks like a key, because a quote in it has a backslash. */
const char *spec_json_behind_key(spec_json_part text, const char *key);

/* Whether the text has this key, or all of a list that ends with NULL; "!key": lacks it. */
bool spec_json_has(const char *bytes, size_t n, const char *key);
bool spec_json_has_all(const char *bytes, size_t n, const char *const *keys);

/* Defines the `concerns` of a format: its records have these keys. */
#define SPEC_JSON_CONCERNS(name, ...)                                                              \
    static bool name(const char *bytes, size_t n)                                                  \
    {                                                                                              \
        return spec_json_has_all(bytes, n, (const char *const[]){__VA_ARGS__, NULL});              \
    }

/* Where an object of counts was found. */
typedef struct {
    const spec_log_record *record;
    spec_log_learned *learned;
    spec_json_part element; /* the record, or the element of its array */
    spec_json_part text;    /* of the object */
    json_t *object;         /* has the key as a member of its own */
    bool alone;             /* no other object of the element has the key */
} spec_json_place;

typedef int spec_json_take(const spec_json_place *place, const void *self, spec_error *error);

/* Calls `take` for each object of the record that has the key, in the order of the text. Objects
 * within such an object are passed over, if they are behind the key. Fails with spec_log_bad for an
 * object that is malformed or nested too deep, has no end, a key twice, or a number beyond a
 * double; GSL_ENOMEM. */
int spec_json_each(const spec_log_record *record, spec_log_learned *learned, const char *key,
                   spec_json_take *take, const void *self, spec_error *error);

/* Returns the value of the first such key of a text, for the caller to json_decref; NULL if there
 * is none, or it is malformed. */
json_t *spec_json_find(spec_json_part text, const char *key);

#endif
