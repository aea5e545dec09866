/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/memory_text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { FIRST_CAPACITY = 256 };

/* Makes room for n more bytes and a zero byte. */
static bool reserve(spec_memory_text *text, size_t n)
{
    size_t capacity = text->capacity;
    while (capacity < text->n + n + 1)
        capacity = capacity < FIRST_CAPACITY ? FIRST_CAPACITY : 2 * capacity;
    if (capacity == text->capacity) return true;
    char *bytes = realloc(text->bytes, capacity);
    if (bytes == NULL) return false;
    text->bytes = bytes;
    text->capacity = capacity;
    return true;
}

static ssize_t append(void *self, const char *bytes, size_t n)
{
    spec_memory_text *text = self;
    text->lost = text->lost || !reserve(text, n);
    if (text->lost) return 0; /* the stream takes 0 as an error */
    memcpy(text->bytes + text->n, bytes, n);
    text->n += n;
    return (ssize_t)n;
}

bool spec_memory_text_open(spec_memory_text *text)
{
    *text = (spec_memory_text){.lost = false};
    text->out = fopencookie(text, "w", (cookie_io_functions_t){.write = append});
    return text->out != NULL;
}

char *spec_memory_text_take(spec_memory_text *text, size_t *opt_ret_n)
{
    char *bytes = NULL;
    if (text->out != NULL && (fclose(text->out) != 0 || !reserve(text, 0))) text->lost = true;
    if (text->out != NULL && !text->lost) {
        bytes = text->bytes;
        bytes[text->n] = '\0';
        text->bytes = NULL;
    }
    if (opt_ret_n != NULL) *opt_ret_n = bytes != NULL ? text->n : 0;
    free(text->bytes);
    *text = (spec_memory_text){.lost = false};
    return bytes;
}
