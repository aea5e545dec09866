/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/number_list.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

/* Returns the values of a list, joined by spaces. */
static const char *list(const char *text, char *buffer, size_t size)
{
    OWNED(spec_number_list) numbers;
    spec_error error = {""};
    buffer[0] = '\0';
    if (spec_number_list_parse(&numbers, "alpha", text, &error) != GSL_SUCCESS)
        snprintf(buffer, size, "%s", error.text);
    for (int i = 0; i < numbers.n; i++)
        snprintf(buffer + strlen(buffer), size - strlen(buffer), "%s%s", i > 0 ? " " : "",
                 numbers.value[i]);
    return buffer;
}

TEST(lists_of_numbers_read_as_users_type_them)
{
    const char *const cases[][2] = {
        {"0.5", "0.5"},
        {"0.5,.70, 1e-3", "0.5 0.7 0.001"},
        {"0.5:0.95:0.05", "0.5 0.55 0.6 0.65 0.7 0.75 0.8 0.85 0.9 0.95"},
        {"1:3:1", "1 2 3"},
        {"3:1:-1", "3 2 1"},
        {"1:2:0.4", "1 1.4 1.8"},
        {"-0.1:0.1:0.1", "-0.1 0 0.1"},
        {"1,2:4:1,8", "1 2 3 4 8"},
        {"5:5:1", "5"},
        {"0:0.3:0.1", "0 0.1 0.2 0.3"},
        {"0.1234567890123456", "0.1234567890123456"},
        {"", "alpha: '' is not a number or lo:hi:step"},
        {"1,", "alpha: '1,' has an empty value"},
        {"0.5:0.4:0.1", "alpha: the range '0.5:0.4:0.1' is empty"},
        {"0:1:0", "alpha: the step of '0:1:0' is zero"},
        {"0:1.5", "alpha: '0:1.5' is not lo:hi:step; add a step, as in 0:1.5:0.1"},
        {"0:1:2:3", "alpha: '0:1:2:3' is not lo:hi:step"},
        {"0:1e9:0.5", "alpha: '0:1e9:0.5' has over a million values"},
        {"nan", "alpha: 'nan' is not a number or lo:hi:step"},
        {"inf", "alpha: 'inf' is not a number or lo:hi:step"},
        {"0:inf:1", "alpha: '0:inf:1' is not a number or lo:hi:step"},
        {"0:1:1e-300", "alpha: '0:1:1e-300' has over a million values"},
        {"-1e308:1e308:1", "alpha: '-1e308:1e308:1' has over a million values"},
        {"x", "alpha: 'x' is not a number or lo:hi:step"},
    };
    char buffer[600];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(list(cases[i][0], buffer, sizeof buffer), cases[i][1]);
}

TEST(numbers_print_so_that_they_read_back_the_same)
{
    const double values[] = {0.1, 1.0 / 3.0, 1e-300, 123456789.125, -0.27, 2.385, 7e9, 1e17 + 16};
    char buffer[SPEC_NUMBER_SIZE];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        assert_same(strtod(spec_number_list_text(values[i], buffer), NULL), values[i]);
    assert_string_equal(spec_number_list_text(0.1, buffer), "0.1");
    assert_string_equal(spec_number_list_text(7e9, buffer),
                        "7000000000"); /* readable as a whole number */
    assert_string_equal(spec_number_list_text(1e6, buffer), "1000000");
    assert_string_equal(spec_number_list_text(1e15, buffer), "1e+15");
    assert_string_equal(spec_number_list_text(12345678, buffer), "12345678");
}
