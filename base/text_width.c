/* SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700
#include "base/text_width.h"

#include "base/escape.h"
#include "base/utf8.h"

#include <locale.h>
#include <stdbool.h>
#include <string.h>
#include <wchar.h>

/* Iterates over characters, in the locale C.UTF-8 if the text needs it. */
typedef struct {
    const char *at;
    locale_t utf8, before;
} walk;

static void walk_begin(walk *w, const char *text)
{
    *w = (walk){.at = text};
    const char *c = text;
    while (*c != '\0' && (unsigned char)*c < 0x80) c++;
    if (*c == '\0') return;
    w->utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (w->utf8 != (locale_t)0) w->before = uselocale(w->utf8);
}

static void walk_end(walk *w)
{
    if (w->utf8 == (locale_t)0) return;
    uselocale(w->before);
    freelocale(w->utf8);
}

/* Returns the bytes of the next character, 0 at the end, and its columns. */
static size_t next(walk *w, int *ret_columns)
{
    uint32_t code;
    *ret_columns = 1;
    if (*w->at == '\0') return 0;
    const size_t n = spec_utf8_decode(&code, (const unsigned char *)w->at, strnlen(w->at, 4));
    if (n > 1 && w->utf8 != (locale_t)0 && !spec_escape_is_control(code)) {
        const int columns = wcwidth((wchar_t)code);
        if (columns >= 0) *ret_columns = columns;
    }
    w->at += n;
    return n;
}

int spec_text_width(const char *text)
{
    int width = 0, columns;
    walk w;
    walk_begin(&w, text);
    while (next(&w, &columns) > 0) width += columns;
    walk_end(&w);
    return width;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

/* A possible line break: the bytes before it, and their visible columns. */
typedef struct {
    size_t bytes;
    int width;
} place;

size_t spec_text_line(const char *text, int columns, int *ret_width)
{
    place blank = {0}, mark = {0}, here = {0};
    walk w;
    int more;
    bool fits = true;
    walk_begin(&w, text);
    for (size_t n; (n = next(&w, &more)) > 0; here = (place){here.bytes + n, here.width + more}) {
        const char c = text[here.bytes];
        if (is_blank(c)) blank = (place){here.bytes + 1, here.width};
        if (here.width + more > columns && here.bytes > 0) {
            fits = false;
            break;
        }
        if (strchr(",;:/|&?_-", c) != NULL) mark = (place){here.bytes + 1, here.width + more};
    }
    walk_end(&w);
    if (!fits) {
        if (2 * blank.width >= columns) here = blank;
        else if (2 * mark.width >= columns) here = mark;
        else if (blank.width > 0) here = blank;
    }
    *ret_width = here.width;
    return here.bytes;
}

void spec_text_wrap(const char *text, int columns, int indent, FILE *out)
{
    if (columns <= 0) {
        spec_escape_line(out, text, strlen(text));
        return;
    }
    for (bool first = true; *text != '\0'; first = false) {
        int width;
        const size_t n = spec_text_line(text, columns, &width);
        if (!first) fprintf(out, "\n%*s", indent, "");
        size_t shown = n;
        while (shown > 0 && is_blank(text[shown - 1])) shown--;
        spec_escape_line(out, text, shown);
        text += n;
    }
}
