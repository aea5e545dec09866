/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/json_counts.h"

#include "base/json_memory.h"
#include "speclab/no_memory.h"

#include <stdlib.h>
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
    bool all = true;
    for (; *keys != NULL; keys++) {
        if (**keys == '|' && all) return true;
        all = **keys == '|' ||
              (all && spec_json_has(bytes, n, *keys + (**keys == '!')) != (**keys == '!'));
    }
    return all;
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

/* For functions that have a record and an error. */
#define BAD(...) spec_log_bad(record, error, __VA_ARGS__)

enum { SHOWN = 40 };                           /* bytes of a value in a message */
static const double MOST = 9007199254740992.0; /* 2^53 */

/* ---- values ---------------------------------------------------------------------------------- */

static int bad_value(const json_t *value, const char *expected, const char *key,
                     const spec_log_record *record, spec_error *error)
{
    char shown[SHOWN + 1] = "";
    if (json_is_number(value))
        snprintf(shown, sizeof shown, "%.12g", json_number_value(value));
    else
        json_dumpb(value, shown, SHOWN, JSON_ENCODE_ANY | JSON_COMPACT);
    return BAD("'%s' is '%s': expected %s", key, shown, expected);
}

int spec_json_counts_number(double *ret, const json_t *value, spec_json_form form, const char *key,
                            const spec_log_record *record, spec_error *error)
{
    const double number = json_is_number(value) ? json_number_value(value) : -1.0;
    *ret = NAN;
    if (form == SPEC_JSON_IS_COUNT && !(number >= 0.0 && number < MOST && floor(number) == number))
        return bad_value(value, "a whole number, at least 0 and below 2^53", key, record, error);
    if (!(number >= 0.0)) return bad_value(value, "a number, at least 0", key, record, error);
    *ret = number;
    return GSL_SUCCESS;
}

/* Reads {"0": 39, "3": 3}: the entries of the list that are not 0. */
static int sparse_counts(double *count, int *ret_n, json_t *object, const char *key,
                         const spec_log_record *record, spec_error *error)
{
    const char *name;
    json_t *value;
    json_object_foreach(object, name, value)
    {
        char *end;
        const long index = strtol(name, &end, 10);
        if (*name < '0' || *name > '9' || (*name == '0' && name[1] != '\0') || *end != '\0' ||
            index >= SPEC_JSON_ENTRIES)
            return bad_value(object, "counts by index, as {\"0\": 39, \"3\": 3}", key, record,
                             error);
        while (*ret_n <= index) count[(*ret_n)++] = 0.0;
        SPEC_PASS(
            spec_json_counts_number(&count[index], value, SPEC_JSON_IS_COUNT, key, record, error));
    }
    return GSL_SUCCESS;
}

int spec_json_counts_list(double ret_count[SPEC_JSON_ENTRIES], int *ret_n, json_t *list,
                          const char *key, const spec_log_record *record, spec_error *error)
{
    json_t *entry;
    size_t i;
    *ret_n = 0;
    if (list == NULL) return GSL_SUCCESS;
    if (json_is_object(list)) return sparse_counts(ret_count, ret_n, list, key, record, error);
    if (!json_is_array(list)) return bad_value(list, "a list of counts", key, record, error);
    if (json_array_size(list) > SPEC_JSON_ENTRIES)
        return BAD("'%s' has more than %d entries", key, SPEC_JSON_ENTRIES);
    json_array_foreach(list, i, entry) SPEC_PASS(
        spec_json_counts_number(&ret_count[i], entry, SPEC_JSON_IS_COUNT, key, record, error));
    *ret_n = (int)json_array_size(list);
    return GSL_SUCCESS;
}

/* ---- fields ---------------------------------------------------------------------------------- */

static const char *key_of(const spec_json_field *field)
{
    const char *dot = strrchr(field->path, '.');
    return dot != NULL ? dot + 1 : field->path + (*field->path == '*');
}

/* Returns the value of a field, which the caller must json_decref; NULL: it is absent. */
static json_t *find(const spec_json_place *place, const spec_json_field *field)
{
    const char *path = field->path + (*field->path == '*');
    json_t *value = place->object;
    for (const char *dot; (dot = strchr(path, '.')) != NULL; path = dot + 1) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(dot - path), path);
        value = json_object_get(value, name);
    }
    value = json_incref(json_object_get(value, path));
    if (*field->path == '*' && (value == NULL || json_is_null(value)) && place->alone)
        value = spec_json_find(place->element, path);
    return json_is_null(value) ? NULL : value;
}

static int read_fields(spec_json_counts *c, const spec_json_place *place,
                       const spec_json_field *fields, spec_error *error)
{
    for (const spec_json_field *f = fields; f->path != NULL; f++) {
        void *to = (char *)c + f->meaning;
        double *number = to;
        json_t **list = to, *value = NULL;
        const bool is_list = f->form == SPEC_JSON_IS_LIST;
        int status = GSL_SUCCESS;
        if (is_list ? *list != NULL : !isnan(*number)) continue;
        value = find(place, f);
        if (value == NULL && spec_json_lost())
            return spec_no_memory_for(error, place->record->file);
        if (value == NULL) continue;
        if (is_list) {
            *list = value; /* the object holds it, because no list has a path "*" */
        } else {
            status =
                spec_json_counts_number(number, value, f->form, key_of(f), place->record, error);
            *number *= f->unit;
        }
        json_decref(value);
        if (status != GSL_SUCCESS) return status;
    }
    return GSL_SUCCESS;
}

