/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/json_part.h"

#include <string.h>

enum { NEEDLE = 64 }; /* bytes of the longest key, with its quotes */

/* ---- the text -------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static const char *skip_blanks(const char *at, const char *end)
{
    while (at < end && is_blank(*at)) at++;
    return at;
}

/* Behind the text that begins at this quote; NULL: it has no end. */
static const char *skip_text(const char *begin, const char *end)
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

/* Asked for each byte of a response: a table, for one branch. */
static bool is_structure(char c)
{
    static const bool yes[256] = {['"'] = 1, ['{'] = 1, ['}'] = 1, ['['] = 1, [']'] = 1};
    return yes[(unsigned char)c];
}

/* The next quote or bracket. */
static const char *skip_to_structure(const char *at, const char *end)
{
    while (at < end && !is_structure(*at)) at++;
    return at;
}

/* Open brackets on the way through a text. */
typedef struct {
    const char *open[SPEC_JSON_PART_DEPTH];
    int depth;
} nesting;

/* Take a bracket; false if it does not fit. */
static bool take_bracket(nesting *in, const char *at)
{
    if (*at == '{' || *at == '[') {
        if (in->depth == SPEC_JSON_PART_DEPTH) return false;
        in->open[in->depth++] = at;
        return true;
    }
    return in->depth > 0 && *in->open[--in->depth] == (*at == '}' ? '{' : '[');
}

/* Behind the value that begins here; NULL: it has no end, or its brackets do not match. */
static const char *skip_value(const char *at, const char *end)
{
    if (at == end) return NULL;
    if (*at == '"') return skip_text(at, end);
    if (*at == '{' || *at == '[') {
        nesting in;
        in.depth = 0;
        do {
            at = skip_to_structure(at, end);
            if (at == end) return NULL;
            if (*at == '"') {
                at = skip_text(at, end);
                if (at == NULL) return NULL;
            } else if (!take_bracket(&in, at++)) {
                return NULL;
            }
        } while (in.depth > 0);
        return at;
    }
    const char *begin = at;
    while (at < end && !is_blank(*at) && *at != ',' && *at != ':' && !is_structure(*at)) at++;
    return at > begin ? at : NULL;
}

/* The quote before the next such key from `at`; NULL: none. *ret_value is behind its colon. */
static const char *find_key(const char **ret_value, const char *begin, const char *at,
                            const char *end, const char *key)
{
    char needle[NEEDLE];
    const size_t n = strlen(key) + 2;
    if (n > sizeof needle) return NULL;
    needle[0] = needle[n - 1] = '"';
    memcpy(needle + 1, key, n - 2);
    while (at < end) {
        const char *found = memmem(at, (size_t)(end - at), needle, n);
        if (found == NULL) return NULL;
        at = skip_blanks(found + n, end);
        if (at < end && *at == ':' && (found == begin || found[-1] != '\\')) {
            *ret_value = skip_blanks(at + 1, end);
            return found;
        }
    }
    return NULL;
}

bool spec_json_part_has(const char *bytes, size_t n, const char *key)
{
    const char *value;
    return find_key(&value, bytes, bytes, bytes + n, key) != NULL;
}

spec_json_part spec_json_part_find(spec_json_part part, const char *key)
{
    const char *value;
    if (part.n == 0) return (spec_json_part){0};
    const char *end = part.bytes + part.n;
    if (find_key(&value, part.bytes, part.bytes, end, key) == NULL) return (spec_json_part){0};
    const char *behind = skip_value(value, end);
    return behind != NULL ? (spec_json_part){value, (size_t)(behind - value)} : (spec_json_part){0};
}

/* First byte of the next item of a list that begins with this bracket; NULL: `list` is another
 * value, or no comma is before the item. */
static const char *next_item(spec_json_part list, char bracket, size_t at)
{
    if (at == list.n || *list.bytes != bracket) return NULL;
    if (at > 0 && list.bytes[at] != ',') return NULL;
    return skip_blanks(list.bytes + at + 1, list.bytes + list.n);
}

/* The value that begins here. Moves *at behind it, and the blanks. */
static bool take_value(spec_json_part *ret_value, const char *begin, spec_json_part list,
                       size_t *at)
{
    const char *end = list.bytes + list.n, *behind = skip_value(begin, end);
    if (behind == NULL) return false;
    *ret_value = (spec_json_part){begin, (size_t)(behind - begin)};
    *at = (size_t)(skip_blanks(behind, end) - list.bytes);
    return true;
}

