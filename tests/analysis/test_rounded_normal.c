/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/rounded_normal.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>

static const double lengths[] = {-3.0, 0.5, 1.0, 2.385, 3.5, 3.61, 9.0, 40.0};
enum { N_LENGTHS = (int)(sizeof lengths / sizeof lengths[0]), MOST = 12 };

/* The density of N(length, 1) between two limits, by Simpson's rule. */
static double mass_between(double from, double to, double length)
{
    enum { STEPS = 2000 };
    double sum = 0.0;
    for (int i = 0; i <= STEPS; i++) {
        const double x = from + (to - from) * i / STEPS - length;
        sum += (i == 0 || i == STEPS ? 1.0 : i % 2 == 1 ? 4.0 : 2.0) * exp(-0.5 * x * x);
    }
    return sum * (to - from) / STEPS / 3.0 / sqrt(2.0 * M_PI);
}

/* The number of tokens is m if the normal number rounds to m; 1 also takes all below, and K + 1 all
 * above. */
TEST(the_law_is_the_mass_that_rounds_to_each_number)
{
    for (int l = 0; l < N_LENGTHS; l++)
        for (int K = 0; K <= MOST; K++) {
            const double length = lengths[l], low = fmin(length, 1.0) - 12.0,
                         high = fmax(length, K + 1.0) + 12.0;
            double mean = 0.0, total = 0.0;
            for (int m = 1; m <= K + 1; m++) {
                const double mass =
                    mass_between(m == 1 ? low : m - 0.5, m == K + 1 ? high : m + 0.5, length);
                const double law = spec_rounded_normal_tail(length, K, m - 1) -
                                   spec_rounded_normal_tail(length, K, m);
                assert_within(law, mass, 1e-9);
                mean += m * mass;
                total += law;
            }
            assert_within(total, 1.0, 1e-15);
            assert_within(spec_rounded_normal_mean(length, K), mean, 1e-7);
        }
}

TEST(edges_are_values)
{
    assert_within(spec_rounded_normal_mean(2.5, 0), 1.0, 0.0);
    assert_within(spec_rounded_normal_mean(3.0, 4), 3.0, 1e-15); /* symmetric within [1, 5] */
    assert_within(spec_rounded_normal_mean(100.0, 4), 5.0, 1e-15);
    assert_within(spec_rounded_normal_mean(-100.0, 4), 1.0, 1e-15);
    assert_within(spec_rounded_normal_tail(2.5, 4, 0), 1.0, 0.0);
    assert_within(spec_rounded_normal_tail(2.5, 4, 2), 0.5, 1e-15);
    assert_within(spec_rounded_normal_tail(2.5, 4, 5), 0.0, 0.0);
    assert_true(isnan(spec_rounded_normal_mean(NAN, 4)));
    assert_true(isnan(spec_rounded_normal_mean(INFINITY, 4)));
    assert_true(isnan(spec_rounded_normal_mean(2.5, -1)));
    assert_true(isnan(spec_rounded_normal_tail(2.5, -1, 0)));
}
