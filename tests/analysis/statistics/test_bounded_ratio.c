/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/statistics/bounded_ratio.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

static void check(const spec_block_interval *got, double value, double se, double low, double high)
{
    assert_near(got->value, value, 0.0);
    assert_near(got->se, se, 0.0);
    assert_near(got->low, low, 0.0);
    assert_near(got->high, high, 0.0);
}

TEST(what_is_known_well_and_possible_is_told_as_it_is)
{
    spec_block_interval ratio = {1.27, 0.03, 1.2, 1.34};
    assert_int_equal(spec_bounded_ratio(&ratio, false, 0.0, 2.385, 2.5), SPEC_RATIO_REPORTED);
    check(&ratio, 1.27, 0.03, 1.2, 1.34);
}

/* 1.36 with the interval 0.98 to 1.8, at one token per round: within noise, but a speed-up of 1.36
 * is impossible. */
TEST(values_and_intervals_are_cut_to_what_is_possible)
{
    spec_block_interval high = {1.36, 0.2, 0.98, 1.8}, ends = {1.36, 0.2, 1.1, 1.8},
                        low = {0.93, 0.04, 0.85, 1.07};
    assert_int_equal(spec_bounded_ratio(&high, false, 0.0, 1.0, 1.0), SPEC_RATIO_REPORTED);
    check(&high, 1.0, 0.2, 0.98, 1.0);
    assert_int_equal(spec_bounded_ratio(&ends, false, 0.0, 1.12, 1.18), SPEC_RATIO_REPORTED);
    check(&ends, 1.12, 0.2, 1.1, 1.18);
    assert_int_equal(spec_bounded_ratio(&low, false, 1.0, INFINITY, INFINITY), SPEC_RATIO_REPORTED);
    check(&low, 1.0, 0.04, 1.0, 1.07);
    spec_block_interval above = {1.36, 0.2, 1.15, 1.8};
    assert_int_equal(spec_bounded_ratio(&above, false, 0.0, 1.12, 1.18), SPEC_RATIO_REPORTED);
    check(&above, 1.12, 0.2, 1.12, 1.18);
}

TEST(a_ratio_known_to_no_better_than_a_factor_of_two_has_an_interval_alone)
{
    spec_block_interval c = {25.2, 17.0, 6.6, 97.0}, just = {1.4, 0.3, 1.0, 2.0},
                        more = {1.4, 0.3, 1.0, 2.001};
    assert_int_equal(spec_bounded_ratio(&c, false, 0.0, INFINITY, INFINITY), SPEC_RATIO_VAGUE);
    check(&c, NAN, NAN, 6.6, 97.0);
    assert_int_equal(spec_bounded_ratio(&just, false, 0.0, 9.0, 9.0), SPEC_RATIO_REPORTED);
    assert_int_equal(spec_bounded_ratio(&more, false, 0.0, 9.0, 9.0), SPEC_RATIO_VAGUE);
    spec_block_interval wide = {2.66, 1.0, 0.9, 8.0}; /* judged before the value is cut */
    assert_int_equal(spec_bounded_ratio(&wide, false, 0.0, 1.12, 1.2), SPEC_RATIO_VAGUE);
    check(&wide, NAN, NAN, 0.9, 1.2);
    spec_block_interval one_text = {1.4, NAN, NAN, NAN};
    assert_int_equal(spec_bounded_ratio(&one_text, false, 0.0, 9.0, 9.0), SPEC_RATIO_VAGUE);
    check(&one_text, NAN, NAN, NAN, NAN);
}

TEST(of_what_contradicts_itself_nothing_is_told)
{
    spec_block_interval ratio = {2.66, 0.1, 2.4, 2.9};
    assert_int_equal(spec_bounded_ratio(&ratio, true, 0.0, 1.12, 1.2), SPEC_RATIO_IMPOSSIBLE);
    check(&ratio, NAN, NAN, NAN, NAN);
}
