/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/json_extent.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

bool spec_json_extent_begins(const char *bytes, size_t n)
{
    size_t i = 1;
    if (n == 0 || (bytes[0] != '{' && bytes[0] != '[')) return false;
    while (i < n && is_blank(bytes[i])) i++;
    if (i == n) return true;
    return strchr(bytes[0] == '{' ? "\"}" : "{[]", bytes[i]) != NULL && bytes[i] != '\0';
}

/* Of numbers, true, false, null, NaN and Infinity. Most bytes are digits: no call for those. */
static bool is_of_value(char c)
{
    return (c >= '0' && c <= '9') || (c != '\0' && strchr("+-.eEtrufalsnNIiy", c) != NULL);
}

/* May a value begin behind `before`? */
static bool takes_value(const spec_json_extent *e)
{
    if (e->depth == 0) return e->before == '\0';
    return e->open[e->depth - 1] == '{' ? e->before == ':' : e->before == '[' || e->before == ',';
}

/* One byte outside strings; false if no JSON has it there. A string is its first quote here. */
static bool step(spec_json_extent *e, char c)
{
    const char in = e->depth > 0 ? e->open[e->depth - 1] : '\0';
    switch (c) {
    case '{':
    case '[':
        if (!takes_value(e) || e->depth == SPEC_JSON_EXTENT_DEPTH) return false;
        e->open[e->depth++] = c;
        break;
    case '}':
    case ']':
        if (in != (c == '}' ? '{' : '[') || e->before == ',' || e->before == ':') return false;
        e->depth--;
        break;
    case '"':
        if (!takes_value(e) && !(in == '{' && (e->before == '{' || e->before == ','))) return false;
        break;
    case ':':
        if (in != '{' || e->before != '"') return false;
        break;
    case ',':
        if (e->before == '{' || e->before == '[' || e->before == ',' || e->before == ':')
            return false;
        break;
    default:
        if (!is_of_value(c)) return false;
        if (e->before != 'v' && !takes_value(e)) return false;
        c = 'v';
    }
    e->before = c;
    return true;
}

spec_json_extent_verdict spec_json_extent_line(size_t *ret_end, spec_json_extent *extent,
                                               const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (is_blank(bytes[i])) continue;
        if (!step(extent, bytes[i])) return SPEC_JSON_EXTENT_NONE;
        if (bytes[i] == '"') {
            for (i++; i < n && bytes[i] != '"'; i++)
                if (bytes[i] == '\\') i++;
            if (i >= n) return SPEC_JSON_EXTENT_NONE; /* no string goes on over a line's end */
        }
        *ret_end = i + 1;
        if (extent->depth == 0) return SPEC_JSON_EXTENT_CLOSED;
    }
    return SPEC_JSON_EXTENT_OPEN;
}
