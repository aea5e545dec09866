/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/json_part.h"

#include "base/json_memory.h"
#include "speclab/no_memory.h"

#include <string.h>

/* Longest key with its quotes, and longest number; bytes of a value in a message. */
enum { NEEDLE = 64, SHOWN = 40 };
static const double MOST = 9007199254740992.0; /* 2^53 */

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

/* The next quote or bracket. */
static const char *skip_to_structure(const char *at, const char *end)
{
    while (at < end && *at != '"' && *at != '{' && *at != '}' && *at != '[' && *at != ']') at++;
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
    while (at < end && !is_blank(*at) && strchr(",:]}[{\"", *at) == NULL) at++;
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

bool spec_json_part_next(spec_json_part *ret_element, spec_json_part array, size_t *at)
{
    *ret_element = (spec_json_part){0};
    if (*at == array.n || *array.bytes != '[') return false;
    const char *end = array.bytes + array.n, *next = array.bytes + *at;
    if (*at > 0 && *next != ',') return false;
    next = skip_blanks(next + 1, end);
    const char *behind = skip_value(next, end);
    if (behind == NULL) return false;
    *ret_element = (spec_json_part){next, (size_t)(behind - next)};
    *at = (size_t)(skip_blanks(behind, end) - array.bytes);
    return true;
}

/* Is the bracket that closes an array where its elements end? */
static bool ends_at(spec_json_part array, size_t at)
{
    const char *end = array.bytes + array.n;
    const char *rest = at > 0 ? array.bytes + at : skip_blanks(array.bytes + 1, end);
    return rest < end && *rest == ']';
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
    if (!ends_at(whole, at))
        return spec_log_bad(record, error, "the JSON array has no end: is the record cut?");
    return GSL_SUCCESS;
}

/* ---- members of an object -------------------------------------------------------------------- */

static int take_member(spec_json_member *members, spec_json_part key, spec_json_part value,
                       const spec_log_record *record, spec_error *error)
{
    for (spec_json_member *m = members; m->key != NULL; m++) {
        if (!spec_json_part_is(key, m->key)) continue;
        if (m->value.bytes != NULL)
            return spec_log_bad(record, error, "the key '%s' is twice in a JSON object", m->key);
        m->value = value;
    }
    return GSL_SUCCESS;
}

int spec_json_part_members(spec_json_member *members, spec_json_part object,
                           const spec_log_record *record, spec_error *error)
{
    int status = GSL_SUCCESS;
    const char *at = object.bytes, *end = at + object.n;
    if (object.n < 2 || *at != '{') goto malformed;
    at = skip_blanks(at + 1, end);
    if (at < end && *at == '}') goto ended;
    for (;; at = skip_blanks(at + 1, end)) {
        if (at == end || *at != '"') goto malformed;
        const char *key = at + 1;
        at = skip_text(at, end);
        if (at == NULL) goto malformed;
        const spec_json_part name = {key, (size_t)(at - 1 - key)};
        at = skip_blanks(at, end);
        if (at == end || *at != ':') goto malformed;
        const char *value = skip_blanks(at + 1, end);
        at = skip_value(value, end);
        if (at == NULL) goto malformed;
        SPEC_TRY(take_member(members, name, (spec_json_part){value, (size_t)(at - value)}, record,
                             error));
        at = skip_blanks(at, end);
        if (at < end && *at == '}') goto ended;
        if (at == end || *at != ',') goto malformed;
    }
ended:
    for (spec_json_member *m = members; m->key != NULL; m++) {
        if (spec_json_part_is(m->value, "null")) m->value = (spec_json_part){0};
    }
done:
    return status;
malformed:
    return spec_log_bad(record, error, "malformed JSON object '%.*s'",
                        (int)(object.n < SHOWN ? object.n : SHOWN), object.bytes);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static int bad_value(const spec_json_member *member, spec_json_part value, const char *expected,
                     const spec_log_record *record, spec_error *error)
{
    return spec_log_bad(record, error, "'%s' is '%.*s': expected %s", member->key,
                        (int)(value.n < SHOWN ? value.n : SHOWN), value.bytes, expected);
}

/* Digits alone, as most counts have; false: another form. */
static bool short_count(double *ret_count, spec_json_part value)
{
    uint64_t count = 0;
    if (value.n == 0 || value.n > 15 || (value.n > 1 && *value.bytes == '0')) return false;
    for (size_t i = 0; i < value.n; i++) {
        if (value.bytes[i] < '0' || value.bytes[i] > '9') return false;
        count = 10 * count + (uint64_t)(value.bytes[i] - '0');
    }
    *ret_count = (double)count;
    return true;
}

/* Any number of JSON; NaN: another value. */
static int number(double *ret_number, spec_json_part value, const spec_log_record *record,
                  spec_error *error)
{
    *ret_number = NAN;
    if (value.n > NEEDLE) return GSL_SUCCESS;
    json_t *root = spec_json_load(value.bytes, value.n, JSON_DECODE_ANY, NULL);
    if (spec_json_lost()) return spec_no_memory_for(error, record->file);
    if (json_is_number(root)) *ret_number = json_number_value(root);
    json_decref(root);
    return GSL_SUCCESS;
}

static int count_of(double *ret_count, const spec_json_member *member, spec_json_part value,
                    const spec_log_record *record, spec_error *error)
{
    if (short_count(ret_count, value)) return GSL_SUCCESS;
    const int status = number(ret_count, value, record, error);
    if (status != GSL_SUCCESS) return status;
    if (*ret_count >= 0 && *ret_count < MOST && floor(*ret_count) == *ret_count) return GSL_SUCCESS;
    *ret_count = NAN;
    return bad_value(member, value, "a whole number, at least 0 and below 2^53", record, error);
}

int spec_json_part_count(double *ret_count, const spec_json_member *member,
                         const spec_log_record *record, spec_error *error)
{
    *ret_count = NAN;
    if (member->value.bytes == NULL) return GSL_SUCCESS;
    return count_of(ret_count, member, member->value, record, error);
}

int spec_json_part_real(double *ret_real, const spec_json_member *member,
                        const spec_log_record *record, spec_error *error)
{
    *ret_real = NAN;
    if (member->value.bytes == NULL) return GSL_SUCCESS;
    const int status = number(ret_real, member->value, record, error);
    if (status != GSL_SUCCESS || *ret_real >= 0) return status;
    *ret_real = NAN;
    return bad_value(member, member->value, "a number, at least 0", record, error);
}

/* {"0": 39, "3": 3}: the entries of the list that are not 0. */
static int sparse_counts(double *count, int *ret_n, const spec_json_member *member,
                         const spec_log_record *record, spec_error *error)
{
    const spec_json_part object = member->value;
    static const char form[] = "counts by index, as {\"0\": 39, \"3\": 3}";
    const char *at = skip_blanks(object.bytes + 1, object.bytes + object.n);
    const char *end = object.bytes + object.n - 1; /* the bracket */
    while (at < end) {
        const char *key = at + 1;
        double index;
        at = *at == '"' ? skip_text(at, end) : NULL;
        if (at == NULL || !short_count(&index, (spec_json_part){key, (size_t)(at - 1 - key)}) ||
            index >= SPEC_JSON_PART_COUNTS)
            return bad_value(member, object, form, record, error);
        at = skip_blanks(at, end);
        if (at == end || *at != ':') return bad_value(member, object, form, record, error);
        const char *value = skip_blanks(at + 1, end);
        at = skip_value(value, end);
        if (at == NULL) return bad_value(member, object, form, record, error);
        for (; *ret_n <= (int)index; (*ret_n)++) count[*ret_n] = NAN;
        if (!isnan(count[(int)index])) return bad_value(member, object, form, record, error);
        const int status = count_of(&count[(int)index], member,
                                    (spec_json_part){value, (size_t)(at - value)}, record, error);
        if (status != GSL_SUCCESS) return status;
        at = skip_blanks(at, end);
        if (at < end && *at++ != ',') return bad_value(member, object, form, record, error);
        at = skip_blanks(at, end);
    }
    for (int i = 0; i < *ret_n; i++) {
        if (isnan(count[i])) count[i] = 0;
    }
    return GSL_SUCCESS;
}

int spec_json_part_counts(double ret_count[SPEC_JSON_PART_COUNTS], int *ret_n,
                          const spec_json_member *member, const spec_log_record *record,
                          spec_error *error)
{
    const spec_json_part list = member->value;
    *ret_n = 0;
    if (list.bytes == NULL) return GSL_SUCCESS;
    if (*list.bytes == '{') return sparse_counts(ret_count, ret_n, member, record, error);
    if (*list.bytes != '[') return bad_value(member, list, "a list of counts", record, error);
    spec_json_part element;
    size_t at = 0;
    while (spec_json_part_next(&element, list, &at)) {
        if (*ret_n == SPEC_JSON_PART_COUNTS)
            return spec_log_bad(record, error, "'%s' has more than %d entries", member->key,
                                SPEC_JSON_PART_COUNTS);
        const int status = count_of(&ret_count[(*ret_n)++], member, element, record, error);
        if (status != GSL_SUCCESS) return status;
    }
    if (!ends_at(list, at)) return bad_value(member, list, "a list of counts", record, error);
    return GSL_SUCCESS;
}
