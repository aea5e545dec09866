/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "web/json_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_AT_FIRST = 4096 };

/* ---- bytes ----------------------------------------------------------------------------------- */

static void append(web_json *json, const char *bytes, size_t n)
{
    if (n >= json->capacity - json->used) {
        const size_t capacity = 2 * (json->used + n) + BYTES_AT_FIRST;
        char *longer = json->lost ? NULL : realloc(json->text, capacity);
        json->lost = longer == NULL;
        if (json->lost) return;
        json->text = longer;
        json->capacity = capacity;
    }
    memcpy(json->text + json->used, bytes, n);
    json->used += n;
    json->text[json->used] = '\0';
}

static void append_text(web_json *json, const char *text)
{
    append(json, text, strlen(text));
}

/* Writes a comma, unless the value is the first in its bracket or follows its key. */
static void separate(web_json *json)
{
    if (json->used > 0 && strchr("[{:", json->text[json->used - 1]) == NULL) append(json, ",", 1);
}

void web_json_free(web_json *json)
{
    free(json->text);
    *json = (web_json){.text = NULL};
}

void web_json_clear(web_json *json)
{
    json->used = 0;
    json->lost = false;
}

/* ---- values ---------------------------------------------------------------------------------- */

void web_json_bracket(web_json *json, char bracket)
{
    if (bracket == '[' || bracket == '{') separate(json);
    append(json, &bracket, 1);
}

void web_json_key(web_json *json, const char *key)
{
    web_json_string(json, key);
    append(json, ":", 1);
}

/* Writes a quoted string; bytes from `plain` on are escaped. */
static void quote(web_json *json, const char *bytes, size_t n, unsigned plain)
{
    separate(json);
    append(json, "\"", 1);
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)bytes[i];
        char escape[8] = {(char)c};
        if (c < 0x20 || c == 0x7f || c >= plain) snprintf(escape, sizeof escape, "\\u%04x", c);
        else if (c == '"' || c == '\\') snprintf(escape, sizeof escape, "\\%c", c);
        append_text(json, escape);
    }
    append(json, "\"", 1);
}

void web_json_string(web_json *json, const char *opt_string)
{
    if (opt_string != NULL) {
        quote(json, opt_string, strlen(opt_string), 0x100);
        return;
    }
    separate(json);
    append_text(json, "null");
}

void web_json_bytes(web_json *json, const char *bytes, size_t n)
{
    quote(json, bytes, n, 0x80);
}

void web_json_number(web_json *json, double number)
{
    char digits[32];
    separate(json);
    if (isfinite(number)) snprintf(digits, sizeof digits, "%.17g", number);
    else snprintf(digits, sizeof digits, isnan(number) ? "null" : number > 0 ? "1e999" : "-1e999");
    append_text(json, digits);
}

void web_json_numbers(web_json *json, const double *opt_number, int64_t n)
{
    if (opt_number == NULL) {
        web_json_string(json, NULL);
        return;
    }
    web_json_bracket(json, '[');
    for (int64_t i = 0; i < n; i++) web_json_number(json, opt_number[i]);
    web_json_bracket(json, ']');
}

void web_json_integer(web_json *json, int64_t integer)
{
    char digits[32];
    separate(json);
    snprintf(digits, sizeof digits, "%" PRId64, integer);
    append_text(json, digits);
}

void web_json_integers(web_json *json, const int32_t *integer, int64_t n)
{
    web_json_bracket(json, '[');
    for (int64_t i = 0; i < n; i++) web_json_integer(json, integer[i]);
    web_json_bracket(json, ']');
}

void web_json_counts(web_json *json, const uint64_t *count, int64_t n)
{
    web_json_bracket(json, '[');
    for (int64_t i = 0; i < n; i++) web_json_integer(json, (int64_t)count[i]);
    web_json_bracket(json, ']');
}

void web_json_bool(web_json *json, bool value)
{
    separate(json);
    append_text(json, value ? "true" : "false");
}

/* ---- members --------------------------------------------------------------------------------- */

void web_json_put_string(web_json *json, const char *key, const char *opt_string)
{
    web_json_key(json, key);
    web_json_string(json, opt_string);
}

void web_json_put_number(web_json *json, const char *key, double number)
{
    web_json_key(json, key);
    web_json_number(json, number);
}

void web_json_put_integer(web_json *json, const char *key, int64_t integer)
{
    web_json_key(json, key);
    web_json_integer(json, integer);
}
