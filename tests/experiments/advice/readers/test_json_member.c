/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/readers/json_member.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

static spec_json_part part(const char *text)
{
    return (spec_json_part){text, strlen(text)};
}

static spec_log_record record_of(const char *text)
{
    return (spec_log_record){.bytes = text, .n = strlen(text), .file = "x", .line = 3, .K = -1};
}

static int members(spec_json_member *list, const char *text, spec_error *error)
{
    const spec_log_record record = record_of(text);
    return spec_json_member_find(list, part(text), &record, error);
}

TEST(members_are_those_of_the_object_itself)
{
    spec_json_member m[] = {{.key = "a"}, {.key = "b"}, {.key = "c"}, {.key = "d"}, {0}};
    static const char text[] = "{ \"x\" : {\"a\": 9}, \"b\":[1, 2] ,\"a\":\"b\\\",\\\"c\\\":1\", "
                               "\"d\":null, \"y\":null,\"y\":1}";
    assert_works(members(m, text, &error));
    assert_true(spec_json_part_is(m[0].value, "\"b\\\",\\\"c\\\":1\""));
    assert_true(spec_json_part_is(m[1].value, "[1, 2]"));
    assert_true(m[2].value.bytes == NULL && m[3].value.bytes == NULL);
    spec_json_member none[] = {{.key = "a"}, {0}};
    assert_works(members(none, "{ }", &error));
    assert_null(none[0].value.bytes);
}

TEST(a_malformed_object_is_refused)
{
    static const char *const texts[] = {"{",         "[]",        "{1}",     "{\"a\"}",
                                        "{\"a\":}",  "{\"a\":1",  "{\"a:1}", "{\"a\":1,}",
                                        "{\"a\":1]", "{\"a\" 1}", "{,}",     "{\"a\":[}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        spec_json_member m[] = {{.key = "a"}, {0}};
        char expected[100];
        snprintf(expected, sizeof expected, "x:3: malformed JSON object '%s'", texts[i]);
        assert_fails(members(m, texts[i], &error), GSL_EINVAL, expected);
    }
    spec_json_member m[] = {{.key = "a"}, {0}};
    assert_fails(members(m, "{\"a\":1,\"b\":2,\"a\":1}", &error), GSL_EINVAL,
                 "x:3: the key 'a' is twice in a JSON object");
}

/* A response has its tokens elsewhere; two objects with counts would both take them. */
TEST(an_absent_member_is_searched_in_the_element)
{
    static const struct {
        const char *element, *value;
        bool alone;
    } cases[] = {{"{\"a\":{\"b\":[\"tokens\", {\"tokens\" : 12}]}}", "12", true},
                 {"{\"tokens\":12,\"usage\":{\"tokens\":13}}", "12", true},
                 {"{\"tokens\":null}", NULL, true},
                 {"{\"a\":1}", NULL, true},
                 {"{\"tokens\":12}", NULL, false}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const spec_json_place place = {.element = part(cases[c].element), .alone = cases[c].alone};
        spec_json_member absent = {.key = "tokens"}, given = {"tokens", part("7")};
        spec_json_member_search(&absent, &place);
        spec_json_member_search(&given, &place);
        assert_true(spec_json_part_is(given.value, "7"));
        if (cases[c].value == NULL)
            assert_null(absent.value.bytes);
        else
            assert_true(spec_json_part_is(absent.value, cases[c].value));
    }
}

/* ---- numbers --------------------------------------------------------------------------------- */

TEST(counts_are_whole_and_exact)
{
    static const struct {
        const char *text;
        double count; /* NaN: refused */
    } cases[] = {{"0", 0},
                 {"43", 43},
                 {"43.0", 43},
                 {"1e3", 1000},
                 {"999999999999999", 999999999999999.0},
                 {"9007199254740991", 9007199254740991.0},
                 {"9007199254740992", NAN},
                 {"18446744073709551616", NAN},
                 {"1e400", NAN},
                 {"-1", NAN},
                 {"0.5", NAN},
                 {"007", NAN},
                 {"1,5", NAN},
                 {"0x10", NAN},
                 {"NaN", NAN},
                 {"\"3\"", NAN},
                 {"[3]", NAN},
                 {"true", NAN},
                 {"1000000000000000000000000000000000000000000000000000000000000000000", NAN}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spec_error error = {""};
        const spec_log_record record = record_of("");
        const spec_json_member m = {"steps", part(cases[c].text)};
        double count = -1.0;
        const int status = spec_json_member_count(&count, &m, &record, &error);
        assert_same(count, cases[c].count);
        assert_int_equal(status, isnan(cases[c].count) ? GSL_EINVAL : GSL_SUCCESS);
    }
    const spec_log_record record = record_of("");
    double count = -1.0;
    assert_fails(
        spec_json_member_count(&count, &(spec_json_member){"steps", part("-3")}, &record, &error),
        GSL_EINVAL, "x:3: 'steps' is '-3': expected a whole number, at least 0 and below 2^53");
    assert_works(
        spec_json_member_count(&count, &(spec_json_member){.key = "steps"}, &record, &error));
    assert_true(isnan(count));
}

