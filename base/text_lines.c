/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/text_lines.h"

#include "speclab/no_memory.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 512 };

spec_text_lines spec_text_lines_of(FILE *file, const char *name, size_t most)
{
    return (spec_text_lines){.file = file, .name = name, .most = most};
}

void spec_text_lines_free(spec_text_lines *lines)
{
    free(lines->bytes);
    *lines = (spec_text_lines){0};
}

int spec_text_lines_bad(const spec_text_lines *lines, spec_error *error, const char *format, ...)
{
    char what[320];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return spec_fail(error, GSL_EINVAL, "%.150s:%llu: %s", lines->name,
                     (unsigned long long)lines->number, what);
}

/* Makes room for at least one more byte. */
static int grow(spec_text_lines *lines, spec_error *error)
{
    const size_t capacity = lines->capacity > 0 ? 2 * lines->capacity : FIRST_CAPACITY;
    char *bytes = realloc(lines->bytes, capacity);
    if (bytes == NULL) return spec_no_memory_for(error, lines->name);
    lines->bytes = bytes;
    lines->capacity = capacity;
    return GSL_SUCCESS;
}

static int check_bytes(spec_text_lines *lines, spec_error *error)
{
    static const char mark[] = "\xef\xbb\xbf";
    if (lines->number == 1 && strncmp(lines->bytes, "\x1f\x8b", 2) == 0)
        return spec_text_lines_bad(lines, error, "is compressed: decompress it first (gunzip)");
    if (memchr(lines->bytes, '\0', lines->length) != NULL)
        return spec_text_lines_bad(lines, error, "has a NUL byte: it is not a text file");
    if (lines->number == 1 && strncmp(lines->bytes, mark, sizeof mark - 1) == 0) {
        lines->length -= sizeof mark - 1;
        memmove(lines->bytes, lines->bytes + sizeof mark - 1, lines->length + 1);
    }
    return GSL_SUCCESS;
}

int spec_text_lines_next(spec_text_lines *lines, bool *ret_end, spec_error *error)
{
    int c, status = GSL_SUCCESS;
    lines->length = 0;
    lines->number++;
    for (;;) {
        if (lines->length == lines->capacity) SPEC_TRY(grow(lines, error));
        c = getc_unlocked(lines->file);
        if (c == EOF || c == '\n') break;
        if (lines->length == lines->most)
            return spec_text_lines_bad(lines, error, "is longer than %zu bytes", lines->most);
        lines->bytes[lines->length++] = (char)c;
    }
    if (c == EOF && ferror(lines->file))
        return spec_fail(error, GSL_EFAILED, "%.300s: %s", lines->name, strerror(errno));
    *ret_end = c == EOF && lines->length == 0;
    if (lines->length > 0 && lines->bytes[lines->length - 1] == '\r') lines->length--;
    lines->bytes[lines->length] = '\0';
    SPEC_TRY(check_bytes(lines, error));
done:
    return status;
}

int spec_text_lines_next_data(spec_text_lines *lines, bool *ret_end, spec_error *error)
{
    int status;
    do {
        status = spec_text_lines_next(lines, ret_end, error);
    } while (status == GSL_SUCCESS && !*ret_end &&
             (lines->bytes[0] == '#' || lines->bytes[strspn(lines->bytes, " \t")] == '\0'));
    return status;
}
