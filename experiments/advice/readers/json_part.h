/* SPDX-License-Identifier: GPL-3.0-or-later */
/* json_part: reads a few members of a large JSON value without a tree of it.
 * A part is a slice of the text. A key is found by its bytes: in valid JSON no text looks like one,
 * because a quote within a text has a backslash. Parts that are passed over are not checked. */
#ifndef SPECLAB_JSON_PART_H
#define SPECLAB_JSON_PART_H

#include "experiments/advice/log_format.h"

#include <stdbool.h>
#include <stddef.h>

enum { SPEC_JSON_PART_DEPTH = 512 }; /* deepest nesting */

typedef struct {
    const char *bytes; /* (n), one value without blanks around it; NULL: absent */
    size_t n;
} spec_json_part;

/* Is this a key anywhere in the text? It may be the text of a whole record, or cut. */
bool spec_json_part_has(const char *bytes, size_t n, const char *key);

/* Value of the first such key at any depth; absent if there is none, or its value has no end. */
spec_json_part spec_json_part_find(spec_json_part part, const char *key);

/* Next element of an array. *at is 0 at first; false at the end, or where an element has none. */
bool spec_json_part_next(spec_json_part *ret_element, spec_json_part array, size_t *at);

/* Next member of an object, in the same way. The key is without its quotes. */
bool spec_json_part_next_member(spec_json_part *ret_key, spec_json_part *ret_value,
                                spec_json_part object, size_t *at);

/* Is the bracket that closes an array or an object where the last call of _next left *at? */
bool spec_json_part_ends(spec_json_part list, size_t at);

bool spec_json_part_is(spec_json_part part, const char *text); /* such as "null" */

/* Where an object of counts was found. */
typedef struct {
    const spec_log_record *record;
    spec_log_learned *learned;
    spec_json_part element; /* the record, or the element of its array */
    spec_json_part object;  /* has the key as a member of its own */
    bool alone;             /* no other object of the element has the key */
} spec_json_place;

/* Calls `take` for each object of the record that has the key, in the order of the keys. Other keys
 * of this name within such an object are passed over, if they are behind. Fails with spec_log_bad
 * if an object has no end, or nesting is too deep. */
int spec_json_part_each(const spec_log_record *record, spec_log_learned *learned, const char *key,
                        int (*take)(const spec_json_place *place, spec_error *error),
                        spec_error *error);

/* Hash of the name of the model, for observations; 0: the part names none. */
uint64_t spec_json_part_model(spec_json_part part);

#endif
