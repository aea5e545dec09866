/* SPDX-License-Identifier: GPL-3.0-or-later */
/* memory_text: a text printed into memory through a stream.
 * Unlike open_memstream, which loses text silently without memory, _take reports the loss. The
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

/* Open the stream; false without memory. The object must not move in memory until _take. */
bool spec_memory_text_open(spec_memory_text *text);

/* Close the stream and return the text, with a zero byte after its n bytes, for the caller to free.
 * NULL if memory ran out or the stream is not open. */
char *spec_memory_text_take(spec_memory_text *text, size_t *opt_ret_n);

#endif
