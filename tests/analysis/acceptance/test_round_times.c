/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/round_times.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_randist.h>
#include <math.h>

static void assert_time(const spec_round_times *times, int K, double low, double high, double se)
{
    double error = 7.0;
    const spec_bounds bounds = spec_round_times_at(&error, times, K);
    assert_near(bounds.low, low, 1e-13);
    assert_near(bounds.high, high, 1e-13);
    assert_near(error, se, 1e-13);
    assert_same(spec_round_times_at(NULL, times, K).low, bounds.low);
}

/* llama.cpp with a draft head at K = 3: 80.08 tokens/s against 55.56, 51 rounds that accept 46 37
 * 25. */
TEST(one_length_bounds_the_speed_ups_of_shorter_ones)
{
    const double accepted[] = {46, 37, 25}, tokens = 1.0 + 108.0 / 51.0,
                 round = tokens * 55.56 / 80.08;
    assert_prints(round, 3, "2.163");
    assert_prints(tokens / round, 3, "1.441");
    assert_prints(spec_round_times_break_even(round, 3), 3, "0.388");
    const int K[] = {0, 3};
    const double time[] = {1.0, round}, se[] = {0.0, 0.0};
    const spec_round_times times = {2, K, time, se};
    const char *slow[] = {"0.879", "1.215"}, *fast[] = {"1.371", "1.480"};
    double emitted = 1.0;
    for (int k = 1; k <= 2; k++) {
        emitted += accepted[k - 1] / 51.0;
        const spec_bounds bounds = spec_round_times_at(NULL, &times, k);
        assert_prints(emitted / bounds.high, 3, slow[k - 1]);
        assert_prints(emitted / bounds.low, 3, fast[k - 1]);
    }
}

TEST(a_length_that_was_run_has_its_own_time)
{
    const int K[] = {0, 1, 3, 5};
    const double time[] = {1.0, 1.4, 1.5, 2.7}, se[] = {0.0, 0.1, 0.0, 0.2};
    const spec_round_times times = {4, K, time, se};
    for (int i = 0; i < 4; i++) assert_time(&times, K[i], time[i], time[i], se[i]);
}

TEST(one_length_bounds_the_others)
{
    const int K[] = {0, 4};
    const double time[] = {1.0, 2.2}, se[] = {0.05, 0.2};
    const spec_round_times both = {2, K, time, se}, alone = {1, K + 1, time + 1, se + 1};
    assert_time(&both, 1, 1.3, 2.2, 0.2);
    assert_time(&both, 6, 2.2, 2.8, hypot(0.5 * 0.05, 1.5 * 0.2));
    assert_time(&alone, 1, 0.55, 2.2, 0.2);
    assert_time(&alone, 6, 2.2, 3.3, 0.3);
    assert_time(&alone, 0, 0.0, 2.2, 0.2);
    const double faster[] = {1.0, 0.8}; /* a round that is shorter than a plain token */
    assert_time(&(spec_round_times){2, K, faster, se}, 2, 0.8, 0.9, 0.2);
}

TEST(lengths_on_a_line_give_the_line)
{
    const int K[] = {0, 1, 3, 4};
    double time[4] = {1.0}, se[] = {0.0, 0.0, 0.0, 0.0};
    for (int i = 1; i < 4; i++) time[i] = 1.27 + 0.385 * K[i];
    for (int k = 2; k <= 20; k++) {
        const spec_bounds four = spec_round_times_at(NULL, &(spec_round_times){4, K, time, se}, k);
        assert_near(four.low, 1.27 + 0.385 * k, 1e-13); /* plain decoding is not on it */
        assert_same(four.low, four.high);
    }
    assert_time(&(spec_round_times){2, K + 1, time + 1, se}, 7, 1.27 + 7 * 0.385, 1.27 + 7 * 0.385,
                0.0);
    /* With errors: the variance of the line at K by hand, weights 1/.01 and 1/.04. */
    se[1] = 0.1, se[2] = 0.2;
    const double at_7 = hypot(0.1 * (3 - 7) / 2.0, 0.2 * (7 - 1) / 2.0);
    assert_time(&(spec_round_times){2, K + 1, time + 1, se + 1}, 7, 1.27 + 7 * 0.385,
                1.27 + 7 * 0.385, at_7);
}

