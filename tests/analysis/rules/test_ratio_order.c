/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/rules/ratio_order.h"

#include "analysis/rules/overlap.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/tuples.h"

#include <float.h>

TEST(tokens_stand_by_ratio_then_token_and_undrafted_ones_last_by_target)
{
    /* ratios: 0, 2, inf, 1/2, 2, 0/0, inf, -0/0 */
    double target[8] = {0, 0.2, 0.3, 0.05, 0.3, 0, 0.15, -0.0};
    double draft[8] = {0.65, 0.1, 0, 0.1, 0.15, 0, -0.0, 0};
    int expected[8] = {0, 3, 1, 4, 5, 7, 6, 2};
    OWNED(spec_ratio_order) order;
    assert_int_equal(spec_ratio_order_init(&order, 8), GSL_SUCCESS);
    assert_int_equal(spec_ratio_order_sort(&order, target, draft), GSL_SUCCESS);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(order.token[i], expected[i]);
        assert_within(order.target[i], target[expected[i]], 1e-17);
        assert_within(order.draft[i], draft[expected[i]], 1e-17);
        assert_same(order.ratio[i],
                    order.draft[i] > 0 ? order.target[i] / order.draft[i] : INFINITY);
    }
    assert_int_equal(order.n_drafted, 4);
    assert_true(order.sorted);
    double counts[7] = {0, 1e-300, 0.5, 0.6, 2, 2.1, INFINITY};
    int below[7] = {0, 1, 1, 2, 2, 4, 4};
    for (int i = 0; i < 7; i++)
        assert_int_equal(spec_ratio_order_count(&order, counts[i]), below[i]);
}

TEST(sums_of_prefixes_are_those_of_the_rows)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    enum { V = 2000 };
    static double target[V], draft[V];
    OWNED(spec_ratio_order) order;
    assert_int_equal(spec_ratio_order_init(&order, V), GSL_SUCCESS);
    for (int kind = 0; kind < 4; kind++) {
        tuples_row(target, V, kind, rng);
        tuples_row(draft, V, kind, rng);
        assert_int_equal(spec_ratio_order_sort(&order, target, draft), GSL_SUCCESS);
        long double t = 0, d = 0;
        bool seen[V] = {false};
        for (int i = 0; i <= V; i++) {
            assert_within(order.target_below[i], (double)t, 1e-15);
            assert_within(order.draft_below[i], (double)d, 1e-15);
            assert_within(order.target_above[i], (double)(1 - t), 1e-15);
            assert_within(order.draft_above[i], (double)(1 - d), 1e-15);
            if (i == V) break;
            if (i > 0) assert_true(order.ratio[i] >= order.ratio[i - 1]);
            assert_false(seen[order.token[i]]);
            seen[order.token[i]] = true;
            t += order.target[i];
            d += order.draft[i];
        }
        assert_true(order.target_above[V] == 0 && order.draft_above[V] == 0 &&
                    order.draft_above[order.n_drafted] == 0);
        double overlap = spec_overlap(target, draft, V);
        assert_near(spec_ratio_order_common(&order, 1), overlap, 1e-14);
        double scales[] = {0, 1e-9, 0.27, 1, 2.385, 40, 1e12};
        for (int s = 0; s < 7; s++) {
            long double common = 0, residual = 0;
            for (int x = 0; x < V; x++) {
                common += fmin(target[x], scales[s] * draft[x]);
                residual += fmax(0, target[x] - scales[s] * draft[x]);
            }
            assert_near(spec_ratio_order_common(&order, scales[s]), (double)common, 1e-14);
            assert_within(spec_ratio_order_residual(&order, scales[s]), (double)residual, 1e-15);
        }
    }
}

TEST(extreme_scales_are_limits)
{
    double target[3] = {0.27, 0.5, 0.23}, draft[3] = {0.73, 0.27, 0};
    OWNED(spec_ratio_order) order;
    assert_int_equal(spec_ratio_order_init(&order, 3), GSL_SUCCESS);
    assert_int_equal(spec_ratio_order_sort(&order, target, draft), GSL_SUCCESS);
    assert_same(spec_ratio_order_common(&order, 0), 0);
    assert_same(spec_ratio_order_residual(&order, 0), 1);
    assert_within(spec_ratio_order_common(&order, INFINITY), 0.77, 1e-15);
    assert_within(spec_ratio_order_residual(&order, INFINITY), 0.23, 1e-15);
    assert_within(spec_ratio_order_residual(&order, DBL_MAX), 0.23, 1e-15);
    assert_nan(spec_ratio_order_common(&order, NAN));
    assert_nan(spec_ratio_order_residual(&order, NAN));
    assert_nan(spec_ratio_order_common(&order, -1e-300));
    assert_nan(spec_ratio_order_residual(&order, -1e-300));
    /* equal rows have everything in common, and the residual is exactly 0 */
    assert_int_equal(spec_ratio_order_sort(&order, draft, draft), GSL_SUCCESS);
    assert_same(spec_ratio_order_common(&order, 1), 1);
    assert_same(spec_ratio_order_residual(&order, 1), 0);
    assert_same(spec_ratio_order_residual(&order, 3), 0);
}