TEST(real_numbers_are_finite)
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
                 {"1e999", NAN},
                 {"inf", NAN},
                 {"\"1\"", NAN}};
    const spec_log_record record = record_of("");
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spec_error error = {""};
        double real = -1.0;
        const int status = spec_json_member_real(
            &real, &(spec_json_member){"rate", part(cases[c].text)}, &record, &error);
        assert_same(real, cases[c].real);
        assert_int_equal(status, isnan(cases[c].real) ? GSL_EINVAL : GSL_SUCCESS);
    }
    double real = -1.0;
    assert_int_equal(
        spec_json_member_real(&real, &(spec_json_member){.key = "rate"}, &record, NULL),
        GSL_SUCCESS);
    assert_true(isnan(real));
}

TEST(lists_of_counts_are_dense_or_by_index)
{
    static double count[SPEC_JSON_MEMBER_COUNTS];
    const spec_log_record record = record_of("");
    spec_error error = {""};
    int n;
    static const char *const lists[] = {"[39,1, 0 ,3]", "{\"0\": 39, \"1\":1,\"3\":3}",
                                        "{ \"3\":3, \"0\":39 ,\"1\" : 1 }"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        assert_works(spec_json_member_counts(count, &n, &(spec_json_member){"h", part(lists[i])},
                                             &record, &error));
        assert_int_equal(n, 4);
        static const double expected[] = {39, 1, 0, 3};
        for (int k = 0; k < 4; k++) assert_same(count[k], expected[k]);
    }
    static const char *const empty[] = {"[]", "{}", "[ ]", "{ }"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++) {
        assert_works(spec_json_member_counts(count, &n, &(spec_json_member){"h", part(empty[i])},
                                             &record, &error));
        assert_int_equal(n, 0);
    }
    assert_works(
        spec_json_member_counts(count, &n, &(spec_json_member){.key = "h"}, &record, &error));
    assert_int_equal(n, 0);
    static const char *const wrong[] = {"{\"0\":1,}",
                                        "3",
                                        "\"[1]\"",
                                        "[1,-1]",
                                        "[1,0.5]",
                                        "[1 2]",
                                        "[1,]",
                                        "[null]",
                                        "{\"a\":1}",
                                        "{\"0\":-1}",
                                        "{\"0\":1,\"0\":1}",
                                        "{\"1024\":1}",
                                        "{\"00\":1}",
                                        "{\"0\" 1}",
                                        "{\"0\":1 \"1\":2}",
                                        "{0:1}",
                                        "{\"0\":}",
                                        "{\"-1\":1}",
                                        "{\"0\"}"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (spec_json_member_counts(count, &n, &(spec_json_member){"h", part(wrong[i])}, &record,
                                    &error) != GSL_EINVAL)
            fail_msg("%s is taken", wrong[i]);
    }
    FREED char *text = calloc(1, 4 * SPEC_JSON_MEMBER_COUNTS);
    for (int entries = SPEC_JSON_MEMBER_COUNTS; entries <= SPEC_JSON_MEMBER_COUNTS + 1; entries++) {
        strcpy(text, "[");
        for (int i = 0; i < entries; i++) strcat(text, i > 0 ? ",1" : "1");
        strcat(text, "]");
        assert_int_equal(spec_json_member_counts(count, &n, &(spec_json_member){"h", part(text)},
                                                 &record, &error),
                         entries > SPEC_JSON_MEMBER_COUNTS ? GSL_EINVAL : GSL_SUCCESS);
    }
    assert_string_equal(error.text, "x:3: 'h' has more than 1024 entries");
}
