/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/support.h"
#include "tools/advise/readers/log_fields.h"

#include <string.h>

static spec_log_record record_of(const char *text)
{
    return (spec_log_record){.bytes = text, .n = strlen(text), .file = "a.log", .line = 7, .K = -1};
}

/* Returns the number in the text as "value decimals", or the error. */
static const char *real(const char *text, char buffer[600])
{
    const spec_log_record record = record_of(text);
    spec_log_scan scan = spec_log_scan_of(&record);
    spec_error error = {""};
    double value;
    int decimals;
    if (spec_log_scan_real(&value, &decimals, &scan, "len", &error) == GSL_SUCCESS)
        snprintf(buffer, 600, "%.17g %d", value, decimals);
    else
        snprintf(buffer, 600, "%s", error.text);
    return buffer;
}

TEST(a_number_is_read_with_its_decimals)
{
    static const char *const cases[][2] = {
        {"2.54", "2.54 2"},
        {"  0, next", "0 0"},
        {"39.330 t/s", "39.329999999999998 3"},
        {"5.", "a.log:7: len: expected the end of the number, not '.'"},
        {"72.055%", "72.055000000000007 3"},
        {"3.00)", "3 2"},
        {"999999999999999", "999999999999999 0"},
        {"0.1234567890123456789", "0.12345678901234 14"},
        {"9999999999999999", "a.log:7: len: expected a number below 1e15, not '9999999999999999'"},
        {"2,54", "a.log:7: len: expected a decimal point, not the comma of '2,5'; run the engine "
                 "with LC_ALL=C"},
        {"2.5,4", "a.log:7: len: expected a decimal point, not the comma of '2.5,4'; run the "
                  "engine with LC_ALL=C"},
        {"-1.0", "a.log:7: len: expected a number, not '-1.0'"},
        {"nan", "a.log:7: len: expected a number, not 'nan'"},
        {"inf", "a.log:7: len: expected a number, not 'inf'"},
        {"+1", "a.log:7: len: expected a number, not '+1'"},
        {".5", "a.log:7: len: expected a number, not '.5'"},
        {"", "a.log:7: len: expected a number, not ''"},
        {"1e3", "a.log:7: len: expected the end of the number, not 'e3'"},
        {"1.2.3", "a.log:7: len: expected the end of the number, not '.3'"},
        {"0x10", "a.log:7: len: expected the end of the number, not 'x10'"},
    };
    char buffer[600];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(real(cases[i][0], buffer), cases[i][1]);
}

/* strtod is the second route, for numbers of up to 15 digits: both round once. */
TEST(numbers_are_those_of_strtod)
{
    uint64_t random = spec_test_seed();
    char text[40], buffer[600], expected[600];
    for (int i = 0; i < 20000; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const int decimals = (int)(random >> 60) % 7;
        const double value = (double)(random >> 24) / 1e4;
        snprintf(text, sizeof text, "%.*f", decimals, value);
        if (strlen(text) > 16) continue;
        snprintf(expected, sizeof expected, "%.17g %d", strtod(text, NULL), decimals);
        assert_string_equal(real(text, buffer), expected);
    }
}

TEST(a_count_is_a_whole_number_up_to_2_to_the_53)
{
    static const char *const cases[][2] = {
        {"  297 generated", "297"},
        {"9007199254740992", "9007199254740992"},
        {"9007199254740994", "a.log:7: n: expected a number up to 2^53"},
        {"99999999999999999999999999", "a.log:7: n: expected a number up to 2^53"},
        {"-3", "a.log:7: n: expected a whole number, not '-3'"},
        {"3.5", "a.log:7: n: expected the end of the number, not '.5'"},
        {"1,024", "a.log:7: n: expected a decimal point, not the comma of '1,0'; run the engine "
                  "with LC_ALL=C"},
        {"12abc", "a.log:7: n: expected the end of the number, not 'abc'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const spec_log_record record = record_of(cases[i][0]);
        spec_log_scan scan = spec_log_scan_of(&record);
        spec_error error = {""};
        double value;
        char text[600];
        if (spec_log_scan_count(&value, &scan, "n", &error) == GSL_SUCCESS)
            snprintf(text, sizeof text, "%.0f", value);
        else
            snprintf(text, sizeof text, "%s", error.text);
        assert_string_equal(text, cases[i][1]);
    }
}

TEST(words_move_the_position_only_where_they_are)
{
    const spec_log_record record = record_of("id  0 | task 12 | x");
    spec_log_scan scan = spec_log_scan_of(&record);
    assert_false(spec_log_scan_find(&scan, "slot"));
    assert_ptr_equal(scan.at, record.bytes);
    assert_false(spec_log_scan_word(&scan, "task"));
    assert_true(spec_log_scan_find(&scan, "| "));
    assert_true(spec_log_scan_word(&scan, "task"));
    assert_works(spec_log_scan_expect(&scan, "12", "task", &error));
    assert_fails(spec_log_scan_expect(&scan, "12", "task", &error), GSL_EINVAL,
                 "a.log:7: task: expected '12', not ' | x'");
    assert_true(spec_log_scan_find(&scan, "x"));
    assert_false(spec_log_scan_word(&scan, "x"));
}

TEST(a_printed_number_is_rounded)
{
    assert_true(spec_log_scan_half_unit(2) == 0.5 / 10.0 / 10.0);
    assert_true(spec_log_scan_half_unit(0) == 0.5);
    assert_false(spec_log_scan_differs(0.27, 2, 0.275));
    assert_false(spec_log_scan_differs(0.27, 2, 0.265));
    assert_true(spec_log_scan_differs(0.27, 2, 0.27501));
    assert_true(spec_log_scan_differs(0.27, 2, 0.26499));
    assert_false(spec_log_scan_differs(NAN, 2, 0.27));
    assert_false(spec_log_scan_differs(0.27, 2, NAN));
}
