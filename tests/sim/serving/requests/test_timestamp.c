/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/requests/timestamp.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>
#include <time.h>

/* Known answers from `date -u -d TEXT +%s`. */
TEST(dates_are_seconds_since_1970)
{
    static const struct {
        const char *text;
        int64_t seconds;
        double rest;
    } cases[] = {
        {"1970-01-01 00:00:00", 0, 0.0},
        {"2023-11-16 18:17:03.9799600", 1700158623, 0.97996},
        {"2024-05-10 00:00:00.009930+00:00", 1715299200, 0.00993},
        {"2024-05-12 00:00:00+00:00", 1715472000, 0.0},
        {"2024-02-29T23:59:59Z", 1709251199, 0.0},
        {"2024-03-01T01:30:00.25+05:30", 1709236800, 0.25},
        {"2024-03-01T01:30:00-0800", 1709285400, 0.0},
        {"2000-02-29 12:00:00", 951825600, 0.0},
        {"2100-03-01 00:00:00.1234567890123456789", 4107542400, 0.123456789012345},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spec_timestamp time;
        assert_true(spec_timestamp_parse(&time, cases[c].text));
        assert_true(time.date);
        assert_int_equal(time.seconds, cases[c].seconds);
        assert_same(time.rest, cases[c].rest);
    }
}

/* A second route: the C library's calendar, day by day over 800 years. */
TEST(every_day_agrees_with_the_c_library)
{
    for (int64_t day = 0; day < 800 * 365; day++) {
        const time_t seconds = (time_t)(day * 86400 + 45296);
        struct tm tm;
        char text[64];
        spec_timestamp time;
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", gmtime_r(&seconds, &tm));
        assert_true(spec_timestamp_parse(&time, text));
        assert_int_equal(time.seconds, seconds);
    }
}

TEST(numbers_are_times_in_any_unit)
{
    static const char *const texts[] = {"0", "12.75", "-3", "1787267980.0827403", "1e3"};
    static const double values[] = {0.0, 12.75, -3.0, 1787267980.0827403, 1000.0};
    for (int i = 0; i < 5; i++) {
        spec_timestamp time;
        assert_true(spec_timestamp_parse(&time, texts[i]));
        assert_false(time.date);
        assert_same(time.rest, values[i]);
    }
}

TEST(differences_keep_small_fractions)
{
    spec_timestamp from, to;
    assert_true(spec_timestamp_parse(&from, "2023-11-16 18:17:03.9799600"));
    assert_true(spec_timestamp_parse(&to, "2023-11-16 18:17:04.0319600"));
    assert_within(spec_timestamp_difference(&from, &to), 0.052, 1e-15);
    assert_true(spec_timestamp_parse(&from, "17"));
    assert_true(spec_timestamp_parse(&to, "17.5"));
    assert_same(spec_timestamp_difference(&from, &to), 0.5);
}

TEST(other_texts_are_no_times)
{
    static const char *const texts[] = {"",
                                        "nan",
                                        "inf",
                                        "yesterday",
                                        "2023-11-16",
                                        "2023-11-16 18:17",
                                        "2023-02-29 00:00:00",
                                        "2100-02-29 00:00:00",
                                        "2023-13-01 00:00:00",
                                        "2023-00-01 00:00:00",
                                        "2023-01-00 00:00:00",
                                        "2023-04-31 00:00:00",
                                        "2023-01-01 24:00:00",
                                        "2023-01-01 00:60:00",
                                        "2023-01-01 00:00:61",
                                        "2023-01-01 00:00:00.",
                                        "2023-01-01 00:00:00.x",
                                        "2023-01-01 00:00:00+",
                                        "2023-01-01 00:00:00+1:00",
                                        "2023-01-01 00:00:00+24:00",
                                        "2023-01-01 00:00:00Zx",
                                        "1969-12-31 00:00:00",
                                        "23-01-01 00:00:00",
                                        "2023-01-01  00:00:00",
                                        "2023/01/01 00:00:00"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        spec_timestamp time = {7, 7.0, true};
        if (spec_timestamp_parse(&time, texts[i])) fail_msg("'%s' is read", texts[i]);
        assert_true(time.seconds == 0 && time.rest == 0.0 && !time.date);
    }
}
