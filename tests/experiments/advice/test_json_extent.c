/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/json_extent.h"

#include "sim/chance/rng.h"
#include "tests/support/support.h"

#include <jansson.h>
#include <string.h>

TEST(brackets_of_text_do_not_begin_a_value)
{
    static const char *const value[] = {"{",  "{}", "{\"a\"", "{ \t\"a\"",     "[",
                                        "[]", "[{", "[ {",    "[[{\"a\": 1}]", "{\r"};
    static const char *const text[] = {
        "",       "a",       "[2025-11-05 10:00:00 TP0] Decode batch",
        "[info]", "[ 12 ]",  "{'a': 1}",
        "{a}",    "[\"a\"]", "(",
        "\"a\"",
    };
    for (size_t i = 0; i < sizeof value / sizeof value[0]; i++)
        assert_true(spec_json_extent_begins(value[i], strlen(value[i])));
    for (size_t i = 0; i < sizeof text / sizeof text[0]; i++)
        assert_false(spec_json_extent_begins(text[i], strlen(text[i])));
}

/* Lines of one value; the verdict of the last, and the end on it. */
static spec_json_extent_verdict follow(size_t *ret_end, const char *text)
{
    spec_json_extent extent = {.depth = 0};
    spec_json_extent_verdict verdict = SPEC_JSON_EXTENT_OPEN;
    for (;;) {
        const size_t n = strcspn(text, "\n");
        verdict = spec_json_extent_line(ret_end, &extent, text, n);
        if (verdict != SPEC_JSON_EXTENT_OPEN || text[n] == '\0') return verdict;
        text += n + 1;
    }
}

TEST(values_end_at_their_last_bracket)
{
    static const struct {
        const char *text;
        spec_json_extent_verdict verdict;
        size_t end; /* on the last line */
    } cases[] = {
        {"{}", SPEC_JSON_EXTENT_CLOSED, 2},
        {"{} {}", SPEC_JSON_EXTENT_CLOSED, 2},
        {"{\"a\": \"}\\\"\"}x", SPEC_JSON_EXTENT_CLOSED, 12},
        {"{\"a\\\\\": [1, -2.5e+3, true, null, NaN]}", SPEC_JSON_EXTENT_CLOSED, 38},
        {"{\"a\": {\"b\": [{}, []]}}", SPEC_JSON_EXTENT_CLOSED, 22},
        {"{\n \"a\": [\n 1,\n 2\n ]\n} ", SPEC_JSON_EXTENT_CLOSED, 1},
        {"{\"a\": 1,\n", SPEC_JSON_EXTENT_OPEN, 0},
        {"[\n[\n", SPEC_JSON_EXTENT_OPEN, 0},
        /* a string over a line's end, or without one */
        {"{\"a\n\": 1}", SPEC_JSON_EXTENT_NONE, 0},
        {"{\"a\": \"\\\"}", SPEC_JSON_EXTENT_NONE, 0},
        {"{\"a\": \"\\", SPEC_JSON_EXTENT_NONE, 0},
        /* brackets, commas and colons out of place */
        {"[}", SPEC_JSON_EXTENT_NONE, 0},
        {"{]", SPEC_JSON_EXTENT_NONE, 0},
        {"{\"a\": 1, {\"b\"", SPEC_JSON_EXTENT_NONE, 0},
        {"{\"a\": 1,}", SPEC_JSON_EXTENT_NONE, 0},
        {"[1,]", SPEC_JSON_EXTENT_NONE, 0},
        {"[,", SPEC_JSON_EXTENT_NONE, 0},
        {"[1 {", SPEC_JSON_EXTENT_NONE, 0},
        {"{\"a\" \"b\"", SPEC_JSON_EXTENT_NONE, 0},
        {"{\"a\"::", SPEC_JSON_EXTENT_NONE, 0},
        {"[\"a\":", SPEC_JSON_EXTENT_NONE, 0},
        {"{1", SPEC_JSON_EXTENT_NONE, 0},
        {"{\"a\": 1, 2", SPEC_JSON_EXTENT_NONE, 0},
        {"{\nINFO 05-01 14:24:50", SPEC_JSON_EXTENT_NONE, 0},
        {"[\n(a)", SPEC_JSON_EXTENT_NONE, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t end = 0;
        const spec_json_extent_verdict verdict = follow(&end, cases[i].text);
        if (verdict != cases[i].verdict) fail_msg("%s: %d", cases[i].text, verdict);
        if (verdict == SPEC_JSON_EXTENT_CLOSED) assert_int_equal(end, cases[i].end);
    }
}

TEST(deeper_values_are_text)
{
    char text[SPEC_JSON_EXTENT_DEPTH + 2];
    size_t end;
    memset(text, '[', sizeof text);
    text[SPEC_JSON_EXTENT_DEPTH] = '\0';
    assert_int_equal(follow(&end, text), SPEC_JSON_EXTENT_OPEN);
    text[SPEC_JSON_EXTENT_DEPTH] = '[';
    text[SPEC_JSON_EXTENT_DEPTH + 1] = '\0';
    assert_int_equal(follow(&end, text), SPEC_JSON_EXTENT_NONE);
}

/* Every value that the parser accepts ends here at the same byte. */
TEST(the_parser_ends_values_at_the_same_byte)
{
    static const char *const parts[] = {"{",  "}", "[",    "]",        ",",      ":", "\"a\"",
                                        "12", " ", "true", "\"\\\"\"", "-1.5e3", "x"};
    enum { PARTS = sizeof parts / sizeof parts[0] };
    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    spec_rng_stream(rng, spec_test_seed(), 0);
    int accepted = 0;
    for (int trial = 0; trial < 100000; trial++) {
        char text[200] = "";
        spec_json_extent extent = {.depth = 0};
        json_error_t error;
        size_t end = 0;
        strcpy(text, trial % 2 == 0 ? "{" : "[");
        /* Half of the time the grammar chooses, so that long values come about. */
        for (int i = 0; i < 12; i++) {
            char next[200];
            snprintf(next, sizeof next, "%s%s", text, parts[gsl_rng_uniform_int(rng, PARTS)]);
            spec_json_extent trial_extent = {.depth = 0};
            if (trial % 4 < 2 && spec_json_extent_line(&end, &trial_extent, next, strlen(next)) ==
                                     SPEC_JSON_EXTENT_NONE)
                continue;
            strcpy(text, next);
        }
        json_t *json = json_loads(text, JSON_DISABLE_EOF_CHECK, &error);
        if (json == NULL) continue;
        json_decref(json);
        accepted++;
        assert_int_equal(spec_json_extent_line(&end, &extent, text, strlen(text)),
                         SPEC_JSON_EXTENT_CLOSED);
        assert_int_equal(end, error.position);
    }
    assert_true(accepted > 10000);
}
