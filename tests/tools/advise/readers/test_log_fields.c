/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tools/advise/readers/log_fields.h"

#include <string.h>

enum { DRAFTED, LENGTH, CALLS, PAIR };
static const spec_log_field fields[] = {
    {"Drafted: ", "tokens", SPEC_LOG_COUNT, true, DRAFTED},
    {"Draft tokens: ", "tokens", SPEC_LOG_COUNT, false, DRAFTED},
    {"length = ", NULL, SPEC_LOG_MEAN, false, LENGTH},
    {"rates: (", ")", SPEC_LOG_RATES, false, 0},
    {"calls = ", "/", SPEC_LOG_COUNT, false, CALLS},
    {NULL, "%", SPEC_LOG_REAL, false, PAIR},
    {0},
};
static const spec_log_line free_line = {"line", NULL, fields};
static const spec_log_line strict_line = {"line", ", ", fields};
static spec_log_numbers numbers;

/* "" or the error. */
static const char *read_text(const spec_log_line *line, const char *text)
{
    static spec_error error;
    const spec_log_record record = {.bytes = text, .n = strlen(text), .file = "a.log", .line = 7};
    spec_log_scan scan = spec_log_scan_of(&record);
    error.text[0] = '\0';
    spec_log_fields_read(&numbers, line, &scan, &error);
    return error.text;
}

TEST(fields_come_in_any_order_with_any_text_between)
{
    assert_string_equal(read_text(&free_line, "x length = 2.590 y calls = 4 / 53.1% rates: (0.805, "
                                              "0.632, nan) Drafted: 3000 tokens z"),
                        "");
    assert_same(numbers.value[DRAFTED], 3000);
    assert_same(numbers.value[LENGTH], 2.59);
    assert_int_equal(numbers.decimals[LENGTH], 3);
    assert_same(numbers.value[CALLS], 4);
    assert_same(numbers.value[PAIR], 53.1);
    assert_int_equal(numbers.n, 3);
    assert_int_equal(numbers.list_decimals, 3);
    assert_same(numbers.list[1], 0.632);
    assert_true(isnan(numbers.list[2]));
    assert_string_equal(read_text(&strict_line, "Draft tokens: 3 tokens, length = nan"), "");
    assert_same(numbers.value[DRAFTED], 3);
    assert_true(spec_log_numbers_has(&numbers, LENGTH) && isnan(numbers.value[LENGTH]));
    assert_false(spec_log_numbers_has(&numbers, CALLS));
    assert_true(isnan(numbers.value[CALLS]));
    assert_string_equal(read_text(&free_line, "Drafted: 3 tokens rates: ()"), "");
    assert_int_equal(numbers.n, 0);
}

TEST(malformed_lines_say_what_was_expected)
{
    static const struct {
        const spec_log_line *line;
        const char *text, *error;
    } cases[] = {
        {&free_line, "length = 3",
         "a.log:7: line: expected 'Drafted: ' before the end; the line is truncated"},
        {&free_line, "Drafted: 3 tok", "a.log:7: Drafted: expected 'tokens', not ' tok'"},
        {&free_line, "Drafted: 3 tokensINFO",
         "a.log:7: Drafted: expected 'tokens', not ' tokensINFO'"},
        {&free_line, "Drafted: 3.5 tokens",
         "a.log:7: Drafted: expected the end of the number, not '.5 tokens'"},
        {&free_line, "Drafted: 3 tokens Draft tokens: 4 tokens",
         "a.log:7: Draft tokens: occurs twice; two lines are mixed up"},
        {&free_line, "Drafted: 3 tokens rates: (0.5, 0.6)",
         "a.log:7: rates: expected rates that do not rise with depth, not 0.6 at depth 2"},
        {&free_line, "Drafted: 3 tokens rates: (1.5)",
         "a.log:7: rates: expected fractions of 1 decimals, not 1.5; the line is truncated or has "
         "another one in it"},
        {&free_line, "Drafted: 3 tokens rates: (0.5, 0.41)",
         "a.log:7: rates: expected fractions of 1 decimals, not 0.41; the line is truncated or has "
         "another one in it"},
        {&free_line, "Drafted: 3 tokens rates: (0.5, 0.4", "a.log:7: rates: expected ')', not ''"},
        {&free_line, "Drafted: 3 tokens rates: (0,5, 0,4)",
         "a.log:7: rates: expected a decimal point, not the comma of '0,5'; run the engine with "
         "LC_ALL=C"},
        {&free_line, "Drafted: 3 tokens calls = 4 / x",
         "a.log:7: calls: expected a number, not 'x'"},
        {&strict_line, "Drafted: 3 tokens; length = 2", ""},
        {&strict_line, "length = 3, x Drafted: 3 tokens",
         "a.log:7: line: expected a field such as 'Drafted: ', not 'x Drafted: 3 tokens'"},
        {&strict_line, "x Drafted: 3 tokens",
         "a.log:7: line: expected a field such as 'Drafted: ', not 'x Drafted: 3 tokens'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(read_text(cases[i].line, cases[i].text), cases[i].error);
}

TEST(lists_have_at_most_64_numbers)
{
    char many[1000] = "Drafted: 3 tokens rates: (1";
    for (int i = 1; i < 64; i++) strcat(many, ", 1");
    assert_string_equal(read_text(&free_line, many), "a.log:7: rates: expected ')', not ''");
    assert_int_equal(numbers.n, 64);
    strcat(many, ", 1)");
    assert_string_equal(read_text(&free_line, many), "a.log:7: rates: expected at most 64 numbers");
}
