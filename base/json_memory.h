/* SPDX-License-Identifier: GPL-3.0-or-later */
/* json_memory: detects when jansson runs out of memory while it builds or parses a value.
 * Functions of jansson drop a value that they cannot allocate. Call _begin, build or print, then
 * check once with _lost. The flag is per thread. */
#ifndef SPECLAB_JSON_MEMORY_H
#define SPECLAB_JSON_MEMORY_H

#include <jansson.h>
#include <stdbool.h>

void spec_json_begin(void);

/* Returns whether an allocation by jansson failed in this thread since _begin or _load. */
bool spec_json_lost(void);

/* Like json_loadb, but safe when memory runs out. jansson's reader would then drop characters and
 * crash; this one treats the text as ended, returns NULL, and makes _lost return true. */
json_t *spec_json_load(const char *bytes, size_t n, size_t flags, json_error_t *error);

/* Does the same for untrusted text, whose values may take at most `most` bytes of memory. If they
 * need more, it reports json_error_out_of_memory. */
json_t *spec_json_load_within(size_t most, const char *bytes, size_t n, size_t flags,
                              json_error_t *error);

/* Returns a string of foreign bytes, with U+FFFD for invalid UTF-8. The caller owns it; NULL if out
 * of memory. */
json_t *spec_json_string(const char *bytes, size_t n);

#endif
