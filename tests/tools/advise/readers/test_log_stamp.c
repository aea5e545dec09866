/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/log_fields.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

static double stamp(const char *text)
{
    return spec_log_stamp(text, strlen(text));
}

TEST(stamps_are_seconds_of_the_year)
{
    assert_same(stamp("01-01 00:00:00"), 0);
    assert_same(stamp("INFO 05-01 14:24:50 [metrics.py:101] "),
                86400.0 * (31 + 29 + 31 + 30) + 3600.0 * 14 + 60.0 * 24 + 50);
    assert_same(stamp("12-31 23:59:60"), 86400.0 * 366);
    assert_same(stamp("2025-03-01T00:00:01Z"), 86400.0 * 60 + 1);
    assert_near(stamp("2025-01-01 00:00:01,250 "), 1.25, 1e-15);
    assert_near(stamp("2025-01-01 00:00:01.5"), 1.5, 1e-15);
}

TEST(days_follow_one_another)
{
    static const int days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int n = 0;
    for (int month = 1; month <= 12; month++)
        for (int day = 1; day <= days[month - 1]; day++) {
            char text[32];
            snprintf(text, sizeof text, "%02d-%02d 00:00:00", month, day);
            assert_same(stamp(text), 86400.0 * n++);
        }
    assert_int_equal(n, 366);
}

TEST(the_last_stamp_counts)
{
    assert_same(stamp("01-02 00:00:00 01-01 00:00:07 99-99 00:00:00"), 7);
}

TEST(other_texts_have_none)
{
    static const char *const texts[] = {"",
                                        "01-01 00:00:0",
                                        "13-01 00:00:00",
                                        "00-01 00:00:00",
                                        "01-32 00:00:00",
                                        "01-00 00:00:00",
                                        "01-01 24:00:00",
                                        "01-01 00:60:00",
                                        "01-01 00:00:61",
                                        "01-01_00:00:00",
                                        "01/01 00:00:00",
                                        "0a-01 00:00:00"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) assert_nan(stamp(texts[i]));
}
