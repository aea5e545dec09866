/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/json_record.h"

#include "base/json_memory.h"
#include "speclab/no_memory.h"

#include <string.h>

enum {
    NEEDLE = 64, /* most bytes of a key, with its quotes */
    FLAGS = JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL |
            JSON_DECODE_INT_AS_REAL
};
static const size_t MEMORY = (size_t)1 << 30; /* most memory for the values of a text */

/* ---- the text -------------------------------------------------------------------------------- */

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) at++;
    return at;
}

/* Returns the opening quote of the next such key, searching from `at`; NULL if there is none.
 * *ret_value is after its colon. */
static const char *find_key(const char **ret_value, const char *at, spec_json_part text,
                            const char *key)
{
    char needle[NEEDLE];
    const char *end = text.bytes + text.n;
    const int n = snprintf(needle, sizeof needle, "\"%s\"", key);
    while (n < NEEDLE && at < end) {
        const char *found = memmem(at, (size_t)(end - at), needle, (size_t)n);
        if (found == NULL) return NULL;
        at = skip_blanks(found + n, end);
        if (at < end && *at == ':' && (found == text.bytes || found[-1] != '\\')) {
            *ret_value = skip_blanks(at + 1, end);
            return found;
        }
    }
    return NULL;
}

const char *spec_json_behind_key(spec_json_part text, const char *key)
{
    const char *value;
    return find_key(&value, text.bytes, text, key) != NULL ? value : NULL;
}

bool spec_json_has(const char *bytes, size_t n, const char *key)
{
    return spec_json_behind_key((spec_json_part){bytes, n}, key) != NULL;
}

bool spec_json_has_all(const char *bytes, size_t n, const char *const *keys)
{
    for (; *keys != NULL; keys++)
        if (spec_json_has(bytes, n, *keys + (**keys == '!')) == (**keys == '!')) return false;
    return true;
}

json_t *spec_json_find(spec_json_part text, const char *key)
{
    const char *value = spec_json_behind_key(text, key);
    json_error_t why;
    if (value == NULL) return NULL;
    return spec_json_load_within(MEMORY, value, (size_t)(text.bytes + text.n - value), FLAGS, &why);
}

/* ---- objects with a key ---------------------------------------------------------------------- */

/* The brackets that are open at some point of a text. */
typedef struct {
    const char *open[SPEC_JSON_DEPTH];
    int depth;
} nesting;

/* Returns the byte after the string that begins at this quote; NULL if it does not end. */
static const char *skip_string(const char *begin, const char *end)
{
    for (const char *at = begin + 1; at < end; at++) {
        at = memchr(at, '"', (size_t)(end - at));
        if (at == NULL) return NULL;
        const char *back = at;
        while (back[-1] == '\\') back--;
        if ((at - back) % 2 == 0) return at + 1;
    }
    return NULL;
}

/* Follows the brackets between `at` and `to`. Returns false if they do not match or there is a
 * string. */
static bool nest(nesting *in, const char *at, const char *to, const char *end)
{
    while (at != NULL && at < to) {
        const char c = *at;
        if (c == '"') {
            at = skip_string(at, end);
            continue;
        }
        if (c == '{' || c == '[') {
            if (in->depth == SPEC_JSON_DEPTH) return false;
            in->open[in->depth++] = at;
        } else if (c == '}' || c == ']') {
            if (in->depth == 0 || *in->open[--in->depth] != (c == '}' ? '{' : '[')) return false;
        }
        at++;
    }
    return at == to;
}

/* Parses the value that begins at `at`; *ret_end is the byte after it. The key appears in
 * messages. */
static int load(json_t **ret, const char **ret_end, const char *at, const spec_json_place *place,
                const char *key, spec_error *error)
{
    spec_log_record record = *place->record;
    json_error_t why;
    const char *end = place->element.bytes + place->element.n;
    *ret = spec_json_load_within(MEMORY, at, (size_t)(end - at), FLAGS, &why);
    *ret_end = at + why.position;
    if (*ret != NULL) return GSL_SUCCESS;
    if (spec_json_lost()) return spec_no_memory_for(error, record.file);
    if (json_error_code(&why) == json_error_premature_end_of_input)
        return spec_log_bad(&record, error,
                            "the JSON object with '%s' has no end; is the record truncated?", key);
    for (const char *c = record.bytes; c < at; c++) record.line += *c == '\n';
    record.line += (uint64_t)why.line - 1;
    return spec_log_bad(&record, error, "malformed JSON: %.140s", why.text);
}

static int each_in_element(spec_json_place *place, const char *key, spec_json_take *take,
                           const void *self, spec_error *error)
{
    const spec_json_part element = place->element;
    const char *end = element.bytes + element.n, *at = element.bytes, *value;
    nesting in;
    in.depth = 0;
    place->alone = true;
    for (const char *found; (found = find_key(&value, at, element, key)) != NULL;) {
        if (!nest(&in, at, found, end) || in.depth == 0 || *in.open[in.depth - 1] != '{')
            return spec_log_bad(place->record, error,
                                "malformed JSON, or nested deeper than %d, before the key '%s'",
                                SPEC_JSON_DEPTH, key);
        const char *object = in.open[--in.depth];
        int status = load(&place->object, &at, object, place, key, error);
        if (status != GSL_SUCCESS) return status;
        place->text = (spec_json_part){object, (size_t)(at - object)};
        place->alone = place->alone && !spec_json_has(at, (size_t)(end - at), key);
        status = take(place, self, error);
        json_decref(place->object);
        if (status != GSL_SUCCESS) return status;
        place->alone = false;
    }
    return GSL_SUCCESS;
}

/* Returns the first element of an array of objects or arrays; NULL: the text is not such an
 * array. */
static const char *first_element(const char *at, const char *end)
{
    if (at == end || *at != '[') return NULL;
    at = skip_blanks(at + 1, end);
    return at < end && memchr("{[]", *at, 3) != NULL ? at : NULL;
}

int spec_json_each(const spec_log_record *record, spec_log_learned *learned, const char *key,
                   spec_json_take *take, const void *self, spec_error *error)
{
    const char *end = record->bytes + record->n, *begin = skip_blanks(record->bytes, end);
    const spec_json_part whole = {begin, (size_t)(end - begin)};
    spec_json_place place = {.record = record, .learned = learned, .element = whole};
    const char *at = first_element(begin, end);
    if (at == NULL) return each_in_element(&place, key, take, self, error);
    for (bool more = *at != ']'; more; at = more ? skip_blanks(at + 1, end) : at) {
        const char *element = at;
        json_t *value;
        place.element = (spec_json_part){at, (size_t)(end - at)};
        int status = load(&value, &at, element, &place, key, error);
        if (status != GSL_SUCCESS) return status;
        json_decref(value);
        place.element.n = (size_t)(at - element);
        status = each_in_element(&place, key, take, self, error);
        if (status != GSL_SUCCESS) return status;
        at = skip_blanks(at, end);
        more = at < end && *at == ',';
    }
    if (at == end || *at != ']')
        return spec_log_bad(record, error, "the JSON array has no end; is the record truncated?");
    return GSL_SUCCESS;
}