const char *spec_json_counts_key(const spec_json_place *place, const spec_json_field *fields,
                                 size_t meaning)
{
    const spec_json_field *first = NULL;
    for (const spec_json_field *f = fields; f->path != NULL; f++) {
        if (f->meaning != meaning) continue;
        json_t *value = find(place, f);
        json_decref(value);
        if (value != NULL) return key_of(f);
        if (first == NULL) first = f;
    }
    return first != NULL ? key_of(first) : "";
}

/* ---- identities ------------------------------------------------------------------------------ */

#define KEY(member) spec_json_counts_key(place, fields, SPEC_JSON_MEANS(member))

static int check_all(const spec_json_counts *c, const spec_json_place *place,
                     const spec_json_field *fields, spec_error *error)
{
    const spec_log_record *record = place->record;
    static const size_t means[] = {SPEC_JSON_MEANS(o.rounds), SPEC_JSON_MEANS(o.accepted),
                                   SPEC_JSON_MEANS(o.drafted)};
    const double count[] = {c->o.rounds, c->o.accepted, c->o.drafted};
    const int given = !isnan(count[1]) ? 1 : !isnan(count[0]) ? 0 : 2;
    for (int i = 0; i < 3 && !isnan(count[given]); i++)
        if (isnan(count[i]))
            return BAD("the count '%s' is missing; it belongs with '%s'",
                       spec_json_counts_key(place, fields, means[i]),
                       spec_json_counts_key(place, fields, means[given]));
    return GSL_SUCCESS;
}

/* Takes absent counts from the sums of a histogram. Counts that are given must agree with them. */
static int take_histogram(spec_json_counts *c, const spec_json_place *place,
                          const spec_json_field *fields, spec_error *error)
{
    const spec_log_record *record = place->record;
    spec_observation *o = &c->o;
    /* 1 if the list has an entry before the one for no accepted token */
    const int own = c->histogram == NULL;
    json_t *list = own ? c->lengths : c->histogram;
    if (list == NULL) return GSL_SUCCESS;
    const char *key = own ? KEY(lengths) : KEY(histogram);
    double count[SPEC_JSON_ENTRIES];
    int n;
    const int status = spec_json_counts_list(count, &n, list, key, record, error);
    if (status != GSL_SUCCESS || n == 0) return status;
    if (own && count[0] > 0.0) return BAD("'%s' counts rounds without a token", key);
    n -= own;
    if (o->K >= 0 && (n > o->K + 1 || (json_is_array(list) && n < o->K + 1)))
        return BAD("'%s' has %d entries, '%s' is %d: expected %d", key, n, KEY(K), o->K, o->K + 1);
    double rounds = 0.0, accepted = 0.0;
    for (int i = n; i-- > 0;) {
        /* rounds that accept more than i tokens */
        if (i < SPEC_OBSERVED_DEPTHS) o->passed[i] = rounds;
        rounds += count[i + own];
        accepted += i * count[i + own];
    }
    if (isnan(o->rounds)) o->rounds = rounds;
    if (isnan(o->accepted)) o->accepted = accepted;
    if (o->rounds != rounds)
        return BAD("'%s' has %.0f rounds, '%s' is %.0f", key, rounds, KEY(o.rounds), o->rounds);
    if (o->accepted != accepted)
        return BAD("'%s' has %.0f accepted tokens, '%s' is %.0f", key, accepted, KEY(o.accepted),
                   o->accepted);
    o->depths = o->K >= 0 ? o->K : n - 1;
    if (o->depths > SPEC_OBSERVED_DEPTHS) o->depths = SPEC_OBSERVED_DEPTHS;
    return GSL_SUCCESS;
}

static int check_drafted(const spec_observation *o, const spec_json_place *place,
                         const spec_json_field *fields, spec_error *error)
{
    const spec_log_record *record = place->record;
    if (o->accepted > o->drafted)
        return BAD("'%s' is %.0f, more than '%s', %.0f", KEY(o.accepted), o->accepted,
                   KEY(o.drafted), o->drafted);
    if (o->rounds == 0 && o->drafted > 0)
        return BAD("'%s' is %.0f without a round in '%s'", KEY(o.drafted), o->drafted,
                   KEY(o.rounds));
    if (o->K >= 0 && o->drafted > o->rounds * o->K)
        return BAD("'%s' is %.0f, more than %.0f rounds of %d tokens", KEY(o.drafted), o->drafted,
                   o->rounds, o->K);
    return GSL_SUCCESS;
}

