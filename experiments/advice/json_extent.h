/* SPDX-License-Identifier: GPL-3.0-or-later */
/* json_extent: where a JSON object or array in a stream of lines ends.
 * Checks as much of the grammar as tells JSON from other text within a line or two, and no more:
 * values are the parser's. Pure functions. [RFC8259] */
#ifndef SPECLAB_JSON_EXTENT_H
#define SPECLAB_JSON_EXTENT_H

#include <stdbool.h>
#include <stddef.h>

enum { SPEC_JSON_EXTENT_DEPTH = 512 };

typedef struct {
    int depth;
    char before; /* the last byte outside blanks; 'v' in place of a number or a word */
    char open[SPEC_JSON_EXTENT_DEPTH];
} spec_json_extent;

typedef enum {
    SPEC_JSON_EXTENT_OPEN,   /* goes on behind these bytes */
    SPEC_JSON_EXTENT_CLOSED, /* ends in them */
    SPEC_JSON_EXTENT_NONE,   /* not JSON, or nested deeper than SPEC_JSON_EXTENT_DEPTH */
} spec_json_extent_verdict;

/* Can an object or an array begin with these bytes, where the line ends after them? "[2025" and
 * "[info]" are text. */
bool spec_json_extent_begins(const char *bytes, size_t n);

/* Read the next line of a value; `extent` is zeroed at the value's first byte. *ret_end: the place
 * behind the value if it is closed. */
spec_json_extent_verdict spec_json_extent_line(size_t *ret_end, spec_json_extent *extent,
                                               const char *bytes, size_t n);

#endif