/* Points off a line: weights, and a scatter that the errors do not explain. */
TEST(points_off_a_line_are_weighted)
{
    const int K[] = {1, 2, 3};
    const double time[] = {1.2, 1.6, 1.7}, exact[] = {0.0, 0.0, 0.0}, small[] = {0.01, 0.01, 0.01},
                 large[] = {1.0, 1.0, 1.0}, mixed[] = {0.0, 0.1, 0.0};
    /* Least squares: mean 1.5 at 2, slope .25; residuals -.05 .1 -.05, squares .015, df 1. */
    const double leverage = sqrt(1.0 / 3.0 + 9.0 / 2.0);
    assert_time(&(spec_round_times){3, K, time, exact}, 5, 2.25, 2.25, sqrt(0.015) * leverage);
    assert_time(&(spec_round_times){3, K, time, small}, 5, 2.25, 2.25, sqrt(0.015) * leverage);
    assert_time(&(spec_round_times){3, K, time, large}, 5, 2.25, 2.25, leverage);
    /* Plain decoding is no point of the line. */
    const int with_plain[] = {0, 1, 2, 3};
    const double plain[] = {1.0, 1.2, 1.6, 1.7}, zeros[4] = {0.0};
    assert_time(&(spec_round_times){4, with_plain, plain, zeros}, 5, 2.25, 2.25,
                sqrt(0.015) * leverage);
    assert_time(&(spec_round_times){3, K, time, small}, 0, 0.0, 1.2, 0.01);
    /* Exact points fix the line. */
    const spec_bounds fixed = spec_round_times_at(NULL, &(spec_round_times){3, K, time, mixed}, 5);
    assert_within(fixed.low, 2.2, 1e-6);
}

TEST(a_line_does_not_fall)
{
    const int K[] = {0, 3, 5};
    const double falls[] = {1.0, 1.9, 1.7}, steep[] = {1.0, 1.3, 2.1}, se[] = {0.0, 0.1, 0.1};
    assert_near(spec_round_times_at(NULL, &(spec_round_times){3, K, falls, se}, 9).low, 1.8, 1e-14);
    assert_near(spec_round_times_at(NULL, &(spec_round_times){3, K, falls, se}, 1).high, 1.8,
                1e-14);
    /* 1.3 - 2 .4 = .5 is less than a plain token. */
    assert_same(spec_round_times_at(NULL, &(spec_round_times){3, K, steep, se}, 1).low, 1.0);
    const spec_round_times without = {2, K + 1, steep + 1, se + 1};
    assert_near(spec_round_times_at(NULL, &without, 1).low, 0.5, 1e-14);
}

/* The standard error is the spread of the line over draws of the times. */
TEST(the_error_of_the_line_is_its_spread)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    gsl_rng_set(rng, (unsigned long)spec_test_seed());
    const int K[] = {1, 4}, n = 20000;
    const double se[] = {0.03, 0.01};
    double squares = 0.0, error = 0.0;
    for (int i = 0; i < n; i++) {
        const double time[] = {1.6 + gsl_ran_gaussian(rng, se[0]),
                               2.4 + gsl_ran_gaussian(rng, se[1])};
        const spec_bounds bounds =
            spec_round_times_at(&error, &(spec_round_times){2, K, time, se}, 6);
        squares += pow(bounds.low - (1.6 + 5 * 0.8 / 3.0), 2.0);
    }
    gsl_rng_free(rng);
    assert_near(squares / n, error * error, 4.9 * sqrt(2.0 / n));
}

TEST(times_outside_the_domain_are_not_known)
{
    const int K[] = {0, 3}, falling[] = {3, 0}, negative[] = {-1, 3};
    const double time[] = {1.0, 2.0}, se[] = {0.1, 0.1};
    const double bad[][2] = {{0.0, 2.0}, {1.0, NAN}, {1.0, INFINITY}, {-1.0, 2.0}};
    assert_time(&(spec_round_times){2, K, time, se}, -1, NAN, NAN, NAN);
    assert_time(&(spec_round_times){0, K, time, se}, 1, NAN, NAN, NAN);
    assert_time(&(spec_round_times){1, K, time, se}, 1, NAN, NAN, NAN); /* plain alone */
    assert_time(&(spec_round_times){2, falling, time, se}, 3, NAN, NAN, NAN);
    assert_time(&(spec_round_times){2, negative, time, se}, 3, NAN, NAN, NAN);
    for (int i = 0; i < 4; i++)
        assert_time(&(spec_round_times){2, K, bad[i], se}, 3, NAN, NAN, NAN);
    for (int i = 1; i < 4; i++)
        assert_time(&(spec_round_times){2, K, time, bad[i]}, 3, NAN, NAN, NAN);
    assert_nan(spec_round_times_break_even(0.0, 3));
    assert_nan(spec_round_times_break_even(NAN, 3));
    assert_nan(spec_round_times_break_even(2.0, 0));
    assert_same(spec_round_times_break_even(0.9, 3), 0.0);
    assert_near(spec_round_times_break_even(2.2, 3), 0.4, 1e-14);
}