static int read_object(spec_json_counts *ret, const spec_json_place *place,
                       const spec_json_table *table, spec_error *error)
{
    const spec_json_field *fields = table->fields;
    const spec_log_record *record = place->record;
    spec_observation *o = &ret->o;
    *ret = (spec_json_counts){.o = spec_observation_empty(table->kind, record->line),
                              .times = {NAN, NAN, NAN, NAN},
                              .K = NAN};
    for (int i = 0; i < SPEC_JSON_OTHERS; i++) ret->other[i] = NAN;
    SPEC_PASS(read_fields(ret, place, fields, error));
    if (ret->K > SPEC_OBSERVED_DEPTHS)
        return BAD("'%s' is %.0f: expected at most %d", KEY(K), ret->K, SPEC_OBSERVED_DEPTHS);
    if (!isnan(ret->K)) o->K = (int)ret->K;
    if (table->needs_all) SPEC_PASS(check_all(ret, place, fields, error));
    SPEC_PASS(take_histogram(ret, place, fields, error));
    o->rounds_low = o->rounds_high = o->rounds;
    if (!table->widths_vary) SPEC_PASS(check_drafted(o, place, fields, error));
    if (table->finish != NULL) SPEC_PASS(table->finish(ret, place, error));
    return GSL_SUCCESS;
}

static bool is(spec_json_part text, const char *key, const char *word)
{
    const char *value = spec_json_behind_key(text, key);
    const size_t n = strlen(word);
    return value != NULL && (size_t)(text.bytes + text.n - value) >= n &&
           memcmp(value, word, n) == 0;
}

/* Returns whether this is a part of a streamed response, but not the last one. */
static bool is_unfinished(const spec_json_place *place)
{
    const spec_json_part text = place->alone ? place->element : place->text;
    return is(text, "finish_reason", "null") || is(text, "stop", "false");
}

static uint64_t label_of(spec_json_part response)
{
    json_t *model = spec_json_find(response, "model");
    const char *name = json_string_value(model);
    const uint64_t label = name != NULL && *name != '\0' ? spec_log_label(name, strlen(name)) : 0;
    json_decref(model);
    return label;
}

static int take(const spec_json_place *place, const void *self, spec_error *error)
{
    const spec_json_table *table = self;
    const spec_observer *to = place->record->observer;
    spec_json_counts c;
    spec_observation *o = &c.o;
    if (table->streamed && is_unfinished(place)) return GSL_SUCCESS;
    const int status = read_object(&c, place, table, error);
    if (status != GSL_SUCCESS || c.skip) return status;
    o->label ^= label_of(place->element);
    place->learned->generation = c.generation;
    place->learned->gaps = c.gaps | (o->depths > 0 || o->K == 0 ? 0 : SPEC_LOG_NO_DEPTHS) |
                           (isnan(o->rounds) && o->K != 0 ? SPEC_LOG_NO_ROUNDS : 0) |
                           (isnan(o->seconds) && !c.timed ? SPEC_LOG_NO_TIMES : 0);
    return to->take(to->self, o, error);
}

int spec_json_counts_each(const spec_log_record *record, spec_log_learned *learned,
                          const spec_json_table *table, spec_error *error)
{
    const char *const *key = table->key;
    if (table->needs_K != NULL && (record->K < 1 || record->K > SPEC_OBSERVED_DEPTHS))
        return spec_fail(error, GSL_EUNSUP, "%.150s: %s", record->file, table->needs_K);
    while (key[1] != NULL && !spec_json_has(record->bytes, record->n, *key)) key++;
    return spec_json_each(record, learned, *key, take, table, error);
}

/* ---- for the formats ------------------------------------------------------------------------- */

void spec_json_counts_emit(spec_observation *o, double emitted)
{
    o->emitted = emitted;
    const double passes = emitted - 1.0 - o->accepted;
    if (passes >= o->rounds) o->passes = passes;
}

int spec_json_counts_by_tokens(spec_json_counts *c, const spec_json_place *place,
                               const spec_json_field *fields, spec_error *error)
{
    const spec_log_record *record = place->record;
    spec_observation *o = &c->o;
    const bool drafted = !isnan(o->drafted), accepted = !isnan(o->accepted);
    if (drafted != accepted)
        return BAD("'%s' is missing; it belongs with '%s'",
                   drafted ? KEY(o.accepted) : KEY(o.drafted),
                   drafted ? KEY(o.drafted) : KEY(o.accepted));
    if (o->accepted > o->emitted)
        return BAD("'%s' is %.0f, more than '%s', %.0f", KEY(o.accepted), o->accepted,
                   KEY(o.emitted), o->emitted);
    c->skip = !drafted && isnan(o->emitted);
    if (drafted) {
        o->K = record->K;
        /* The first token comes from the prefill; tokens accepted after the end of the output are
         * counted. */
        const double rounds = fmax(o->rounds, o->K > 0 ? ceil(o->drafted / o->K) : 0.0);
        const double passes = o->emitted - o->accepted - 1.0; /* NaN: not known */
        o->passes = !(o->drafted > 0.0) ? o->emitted : passes < rounds ? rounds : passes;
    } else {
        spec_observation_decode_plainly(o, o->emitted);
    }
    return GSL_SUCCESS;
}