bool spec_json_part_next(spec_json_part *ret_element, spec_json_part array, size_t *at)
{
    const char *begin = next_item(array, '[', *at);
    *ret_element = (spec_json_part){0};
    return begin != NULL && take_value(ret_element, begin, array, at);
}

bool spec_json_part_next_member(spec_json_part *ret_key, spec_json_part *ret_value,
                                spec_json_part object, size_t *at)
{
    const char *begin = next_item(object, '{', *at), *end = object.bytes + object.n;
    *ret_key = *ret_value = (spec_json_part){0};
    if (begin == NULL || begin == end || *begin != '"') return false;
    const char *behind = skip_text(begin, end);
    if (behind == NULL) return false;
    const char *colon = skip_blanks(behind, end);
    if (colon == end || *colon != ':') return false;
    *ret_key = (spec_json_part){begin + 1, (size_t)(behind - begin) - 2};
    return take_value(ret_value, skip_blanks(colon + 1, end), object, at);
}

bool spec_json_part_ends(spec_json_part list, size_t at)
{
    if (list.n == 0) return false;
    const char *end = list.bytes + list.n;
    const char *rest = at > 0 ? list.bytes + at : skip_blanks(list.bytes + 1, end);
    return rest < end && *rest == (*list.bytes == '{' ? '}' : ']');
}

bool spec_json_part_is(spec_json_part part, const char *text)
{
    return part.bytes != NULL && part.n == strlen(text) && memcmp(part.bytes, text, part.n) == 0;
}

uint64_t spec_json_part_model(spec_json_part part)
{
    const spec_json_part name = spec_json_part_find(part, "model");
    return name.n > 2 && *name.bytes == '"' ? spec_log_label(name.bytes, name.n) : 0;
}

/* ---- objects with a key ---------------------------------------------------------------------- */

static int each_in_element(spec_json_place *place, const char *key,
                           int (*take)(const spec_json_place *place, spec_error *error),
                           spec_error *error)
{
    const char *begin = place->element.bytes, *end = begin + place->element.n, *at = begin, *value;
    nesting in;
    in.depth = 0;
    bool first = true;
    for (const char *found; (found = find_key(&value, begin, at, end, key)) != NULL;) {
        while (at < found) {
            at = skip_to_structure(at, found);
            if (at == found) break;
            if (*at == '"') {
                at = skip_text(at, end);
                if (at == NULL) break;
            } else if (!take_bracket(&in, at++)) {
                at = NULL;
                break;
            }
        }
        if (at == NULL || at > found || in.depth == 0 || *in.open[in.depth - 1] != '{')
            return spec_log_bad(place->record, error,
                                "malformed JSON, or nested deeper than %d, before the key '%s'",
                                SPEC_JSON_PART_DEPTH, key);
        const char *object = in.open[--in.depth];
        at = skip_value(object, end);
        if (at == NULL)
            return spec_log_bad(place->record, error,
                                "the JSON object with '%s' has no end: is the record cut?", key);
        place->object = (spec_json_part){object, (size_t)(at - object)};
        place->alone = first && !spec_json_part_has(at, (size_t)(end - at), key);
        first = false;
        const int status = take(place, error);
        if (status != GSL_SUCCESS) return status;
    }
    return GSL_SUCCESS;
}

int spec_json_part_each(const spec_log_record *record, spec_log_learned *learned, const char *key,
                        int (*take)(const spec_json_place *place, spec_error *error),
                        spec_error *error)
{
    const char *end = record->bytes + record->n, *begin = skip_blanks(record->bytes, end);
    const spec_json_part whole = {begin, (size_t)(end - begin)};
    spec_json_place place = {.record = record, .learned = learned, .element = whole};
    if (whole.n == 0 || *begin != '[') return each_in_element(&place, key, take, error);
    size_t at = 0;
    while (spec_json_part_next(&place.element, whole, &at)) {
        const int status = each_in_element(&place, key, take, error);
        if (status != GSL_SUCCESS) return status;
    }
    if (!spec_json_part_ends(whole, at))
        return spec_log_bad(record, error, "the JSON array has no end: is the record cut?");
    return GSL_SUCCESS;
}
