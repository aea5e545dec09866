/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/number_line.h"
#include "tests/support/support.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

TEST(numbers_read_back_bit_for_bit)
{
    static const double real[] = {0.1, -0.0, 4.9e-324, -DBL_MAX, INFINITY, -INFINITY, NAN, -NAN};
    enum { N = sizeof real / sizeof *real };
    spec_memory_text made;
    assert_true(spec_memory_text_open(&made));
    spec_number_line_put_count(made.out, UINT64_MAX);
    for (int i = 0; i < N; i++) spec_number_line_put_real(made.out, real[i]);
    spec_number_line_put_count(made.out, 0);
    FREED char *text = spec_number_line_take(&made);
    spec_number_line in = {.at = text};
    assert_true(spec_number_line_count(&in) == UINT64_MAX);
    for (int i = 0; i < N; i++) {
        const double read = spec_number_line_real(&in);
        if (isnan(real[i])) assert_true(isnan(read));
        else assert_memory_equal(&read, &real[i], sizeof read);
    }
    assert_false(spec_number_line_ended(&in));
    assert_true(spec_number_line_count(&in) == 0 && spec_number_line_ended(&in));
}

TEST(another_text_is_no_count)
{
    static const char *const wrong[] = {"",  "-1",  "+1",   " 1",   "1.5", "0x1p+0",
                                        "x", "nan", "1x 2", "1\t2", "18446744073709551616"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        spec_number_line in = {.at = wrong[i]};
        if (spec_number_line_count(&in) != 0 || !in.failed) fail_msg("read: '%s'", wrong[i]);
        assert_false(spec_number_line_ended(&in));
    }
}

TEST(another_text_is_no_real_number)
{
    static const char *const wrong[] = {"",         "1",        "0.5",      "+0x1p+0", " 0x1p+0",
                                        "--0x1p+0", "infinite", "-nan",    "0x",
                                        "0x1p+0,",  "0x1p+9999", "0x1p-9999", "x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        spec_number_line in = {.at = wrong[i]};
        if (spec_number_line_real(&in) != 0.0 || !in.failed) fail_msg("read: '%s'", wrong[i]);
    }
}

/* One failure is enough: what follows is not read. */
TEST(nothing_is_read_after_a_failure)
{
    spec_number_line in = {.at = "x 7 0x1p+0"};
    assert_true(spec_number_line_count(&in) == 0);
    in.at = "7 0x1p+0";
    assert_true(spec_number_line_count(&in) == 0 && spec_number_line_real(&in) == 0.0);
    assert_false(spec_number_line_ended(&in));
}
