/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/capped_geometric.h"
#include "analysis/cost_curve.h"
#include "analysis/speedup.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

TEST(measured_passes_lie_on_their_curve)
{
    const int width[] = {1, 2, 5, 16};
    const double time[] = {5.4, 5.61, 6.27, 11.19};
    const spec_cost_curve curve = {4, width, time};
    for (int i = 0; i < 4; i++) assert_near(spec_cost_curve_time(&curve, width[i]), time[i], 1e-15);
    assert_near(spec_cost_curve_time(&curve, 3.5), (5.61 + 6.27) / 2.0, 1e-15);
    assert_near(spec_cost_curve_time(&curve, 27.0), 11.19 + (11.19 - 6.27),
                1e-15); /* extrapolates the last slope */
    assert_nan(spec_cost_curve_time(&curve, 0.99));
    assert_nan(spec_cost_curve_time(&curve, NAN));
    assert_nan(spec_cost_curve_time(&(spec_cost_curve){0, width, time}, 1.0));
}

TEST(a_straight_line_is_met_everywhere)
{
    const int width[] = {2, 3, 7, 11, 40};
    double time[5];
    for (int i = 0; i < 5; i++) time[i] = 2.385 + 0.27 * width[i];
    const spec_cost_curve curve = {5, width, time};
    for (int n = 2; n <= 100; n++)
        assert_near(spec_cost_curve_time(&curve, n), 2.385 + 0.27 * n, 1e-13);
    assert_same(spec_cost_curve_time(&curve, 1.0), time[0]); /* flat before its first point */
    const spec_cost_curve one = {1, width, time};
    assert_same(spec_cost_curve_time(&one, 9.0), time[0]);
}

TEST(the_mean_pass_is_that_of_the_widths_that_came)
{
    const int width[] = {1, 4};
    const double time[] = {1.0, 1.6};
    const spec_cost_curve curve = {2, width, time};
    const uint64_t counts[] = {3, 0, 5, 2}; /* passes of 1, 3 and 4 tokens */
    assert_near(spec_cost_curve_mean(&curve, counts, 4), (3 * 1.0 + 5 * 1.4 + 2 * 1.6) / 10.0,
                1e-15);
    assert_near(spec_cost_curve_mean(&curve, counts, 3), (3 * 1.0 + 5 * 1.4) / 8.0, 1e-15);
    assert_nan(spec_cost_curve_mean(&curve, counts + 1, 1));
    assert_nan(spec_cost_curve_mean(&curve, counts, 0));
}

/* With constant acceptance, and passes that all cost as much as one of a single token. */
TEST(a_flat_curve_is_theorem_3_8)
{
    const int width[] = {1, 9};
    const double time[] = {0.0271, 0.0271};
    const spec_cost_curve flat = {2, width, time};
    const double alphas[] = {0.0, 0.27, 0.8, 1.0}, costs[] = {0.0, 0.044, 1.0};
    for (int a = 0; a < 4; a++)
        for (int c = 0; c < 3; c++)
            for (int K = 0; K <= 8; K++) {
                const double emitted = spec_capped_geometric_mean(alphas[a], K);
                const double pass = spec_cost_curve_time(&flat, K + 1);
                assert_near(
                    spec_cost_curve_speedup(emitted, time[0], K * costs[c] * time[0], pass, 0.0),
                    spec_speedup(alphas[a], K, costs[c]), 1e-14);
            }
}

TEST(a_round_pays_for_all_its_parts)
{
    assert_near(spec_cost_curve_speedup(3.3616, 5.4, 1.2, 6.27, 0.31),
                3.3616 * 5.4 / (1.2 + 6.27 + 0.31), 1e-15);
    assert_same(spec_cost_curve_speedup(0.0, 5.4, 1.2, 6.27, 0.31), 0.0);
    assert_nan(spec_cost_curve_speedup(1.0, 1.0, 0.0, 0.0, 0.0));
    const double bad[] = {-1e-300, NAN, INFINITY};
    for (int i = 0; i < 3; i++) {
        assert_nan(spec_cost_curve_speedup(1.0, bad[i], 1.0, 1.0, 1.0));
        assert_nan(spec_cost_curve_speedup(1.0, 1.0, bad[i], 1.0, 1.0));
        assert_nan(spec_cost_curve_speedup(1.0, 1.0, 1.0, bad[i], 1.0));
        assert_nan(spec_cost_curve_speedup(1.0, 1.0, 1.0, 1.0, bad[i]));
    }
    assert_nan(spec_cost_curve_speedup(-1e-300, 1.0, 1.0, 1.0, 1.0));
    assert_nan(spec_cost_curve_speedup(NAN, 1.0, 1.0, 1.0, 1.0));
}
