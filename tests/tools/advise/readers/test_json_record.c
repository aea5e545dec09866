/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/json_counts.h"

#include "sim/chance/rng.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

static spec_log_record record_of(const char *text)
{
    return (spec_log_record){.bytes = text, .n = strlen(text), .file = "x", .line = 3, .K = -1};
}

static bool has(const char *text)
{
    return spec_json_has(text, strlen(text), "key");
}

TEST(a_key_is_not_a_text_that_looks_like_one)
{
    assert_true(has("{\"key\":1}"));
    assert_true(has("{\"a\": [{\"key\" \t\r\n:"));
    assert_true(has("{\"a\":\"key\",\"key\":1}"));
    assert_true(has("{\"a\":\"\\\\\",\"key\":1}")); /* a text that ends with a backslash */
    assert_false(has("{\"a\":\"key\"}"));
    assert_false(has("{\"a\":\"{\\\"key\\\": 1}\"}"));
    assert_false(has("{\"a \\\"key\": 1}"));
    assert_false(has("{\"akey\": 1, \"keys\": 2}"));
    assert_false(has("{\"key\""));
    assert_false(has(""));
    /* A key that is longer than any key of an engine. */
    static const char longer[] = "0123456789012345678901234567890123456789012345678901234567890123";
    assert_false(spec_json_has("\"", 1, longer));
}

static void assert_found(const char *text, const char *value)
{
    json_t *found = spec_json_find((spec_json_part){text, strlen(text)}, "key");
    FREED char *shown = json_dumps(found, JSON_ENCODE_ANY | JSON_COMPACT);
    if (value == NULL ? found != NULL : shown == NULL || strcmp(shown, value) != 0)
        fail_msg("'%s', not '%s'", shown != NULL ? shown : "", value != NULL ? value : "");
    json_decref(found);
}

TEST(a_value_ends_where_its_brackets_or_its_string_end)
{
    assert_found("{\"key\": {\"a\":\"}\",\"b\":[{}]} , \"c\":1}", "{\"a\":\"}\",\"b\":[{}]}");
    assert_found("{\"key\":[1,2],\"key\":3}", "[1.0,2.0]");
    assert_found("{\"key\":-1.5e3}", "-1500.0");
    assert_found("{\"key\":\"a\\\\\\\"]\\\\\"}", "\"a\\\\\\\"]\\\\\"");
    assert_found("{\"key\":null,", "null");
    assert_found("{\"key\": [1", NULL);
    assert_found("{\"key\": \"a\\\"", NULL);
    assert_found("{\"key\": [1}", NULL);
    assert_found("{\"key\": }", NULL);
    assert_found("{\"key\":", NULL);
    assert_found("{}", NULL);
    assert_found("", NULL);
}

/* ---- objects --------------------------------------------------------------------------------- */

static char seen[1024];
static int stop_after;

static int see(const spec_json_place *place, const void *self, spec_error *error)
{
    (void)self, (void)error;
    const size_t n = strlen(seen);
    snprintf(seen + n, sizeof seen - n, "%.*s%s", (int)place->text.n, place->text.bytes,
             place->alone ? "!" : "|");
    return --stop_after == 0 ? GSL_EFAILED : GSL_SUCCESS;
}

static int each(const char *text, spec_error *error)
{
    const spec_log_record record = record_of(text);
    spec_log_learned learned = {.generation = -1};
    seen[0] = '\0';
    return spec_json_each(&record, &learned, "key", see, NULL, error);
}

