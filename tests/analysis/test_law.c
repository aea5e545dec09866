/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/law.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

TEST(sum_of_a_law)
{
    assert_same(spec_law_sum((double[]){0.25, 0.5, 0.25}, 3), 1.0);
    assert_same(spec_law_sum((double[]){0.25, 0.5, 0.25}, 2), 0.75);
    assert_same(spec_law_sum((double[]){0.0, 0.0}, 2), 0.0);
    assert_same(spec_law_sum(NULL, 0), 0.0);
    assert_nan(spec_law_sum((double[]){1.5, -0.5}, 2));
    assert_nan(spec_law_sum((double[]){-1e-300, 1.0}, 2));
    assert_nan(spec_law_sum((double[]){1.0, NAN}, 2));
    assert_same(spec_law_sum((double[]){1.0, INFINITY}, 2), INFINITY);
}

TEST(whole_is_1_within_1e_9)
{
    assert_true(spec_law_is_whole(1.0));
    assert_true(spec_law_is_whole(1.0 + 0.99e-9));
    assert_true(spec_law_is_whole(1.0 - 0.99e-9));
    assert_false(spec_law_is_whole(1.0 + 1.01e-9));
    assert_false(spec_law_is_whole(1.0 - 1.01e-9));
    assert_false(spec_law_is_whole(0.0));
    assert_false(spec_law_is_whole(2.0));
    assert_false(spec_law_is_whole(INFINITY));
    assert_false(spec_law_is_whole(NAN));
}
