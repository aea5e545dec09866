/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/markup.h"

#include "base/utf8.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static const char replaced[] = "\xEF\xBF\xBD"; /* U+FFFD */

/* Whether a character must be kept off a page, since it controls a terminal or reorders text. */
static bool is_control(uint32_t code)
{
    return code == SPEC_UTF8_INVALID || (code < 0x20 && code != '\n' && code != '\t') ||
           (code >= 0x7F && code < 0xA0) || code == 0x200E || code == 0x200F ||
           (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069);
}

static size_t next(uint32_t *ret_code, const char *text, size_t n)
{
    return spec_utf8_decode(ret_code, (const unsigned char *)text, n);
}

/* ---- HTML ------------------------------------------------------------------------------------ */

static const char *entity(uint32_t code)
{
    switch (code) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return is_control(code) ? replaced : NULL;
    }
}

void spec_markup_html(FILE *out, const char *text, size_t n)
{
    for (size_t i = 0, length; i < n; i += length) {
        uint32_t code;
        length = next(&code, text + i, n - i);
        const char *instead = entity(code);
        if (instead != NULL)
            fputs(instead, out);
        else
            fwrite(text + i, 1, length, out);
    }
}

/* ---- Markdown -------------------------------------------------------------------------------- */

/* Whether `at`, within `text`, would be read as markup. */
static bool is_mark(const char *text, const char *at)
{
    if (strchr("\\`*<>[]|~$", *at) != NULL) return true;
    switch (*at) {
    case '_':
        return at == text || !isalnum((unsigned char)at[-1]) || !isalnum((unsigned char)at[1]);
    case '&': return at[1] == '#' || isalpha((unsigned char)at[1]);
    case '/': return at > text && at[-1] == ':' && at[1] == '/';           /* http:// */
    case '.': return at >= text + 3 && strncasecmp(at - 3, "www", 3) == 0; /* www. */
    case '#':
    case '+':
    case '-':
    case '=': /* a title, an item, a line below a title; but -7 is none */
        return at == text && (at[1] == *at || strchr(" \t\r\n", at[1]) != NULL);
    default: return false;
    }
}

/* Writes n bytes from `from`, which is inside `text`, and escapes those that are special. */
static void write_escaped(FILE *out, const char *text, const char *from, size_t n,
                          bool (*is_special)(const char *text, const char *at))
{
    for (size_t i = 0, length; i < n; i += length) {
        uint32_t code;
        length = next(&code, from + i, n - i);
        if (code == '\n' || code == '\t' || code == '\r')
            fputc(' ', out);
        else if (is_control(code))
            fputs(replaced, out);
        else
            fprintf(out, is_special(text, from + i) ? "\\%.*s" : "%.*s", (int)length, from + i);
    }
}

static bool never(const char *text, const char *at)
{
    (void)text, (void)at;
    return false;
}

void spec_markup_markdown(FILE *out, const char *text)
{
    write_escaped(out, text, text, strlen(text), is_mark);
}

void spec_markup_code(FILE *out, const char *text)
{
    if (text[0] == '\0' || strpbrk(text, "`|") != NULL) {
        spec_markup_markdown(out, text);
        return;
    }
    fputc('`', out);
    write_escaped(out, text, text, strlen(text), never);
    fputc('`', out);
}

static bool is_mark_in_prose(const char *text, const char *at)
{
    return strchr("`*_~$", *at) == NULL && is_mark(text, at);
}

void spec_markup_prose(FILE *out, const char *text)
{
    for (const char *at = text; *at != '\0';) {
        const char *end = *at == '`' ? strchr(at + 1, '`') : NULL;
        if (end != NULL) {
            write_escaped(out, text, at, (size_t)(++end - at), never);
            at = end;
            continue;
        }
        const size_t n = strcspn(at + 1, "`") + 1;
        write_escaped(out, text, at, n, *at == '`' ? is_mark : is_mark_in_prose);
        at += n;
    }
}

void spec_markup_block(FILE *out, const char *text)
{
    while (*text != '\0') {
        const size_t n = strcspn(text, "\r\n");
        fputs("    ", out);
        write_escaped(out, text, text, n, never);
        fputc('\n', out);
        text += n;
        text += *text == '\r' && text[1] == '\n' ? 2 : *text != '\0';
    }
    fputc('\n', out);
}

void spec_markup_path(FILE *out, const char *path)
{
    for (; *path != '\0'; path++) {
        const unsigned char c = (unsigned char)*path;
        if (c < 0x80 && (isalnum(c) || strchr("-._~/", c) != NULL))
            fputc(c, out);
        else
            fprintf(out, "%%%02X", c);
    }
}
