/* SPDX-License-Identifier: GPL-3.0-or-later */
/* json_text: writes one JSON value piece by piece, with commas where they belong.
 * If memory runs out, the text is incomplete and `lost` is set. It owns the text. */
#ifndef SPECLAB_JSON_TEXT_H
#define SPECLAB_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    char *text; /* NUL-terminated; NULL before the first piece */
    size_t used, capacity;
    bool lost;
} web_json;

void web_json_free(web_json *json);
void web_json_clear(web_json *json); /* begins another value, and reuses the memory */

/* Writes '{', '}', '[' or ']'. */
void web_json_bracket(web_json *json, char bracket);
void web_json_key(web_json *json, const char *key);

/* Write a string; NULL becomes null. Bytes of `string` from 0x80 on are read as UTF-8. In _bytes
 * (n) each of them becomes one character: "\u00e9" for 0xe9. */
void web_json_string(web_json *json, const char *opt_string);
void web_json_bytes(web_json *json, const char *bytes, size_t n);

/* Write numbers with 17 digits; NaN becomes null, infinity 1e999. */
void web_json_number(web_json *json, double number);
void web_json_numbers(web_json *json, const double *opt_number, int64_t n); /* NULL is null */
void web_json_integer(web_json *json, int64_t integer);
void web_json_integers(web_json *json, const int32_t *integer, int64_t n);
void web_json_counts(web_json *json, const uint64_t *count, int64_t n);
void web_json_bool(web_json *json, bool value);

/* Write a key and its value. */
void web_json_put_string(web_json *json, const char *key, const char *opt_string);
void web_json_put_number(web_json *json, const char *key, double number);
void web_json_put_integer(web_json *json, const char *key, int64_t integer);

#endif
