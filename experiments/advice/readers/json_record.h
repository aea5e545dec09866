/* SPDX-License-Identifier: GPL-3.0-or-later */
/* json_record: objects of counts in a record, and other values near them, as jansson reads them.
 * A record is one JSON value, or a line of text with JSON in it. Only these objects and the
 * elements of an array of records are parsed; the rest of a long response is not. */
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

/* Returns the text after a key and its colon, or NULL if there is no such key. The text may be cut
 * off. In JSON no string can look like a key, because a quote in it is escaped by a backslash. */
const char *spec_json_behind_key(spec_json_part text, const char *key);

/* Return whether the text has this key, or all keys of a list that ends with NULL. "!key" requires
 * that it lacks the key. */
bool spec_json_has(const char *bytes, size_t n, const char *key);
bool spec_json_has_all(const char *bytes, size_t n, const char *const *keys);

/* Defines the `concerns` of a format, which accepts records with these keys. */
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
    spec_json_part text;    /* text of the object */
    json_t *object;         /* the object; the key is one of its members */
    bool alone;             /* no other object of the element has the key */
} spec_json_place;

typedef int spec_json_take(const spec_json_place *place, const void *self, spec_error *error);

/* Calls `take` for each object of the record that has the key, in the order of the text. An object
 * inside such an object is skipped if it comes after the key. Fails with spec_log_bad if an object
 * is malformed, nested too deeply or unfinished, or has a key twice or a number beyond a double.
 * Returns GSL_ENOMEM. */
int spec_json_each(const spec_log_record *record, spec_log_learned *learned, const char *key,
                   spec_json_take *take, const void *self, spec_error *error);

/* Returns the value of the first such key in a text, which the caller must json_decref; NULL if
 * there is none or it is malformed. */
json_t *spec_json_find(spec_json_part text, const char *key);

#endif
