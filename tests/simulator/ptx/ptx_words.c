/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/simulator/ptx/ptx_words.h"

#include "tests/simulator/block_run.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool in_name(const char *at)
{
    return isalnum((unsigned char)*at) || *at == '_' || *at == '$' || *at == '%' || *at == '.';
}

/* A comment, or a line for debuggers: the place in the source. */
static bool at_line_to_skip(const char *at)
{
    return strncmp(at, "//", 2) == 0 || strncmp(at, ".loc\t", 5) == 0 ||
           strncmp(at, ".file\t", 6) == 0;
}

static void skip_blank(ptx_reader *r)
{
    for (;;) {
        while (isspace((unsigned char)*r->at)) r->line += *r->at++ == '\n';
        if (at_line_to_skip(r->at)) {
            r->at += strcspn(r->at, "\n");
        } else if (strncmp(r->at, "/*", 2) == 0) {
            for (; *r->at != '\0' && strncmp(r->at, "*/", 2) != 0; r->at++)
                r->line += *r->at == '\n';
            r->at += *r->at != '\0' ? 2 : 0;
        } else {
            return;
        }
    }
}

ptx_word ptx_next(ptx_reader *r)
{
    skip_blank(r);
    const char *const begin = r->at;
    if (*r->at == '\0') return (ptx_word){begin, 0, r->line};
    if (*r->at == '"') {
        r->at += 1 + strcspn(r->at + 1, "\"\n");
        r->at += *r->at == '"';
    } else if (in_name(r->at) || (*r->at == '-' && isdigit((unsigned char)r->at[1]))) {
        for (r->at++; in_name(r->at) || (r->at[0] == ':' && r->at[1] == ':'); r->at++)
            r->at += *r->at == ':';
    } else {
        r->at++;
    }
    return (ptx_word){begin, (int)(r->at - begin), r->line};
}

ptx_word ptx_peek(const ptx_reader *reader)
{
    ptx_reader ahead = *reader;
    return ptx_next(&ahead);
}

bool ptx_is(ptx_word word, const char *text)
{
    return (size_t)word.n == strlen(text) && memcmp(word.at, text, (size_t)word.n) == 0;
}

bool ptx_begins(ptx_word word, const char *text)
{
    return (size_t)word.n >= strlen(text) && memcmp(word.at, text, strlen(text)) == 0;
}

bool ptx_take(ptx_reader *reader, const char *text)
{
    ptx_reader ahead = *reader;
    if (!ptx_is(ptx_next(&ahead), text)) return false;
    *reader = ahead;
    return true;
}

void ptx_need(ptx_reader *reader, const char *text)
{
    const ptx_word word = ptx_next(reader);
    if (!ptx_is(word, text))
        block_run_fail("%s:%d: '%s' should stand where '%.*s' does", reader->file, word.line, text,
                       word.n, word.at);
}

bool ptx_number(uint64_t *ret_value, ptx_word word)
{
    const bool minus = word.n > 0 && word.at[0] == '-';
    if (word.n == 0 || !isdigit((unsigned char)word.at[minus])) return false;
    const bool floats = word.n > 2 && word.at[0] == '0' && strchr("fFdD", word.at[1]) != NULL;
    char *end;
    *ret_value = floats ? strtoull(word.at + 2, &end, 16) : strtoull(word.at + minus, &end, 0);
    if (minus) *ret_value = 0 - *ret_value;
    return end == word.at + word.n || (end == word.at + word.n - 1 && *end == 'U');
}

void ptx_unknown(const ptx_reader *reader, ptx_word word, const char *what)
{
    block_run_fail("%s:%d: %s '%.*s' is not known here", reader->file, word.line, what, word.n,
                   word.at);
}