TEST(objects_with_a_key_are_found_at_any_depth)
{
    static const struct {
        const char *text, *seen;
    } cases[] = {
        {" {\"key\":1}", "{\"key\":1}!"},
        {"{\"a\":{\"b\":[{\"c\":\"}\",\"key\":1}]}}", "{\"c\":\"}\",\"key\":1}!"},
        {"{\"a\":[{\"key\":1},{\"key\":2},{\"k\":3}]}", "{\"key\":1}|{\"key\":2}|"},
        {"[{\"key\":1},{\"a\":{\"key\":2}},3]", "{\"key\":1}!{\"key\":2}!"},
        {"{\"b\":{\"c\":1},\"key\":{\"key\":2}}", "{\"b\":{\"c\":1},\"key\":{\"key\":2}}!"},
        {"{\"a\":\"{\\\"key\\\":1}\",\"b\":\"key\"}", ""},
        {"[]", ""},
        {"[ ]", ""},
        {"", ""},
        {"{\"a\":[", ""}, /* text without the key is not checked */
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        stop_after = 0;
        assert_works(each(cases[c].text, &error));
        assert_string_equal(seen, cases[c].seen);
    }
    stop_after = 2;
    assert_status(each("[{\"key\":1},{\"key\":2},{\"key\":3}]", &error), GSL_EFAILED);
    assert_string_equal(seen, "{\"key\":1}!{\"key\":2}!");
    stop_after = 2;
    assert_status(each("{\"a\":{\"key\":1},\"b\":{\"key\":2},\"c\":{\"key\":3}}", &error),
                  GSL_EFAILED);
}

TEST(an_object_without_an_end_is_refused)
{
    static const char none[] = "x:3: the JSON object with 'key' has no end; is the record "
                               "truncated?";
    static const char array[] = "x:3: the JSON array has no end; is the record truncated?";
    static const char malformed[] =
        "x:3: malformed JSON, or nested deeper than 512, before the key 'key'";
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"{\"key\":1", none},
        {"{\"key\":\"}", none},
        {"{\"key\":[1}", "x:3: malformed JSON: ']' expected near '}'"},
        {"{\n\"key\":\n1,}", "x:5: malformed JSON: string or '}' expected near '}'"},
        {"{\"a\": 1,\n \"b\": {\"key\": NaN}}", "x:4: malformed JSON: invalid token near 'NaN'"},
        {"{\"key\": 1e400}", "x:3: malformed JSON: real number overflow near '1e400'"},
        {"{\"key\": 1, \"key\": 2}", "x:3: malformed JSON: duplicate object key near '\"key\"'"},
        {"{\"a\":{\"key\":1,\"b\":{}", none},
        {"[{\"key\":1}", array},
        {"[{\"key\":1},", none},
        {"[{\"key\":1};", array},
        {"[{\"key\":1},]", "x:3: malformed JSON: unexpected token near ']'"},
        {"[{\"key\":1", none},
        {"\"key\":1", malformed},
        {"{\"a\":[\"key\":1]}", malformed},
        {"{\"a\":]{\"key\":1}", malformed},
        {"{\"a\":1}{\"b\":2}}\"key\":1", malformed},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spec_error error = {""};
        stop_after = 0;
        if (each(cases[c].text, &error) != GSL_EINVAL) fail_msg("%s is taken", cases[c].text);
        assert_string_equal(error.text, cases[c].error);
    }
}

/* Members next to the counts, and text around them, are not parsed. */
TEST(other_members_may_be_anything)
{
    static const char *const texts[] = {
        "{\"a\": NaN, \"b\": {\"key\": 1}, \"c\": Infinity}",
        "{\"a\": 1e999, \"b\": {\"key\": 1}}",
        "{\"a\": \"\\ud800 \xff\", \"b\": {\"key\": 1}}",
        "{\"a\": 1, \"a\": 2, \"b\": {\"key\": 1}}",
        "2026-01-01 INFO [engine] done {\"b\": {\"key\": 1}} in 3 s",
        "[2026-01-01] {\"b\": {\"key\": 1}}",
        "{\"key\": 1, \"seed\": 18446744073709551615, \"text\": \"\\u0000\"}",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        stop_after = 0;
        assert_works(each(texts[i], &error));
        assert_string_equal(seen, i < 6 ? "{\"key\": 1}!"
                                        : "{\"key\": 1, \"seed\": 18446744073709551615, "
                                          "\"text\": \"\\u0000\"}!");
    }
}

