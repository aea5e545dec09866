/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/json_counts.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

static const spec_log_record record = {.bytes = "", .file = "x", .line = 3, .K = -1};

static json_t *json(const char *text)
{
    json_t *value =
        json_loads(text, JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_REJECT_DUPLICATES, NULL);
    if (value == NULL) fail_msg("%s", text);
    return value;
}

/* Reads a value; if there is an error, it must be NaN. */
static void assert_number(const char *text, spec_json_form form, double expected)
{
    json_t *value = json(text);
    double number = -1.0;
    const int status = spec_json_counts_number(&number, value, form, "steps", &record, NULL);
    assert_same(number, expected);
    assert_int_equal(status, isnan(expected) ? GSL_EINVAL : GSL_SUCCESS);
    json_decref(value);
}

TEST(counts_are_whole_and_exact)
{
    static const struct {
        const char *text;
        double count; /* NaN: refused */
    } cases[] = {{"0", 0},
                 {"43", 43},
                 {"43.0", 43},
                 {"1e3", 1000},
                 {"9007199254740991", 9007199254740991.0},
                 {"9007199254740992", NAN},
                 {"18446744073709551616", NAN},
                 {"-1", NAN},
                 {"0.5", NAN},
                 {"\"3\"", NAN},
                 {"[3]", NAN},
                 {"true", NAN}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        assert_number(cases[c].text, SPEC_JSON_IS_COUNT, cases[c].count);
}

TEST(real_numbers_are_not_negative)
{
    static const struct {
        const char *text;
        double real;
    } cases[] = {{"0", 0.0},
                 {"2", 2.0},
                 {"1.2325581395348837", 1.2325581395348837},
                 {"11082.606", 11082.606},
                 {"1e-3", 1e-3},
                 {"-0.5", NAN},
                 {"\"1\"", NAN}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        assert_number(cases[c].text, SPEC_JSON_IS_REAL, cases[c].real);
}

TEST(a_value_of_another_form_is_shown)
{
    static const struct {
        const char *text, *line;
    } cases[] = {
        {"-3", "x:3: 'steps' is '-3': expected a whole number, at least 0 and below 2^53"},
        {"\"high\"",
         "x:3: 'steps' is '\"high\"': expected a whole number, at least 0 and below 2^53"},
        {"{\"a\": [1, null]}",
         "x:3: 'steps' is '{\"a\":[1.0,null]}': expected a whole number, at least 0 and below "
         "2^53"}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        json_t *value = json(cases[c].text);
        double number;
        assert_fails(
            spec_json_counts_number(&number, value, SPEC_JSON_IS_COUNT, "steps", &record, &error),
            GSL_EINVAL, cases[c].line);
        json_decref(value);
    }
}

static int list_of(double count[SPEC_JSON_ENTRIES], int *n, const char *text, spec_error *error)
{
    json_t *list = json(text);
    const int status = spec_json_counts_list(count, n, list, "h", &record, error);
    json_decref(list);
    return status;
}

TEST(lists_of_counts_are_dense_or_by_index)
{
    static double count[SPEC_JSON_ENTRIES];
    spec_error error = {""};
    int n;
    static const char *const lists[] = {"[39,1, 0 ,3]", "{\"0\": 39, \"1\":1,\"3\":3}",
                                        "{ \"3\":3, \"0\":39 ,\"1\" : 1 }"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        assert_int_equal(list_of(count, &n, lists[i], &error), GSL_SUCCESS);
        assert_int_equal(n, 4);
        static const double expected[] = {39, 1, 0, 3};
        for (int k = 0; k < 4; k++) assert_same(count[k], expected[k]);
    }
    static const char *const empty[] = {"[]", "{}"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        assert_int_equal(list_of(count, &n, empty[i], &error), GSL_SUCCESS);
        assert_int_equal(n, 0);
    }
    assert_works(spec_json_counts_list(count, &n, NULL, "h", &record, &error));
    assert_int_equal(n, 0);
    static const char *const wrong[] = {
        "3",          "\"[1]\"",    "[1,-1]",     "[1,0.5]",
        "[null]",     "{\"a\":1}",  "{\"0\":-1}", "{\"1024\":1}",
        "{\"00\":1}", "{\"-1\":1}", "{\"+1\":1}", "{\"1 \":1}",
        "{\" 1\":1}", "{\"\":1}",   "{\"1x\":1}", "{\"99999999999999999999\":1}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (list_of(count, &n, wrong[i], &error) != GSL_EINVAL) fail_msg("%s is taken", wrong[i]);
    FREED char *text = calloc(1, 4 * SPEC_JSON_ENTRIES);
    for (int entries = SPEC_JSON_ENTRIES; entries <= SPEC_JSON_ENTRIES + 1; entries++) {
        strcpy(text, "[");
        for (int i = 0; i < entries; i++) strcat(text, i > 0 ? ",1" : "1");
        strcat(text, "]");
        assert_int_equal(list_of(count, &n, text, &error),
                         entries > SPEC_JSON_ENTRIES ? GSL_EINVAL : GSL_SUCCESS);
    }
    assert_string_equal(error.text, "x:3: 'h' has more than 1024 entries");
}

/* ---- tables ---------------------------------------------------------------------------------- */

enum { OTHER };
static const spec_json_field fields[] = {
    SPEC_COUNT("new", o.accepted),
    SPEC_COUNT("old", o.accepted),
    SPEC_COUNT("a.b", other[OTHER]),
    SPEC_REAL("ms", o.seconds, 1e-3),
    SPEC_COUNT("*tokens", o.emitted),
    SPEC_LIST("lengths", lengths),
    {0},
};

static spec_json_counts seen;
static const char *key;

static int see(spec_json_counts *counts, const spec_json_place *place, spec_error *error)
{
    (void)error;
    key = spec_json_counts_key(place, fields, SPEC_JSON_MEANS(o.accepted));
    seen = *counts;
    counts->skip = true;
    return GSL_SUCCESS;
}

static int read_text(const char *text, spec_error *error)
{
    const spec_log_record one = {.bytes = text, .n = strlen(text), .file = "x", .line = 3};
    const spec_json_table table = {
        .key = {"ms"}, .kind = SPEC_OBSERVED_WINDOW, .fields = fields, .finish = see};
    spec_log_learned learned = {0};
    return spec_json_counts_each(&one, &learned, &table, error);
}

TEST(fields_have_paths_names_and_units)
{
    assert_works(read_text("{\"use\": {\"tokens\": 12}, \"x\": {\"ms\": 1500, \"old\": 7, "
                           "\"a\": {\"b\": 3}}}",
                           &error));
    assert_true(seen.o.kind == SPEC_OBSERVED_WINDOW && seen.o.line == 3);
    assert_same(seen.o.seconds, 1.5);
    assert_same(seen.o.accepted, 7.0);
    assert_same(seen.other[OTHER], 3.0);
    assert_same(seen.o.emitted, 12.0);
    assert_true(isnan(seen.o.rounds) && isnan(seen.K) && isnan(seen.other[1]));
    assert_string_equal(key, "old");
    /* The first name that is present counts, and the object's own tokens before those of others;
     * null is absent. */
    assert_works(read_text("{\"tokens\": 12, \"x\": {\"ms\": null, \"old\": 7, \"new\": 8, "
                           "\"tokens\": 9, \"a\": 4}}",
                           &error));
    assert_same(seen.o.accepted, 8.0);
    assert_same(seen.o.emitted, 9.0);
    assert_true(isnan(seen.o.seconds) && isnan(seen.other[OTHER]));
    assert_string_equal(key, "new");
    /* If two objects have counts, neither of them owns the tokens beside them. */
    assert_works(read_text("{\"tokens\": 12, \"x\": [{\"ms\": 1}, {\"ms\": 2}]}", &error));
    assert_true(isnan(seen.o.emitted));
    assert_same(seen.o.seconds, 2e-3);
    assert_fails(read_text("{\"ms\": 1, \"old\": -1}", &error), GSL_EINVAL,
                 "x:3: 'old' is '-1': expected a whole number, at least 0 and below 2^53");
}

/* A length includes the round's own token: 4 rounds accept none, 3 accept one, 2 accept three. */
TEST(lengths_count_the_own_token)
{
    static const char *const texts[] = {"{\"ms\": 1, \"lengths\": {\"1\": 4, \"2\": 3, \"4\": 2}}",
                                        "{\"ms\": 1, \"lengths\": [0, 4, 3, 0, 2]}"};
    for (int i = 0; i < 2; i++) {
        assert_works(read_text(texts[i], &error));
        assert_same(seen.o.rounds, 9.0);
        assert_same(seen.o.accepted, 9.0);
        assert_int_equal(seen.o.depths, 3);
        static const double passed[] = {5, 2, 2};
        for (int k = 0; k < 3; k++) assert_same(seen.o.passed[k], passed[k]);
    }
    assert_fails(read_text("{\"ms\": 1, \"lengths\": {\"0\": 4}}", &error), GSL_EINVAL,
                 "x:3: 'lengths' counts rounds without a token");
}
