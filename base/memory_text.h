/* SPDX-License-Identifier: GPL-3.0-or-later */
/* memory_text: a stream that prints into memory.
 * Unlike open_memstream, which silently loses text when memory runs out, _take reports it. The
 * object owns the text until _take. */
#ifndef SPECLAB_MEMORY_TEXT_H
#define SPECLAB_MEMORY_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct {
    FILE *out; /* the stream to print to; NULL before _open and after _take */
    char *bytes;
    size_t n, capacity;
    bool lost; /* memory ran out, and text is missing */
} spec_memory_text;

/* Opens the stream; returns false if out of memory. The object must not move until _take. */
bool spec_memory_text_open(spec_memory_text *text);

/* Closes the stream and returns the text, with a zero byte after its n bytes; the caller frees it.
 * Returns NULL if memory ran out or the stream is not open. */
char *spec_memory_text_take(spec_memory_text *text, size_t *opt_ret_n);

#endif