TEST(deep_nesting_is_refused_at_its_limit)
{
    enum { DEPTH = SPEC_JSON_DEPTH };
    char text[8 * DEPTH];
    for (int excess = 0; excess < 2; excess++) {
        const size_t open = (size_t)(DEPTH - 1 + excess);
        memset(text, '[', open);
        text[0] = '{'; /* not an array of records */
        memcpy(text + 1, "\"a\":", 4);
        memset(text + 5, '[', open - 1);
        strcpy(text + 4 + open, "{\"key\":1}");
        memset(text + 4 + open + 9, ']', open - 1);
        strcpy(text + 4 + open + 9 + open - 1, "}");
        spec_error error = {""};
        stop_after = 0;
        assert_int_equal(each(text, &error), excess ? GSL_EINVAL : GSL_SUCCESS);
        assert_string_equal(seen, excess ? "" : "{\"key\":1}!");
    }
}

/* ---- a second route: jansson ----------------------------------------------------------------- */

/* Finds the objects with the key in the order of the text; what follows the key in one of them is
 skipped. */
static int objects_in(const json_t *value)
{
    int n = 0;
    const char *key;
    size_t i;
    json_t *child;
    json_object_foreach((json_t *)(uintptr_t)value, key, child)
    {
        if (strcmp(key, "key") == 0) return n + 1;
        n += objects_in(child);
    }
    json_array_foreach((json_t *)(uintptr_t)value, i, child) n += objects_in(child);
    return n;
}

static json_t *random_value(gsl_rng *rng, int depth)
{
    static const char *const texts[] = {"",   "key", "\"key\":1",   "\\", "a\\\"key\\\": {",
                                        "]}", "\"",  "{\"key\": 1}"};
    static const char *const keys[] = {"key", "a", "\"key\"", "\\\"key", "key\\", "}"};
    switch (gsl_rng_uniform_int(rng, depth > 0 ? 5 : 2)) {
    case 0: return json_integer((json_int_t)gsl_rng_uniform_int(rng, 100));
    case 1: return json_string(texts[gsl_rng_uniform_int(rng, 8)]);
    case 2: {
        json_t *array = json_array();
        for (int i = (int)gsl_rng_uniform_int(rng, 4); i > 0; i--)
            json_array_append_new(array, random_value(rng, depth - 1));
        return array;
    }
    default: {
        json_t *object = json_object();
        for (int i = (int)gsl_rng_uniform_int(rng, 5); i > 0; i--)
            json_object_set_new(object, keys[gsl_rng_uniform_int(rng, 6)],
                                random_value(rng, depth - 1));
        return object;
    }
    }
}

static int found;
static int count_object(const spec_json_place *place, const void *self, spec_error *error)
{
    (void)self, (void)error;
    json_t *object = json_loadb(place->text.bytes, place->text.n, JSON_DECODE_INT_AS_REAL, NULL);
    assert_non_null(json_object_get(object, "key"));
    assert_true(json_equal(object, place->object));
    found++;
    json_decref(object);
    return GSL_SUCCESS;
}

/* If the text is cut anywhere, there is an answer or an error, and no byte after the end is
 * read. */
static void read_cut(const char *text, size_t n)
{
    FREED char *bytes = malloc(n + 1);
    assert_non_null(bytes);
    memcpy(bytes, text, n);
    bytes[n] = '\0';
    spec_error error = {""};
    stop_after = 0;
    (void)each(bytes, &error);
}

TEST(random_values_have_the_objects_that_jansson_finds)
{
    OWNED_RNG *rng = spec_rng_alloc();
    assert_non_null(rng);
    spec_rng_stream(rng, spec_test_seed(), 0);
    int objects = 0;
    for (int i = 0; i < 20000; i++) {
        json_t *value = random_value(rng, 5);
        char *text = json_dumps(value, JSON_ENCODE_ANY | (i % 2 ? JSON_COMPACT : JSON_INDENT(1)));
        const spec_log_record record = record_of(text);
        spec_log_learned learned = {0};
        spec_error error = {""};
        found = 0;
        if (spec_json_each(&record, &learned, "key", count_object, NULL, &error) != GSL_SUCCESS)
            fail_msg("%s: %s", error.text, text);
        if (found != objects_in(value)) fail_msg("%d objects in %s", found, text);
        assert_int_equal(has(text), found > 0);
        objects += found;
        read_cut(text, gsl_rng_uniform_int(rng, strlen(text)));
        free(text);
        json_decref(value);
    }
    assert_true(objects > 5000);
}
