/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/trend.h"
#include "tests/support/support.h"

/* The values are tenths with equal standard errors: with 0.1 / sqrt(2), a step of 0.2 is the
 * largest that does not count as a difference. */
static spec_trend trend_of(const int *tenths, int n, double se, int *ret_at)
{
    double y[16], errors[16];
    for (int i = 0; i < n; i++) {
        y[i] = tenths[i] / 10.0;
        errors[i] = se;
    }
    return spec_trend_of(y, errors, n, ret_at);
}

TEST(trends_are_what_the_errors_carry)
{
    static const struct {
        int n, y[6];
        spec_trend noisy, exact;
        int at;
    } cases[] = {
        {2, {0, 3}, SPEC_TREND_RISES, SPEC_TREND_RISES, 1},
        {2, {0, 1}, SPEC_TREND_FLAT, SPEC_TREND_RISES, 1},
        {4, {0, 4, 3, 8}, SPEC_TREND_RISES, SPEC_TREND_MIXED, 3},
        {4, {8, 4, 5, 0}, SPEC_TREND_FALLS, SPEC_TREND_MIXED, 0},
        {5, {0, 4, 8, 4, 0}, SPEC_TREND_PEAKS, SPEC_TREND_PEAKS, 2},
        {5, {0, 7, 8, 7, 5}, SPEC_TREND_PEAKS, SPEC_TREND_PEAKS, 2},
        {5, {8, 4, 0, 4, 9}, SPEC_TREND_DIPS, SPEC_TREND_DIPS, 2},
        {6, {0, 9, 0, 9, 0, 9}, SPEC_TREND_MIXED, SPEC_TREND_MIXED, 1},
        {3, {5, 5, 5}, SPEC_TREND_FLAT, SPEC_TREND_FLAT, 0},
        {3, {0, 9, 8}, SPEC_TREND_RISES, SPEC_TREND_PEAKS, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int at = -1;
        assert_int_equal(trend_of(cases[i].y, cases[i].n, 0.0708, &at), cases[i].noisy);
        assert_int_equal(trend_of(cases[i].y, cases[i].n, 0.0, &at), cases[i].exact);
        assert_int_equal(at, cases[i].at);
    }
}

/* 1e-16 and 2e-16, and numbers that agree to ten digits, differ by rounding only. */
TEST(rounding_is_no_trend)
{
    const double tv[] = {1e-16, 2e-16, 7e-14}, nearly[] = {0.123456789, 0.123456789 + 1e-11},
                 none[3] = {0.0};
    int at;
    assert_int_equal(spec_trend_of(tv, none, 3, &at), SPEC_TREND_FLAT);
    assert_int_equal(spec_trend_of(nearly, none, 2, &at), SPEC_TREND_FLAT);
    assert_true(spec_trend_above(1.0, 0.3, 0.0, 0.39));  /* 1 > 2 * 0.492 */
    assert_false(spec_trend_above(1.0, 0.3, 0.0, 0.41)); /* 1 < 2 * 0.508 */
}
