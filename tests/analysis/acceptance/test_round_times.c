/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/round_times.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_rng.h>
#include <math.h>

static void assert_time(const spec_round_times *times, int K, double low, double high)
{
    const spec_bounds bounds = spec_round_times_at(times, K);
    assert_near(bounds.low, low, 1e-13);
    assert_near(bounds.high, high, 1e-13);
}

/* llama.cpp with a draft head at K = 3: 80.08 tokens/s against 55.56, and 51 rounds that accept 46,
 * 37 and 25 tokens by depth. */
TEST(one_length_bounds_the_speed_ups_of_shorter_ones)
{
    const double tokens = 1.0 + 108.0 / 51.0, round = tokens * 55.56 / 80.08;
    assert_prints(round, 3, "2.163");
    assert_prints(tokens / round, 3, "1.441");
    assert_prints(spec_round_times_break_even(round, 3), 3, "0.388");
    const int K[] = {0, 3};
    const double time[] = {1.0, round};
    const spec_round_times times = {2, K, time};
    assert_time(&times, 1, 1.0, round);
    assert_time(&times, 2, round * 2.0 / 3.0, round);
}

TEST(a_length_that_was_run_has_its_own_time)
{
    const int K[] = {0, 1, 3, 5};
    const double time[] = {1.0, 1.4, 1.5, 2.7};
    const spec_round_times times = {4, K, time};
    for (int i = 0; i < 4; i++) assert_time(&times, K[i], time[i], time[i]);
}

TEST(one_length_bounds_the_others)
{
    const int K[] = {0, 4};
    const double time[] = {1.0, 2.2};
    const spec_round_times both = {2, K, time}, alone = {1, K + 1, time + 1};
    assert_time(&both, 1, 1.0, 2.2);
    assert_time(&both, 3, 1.65, 2.2);
    assert_time(&both, 6, 2.2, 3.3);
    assert_time(&alone, 1, 0.55, 2.2);
    assert_time(&alone, 6, 2.2, 3.3);
    assert_same(spec_round_times_at(&alone, 0).high, 2.2); /* no longer than a round */
    const double faster[] = {1.0, 0.8}; /* a round that takes less time than a plain token */
    assert_time(&(spec_round_times){2, K, faster}, 2, 0.8, 1.0);
}

/* Times of 1.4, 1.5 and 2.7 at K = 1, 3 and 5. Between two of them the bounds are their chord and
 * the neighbouring chords, continued; beyond the last one, the last chord, continued, and
 * proportion to K. */
TEST(chords_bound_the_times_between_and_beyond)
{
    const int K[] = {0, 1, 3, 5};
    const double time[] = {1.0, 1.4, 1.5, 2.7};
    const spec_round_times times = {4, K, time}, two = {3, K, time};
    assert_time(&times, 2, 1.4, 1.45); /* the chord 3..5 is at .9 there */
    assert_time(&times, 4, 1.55, 2.1); /* the chord 1..3, continued */
    assert_time(&two, 5, 1.6, 2.5);
    /* The last chord rises faster than in proportion to K, so the bounds are the hull of both. */
    const spec_bounds hull = spec_round_times_at(&times, 6);
    assert_near(hull.low, 2.7 * 6.0 / 5.0, 1e-13);
    assert_near(hull.high, 3.3, 1e-13);
}

/* Engines with fixed costs, costs per token and a knee, as on a roofline, measured at 2 and 6, or
 * at 3, 4 and 8. */
TEST(flat_and_then_rising_times_lie_within_the_bounds)
{
    static const int lengths[][3] = {{2, 6, 6}, {3, 4, 8}, {5, 5, 5}};
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus2, spec_test_seed());
    double widest = 0.0;
    for (int trial = 0; trial < 600; trial++) {
        const int *run = lengths[trial % 3], n = trial % 3 == 2 ? 2 : trial % 3 == 1 ? 4 : 3;
        const double fixed = 0.3 * gsl_rng_uniform(rng), each = 0.1 * gsl_rng_uniform(rng),
                     rise = 0.1 * gsl_rng_uniform(rng), knee = 10.0 * gsl_rng_uniform(rng);
        int K[4] = {0};
        double time[4] = {1.0}, truth[13];
        for (int k = 0; k <= 12; k++)
            truth[k] = 1.0 + fixed + each * k + rise * fmax(0.0, k - knee);
        for (int i = 1; i < n; i++) {
            K[i] = run[i - 1];
            time[i] = truth[K[i]];
        }
        for (int k = 1; k <= 12; k++) {
            const spec_bounds bounds = spec_round_times_at(&(spec_round_times){n, K, time}, k);
            assert_true(bounds.low <= truth[k] + 1e-12 && truth[k] <= bounds.high + 1e-12);
            widest = fmax(widest, bounds.high - bounds.low);
        }
    }
    assert_true(widest > 0.5);
}

TEST(times_outside_the_domain_are_not_known)
{
    const int K[] = {0, 3}, falling[] = {3, 0}, negative[] = {-1, 3};
    const double time[] = {1.0, 2.0};
    const double bad[][2] = {{0.0, 2.0}, {1.0, NAN}, {1.0, INFINITY}, {-1.0, 2.0}};
    assert_time(&(spec_round_times){2, K, time}, -1, NAN, NAN);
    assert_time(&(spec_round_times){0, K, time}, 1, NAN, NAN);
    assert_time(&(spec_round_times){1, K, time}, 1, NAN, NAN); /* plain alone */
    assert_time(&(spec_round_times){2, falling, time}, 3, NAN, NAN);
    assert_time(&(spec_round_times){2, negative, time}, 3, NAN, NAN);
    for (int i = 0; i < 4; i++) assert_time(&(spec_round_times){2, K, bad[i]}, 3, NAN, NAN);
    assert_nan(spec_round_times_break_even(0.0, 3));
    assert_nan(spec_round_times_break_even(NAN, 3));
    assert_nan(spec_round_times_break_even(2.0, 0));
    assert_same(spec_round_times_break_even(0.9, 3), 0.0);
    assert_near(spec_round_times_break_even(2.2, 3), 0.4, 1e-14);
}