TEST(the_sort_sees_the_last_bit_and_takes_minus_zero_for_zero)
{
    double step = 0x1p-54, target[4] = {0.25 + step, 0.25, 0.25, 0.25 - step},
           even[4] = {0.25, 0.25, 0.25, 0.25};
    double minus[4] = {0.5, -0.0, 0.5, 0};
    int last_bit[4] = {3, 1, 2, 0}, zeros[4] = {1, 3, 0, 2};
    OWNED(spec_ratio_order) order;
    assert_int_equal(spec_ratio_order_init(&order, 4), GSL_SUCCESS);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(spec_ratio_order_sort(&order, target, even), GSL_SUCCESS);
        for (int i = 0; i < 4; i++) assert_int_equal(order.token[i], last_bit[i]);
        assert_int_equal(spec_ratio_order_sort(&order, minus, even), GSL_SUCCESS);
        for (int i = 0; i < 4; i++) assert_int_equal(order.token[i], zeros[i]);
        assert_int_equal(order.n_drafted, 4);
    }
    for (int i = 0; i <= 4; i++) order.work[i] = 42; /* this must not change a row */
    for (int i = 0; i <= 4; i++) {
        assert_within(order.draft_above[i], 1 - i / 4.0, 1e-16);
        assert_true(order.target_above[i] <= 1 && order.target_below[i] <= 1 &&
                    order.draft_below[i] <= 1);
    }
    spec_ratio_order_free(&order);
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    enum { V = 50 };
    assert_int_equal(spec_ratio_order_init(&order, V), GSL_SUCCESS);
    for (int i = 0; i < 100; i++) { /* sums of shares round to both sides of 1 */
        double row[V];
        tuples_row(row, V, 0, rng);
        assert_int_equal(spec_ratio_order_sort(&order, row, row), GSL_SUCCESS);
        assert_false(spec_ratio_order_common(&order, 1) > 1);
        assert_false(spec_ratio_order_common(&order, 2) > 1);
    }
}

TEST(what_is_no_law_is_refused_and_gives_nan_until_the_next_sort)
{
    double good[3] = {0.5, 0.3, 0.2}, negative[3] = {1.1, -0.1, 0}, nan_row[3] = {0.5, NAN, 0.5},
           off[3] = {0.5, 0.3, 0.2 + 3e-9};
    double near[3] = {0.5, 0.3, 0.2 + 5e-10}, infinite[3] = {INFINITY, 0, 0};
    const double *bad[4] = {negative, nan_row, off, infinite};
    OWNED(spec_ratio_order) order;
    assert_int_equal(spec_ratio_order_init(&order, 3), GSL_SUCCESS);
    assert_nan(spec_ratio_order_common(&order, 1));
    assert_nan(spec_ratio_order_residual(&order, 1));
    for (int i = 0; i < 4; i++) {
        assert_int_equal(spec_ratio_order_sort(&order, good, good), GSL_SUCCESS);
        assert_int_equal(spec_ratio_order_sort(&order, bad[i], good), GSL_EDOM);
        assert_nan(spec_ratio_order_common(&order, 1));
        assert_int_equal(spec_ratio_order_sort(&order, good, bad[i]), GSL_EDOM);
        assert_nan(spec_ratio_order_residual(&order, 1));
    }
    assert_int_equal(spec_ratio_order_sort(&order, near, good),
                     GSL_SUCCESS); /* each row is divided by its sum */
    assert_within(order.target_below[3], 1, 1e-15);
    assert_within(order.target[2], (0.2 + 5e-10) / (1 + 5e-10), 1e-16);
    assert_int_equal(spec_ratio_order_sort(&order, good, near), GSL_SUCCESS);
    assert_within(order.draft[0], (0.2 + 5e-10) / (1 + 5e-10), 1e-16);
    spec_ratio_order_free(&order);
    spec_ratio_order_free(&order); /* a freed order is zeroed */
    assert_int_equal(spec_ratio_order_init(&order, 0), GSL_EDOM);
    spec_ratio_order_free(&order);
    assert_int_equal(spec_ratio_order_init(&order, 1), GSL_SUCCESS);
    double certain[1] = {1};
    assert_int_equal(spec_ratio_order_sort(&order, certain, certain), GSL_SUCCESS);
    assert_same(spec_ratio_order_common(&order, 1), 1);
}
