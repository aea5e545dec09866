/* SPDX-License-Identifier: GPL-3.0-or-later */
/* json_memory: detects that jansson ran out of memory while it built or parsed a value.
 * jansson's functions drop a value that they cannot allocate. Call _begin, build or print, then
 * check once with _lost. The flag is per thread. */
#ifndef SPECLAB_JSON_MEMORY_H
#define SPECLAB_JSON_MEMORY_H

#include <jansson.h>
#include <stdbool.h>

void spec_json_begin(void);

/* Whether an allocation of jansson failed in this thread since _begin or _load. */
bool spec_json_lost(void);

/* json_loadb, but safe without memory, where jansson's reader drops characters and crashes: this
 * one ends the text there. NULL, and _lost is true, if memory runs out. */
json_t *spec_json_load(const char *bytes, size_t n, size_t flags, json_error_t *error);

/* The same, for text that is not trusted: its values may take `most` bytes of memory. More is an
 * error of the text, json_error_out_of_memory. */
json_t *spec_json_load_within(size_t most, const char *bytes, size_t n, size_t flags,
                              json_error_t *error);

/* A string of bytes from outside, with U+FFFD for invalid UTF-8. The caller owns it; NULL without
 * memory. */
json_t *spec_json_string(const char *bytes, size_t n);

#endif
