/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The best draft length and the break-even alpha, by closed form and by search. */
#include "analysis/capped_geometric.h"
#include "analysis/speedup.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_sf_lambert.h>
#include <stdbool.h>
#include <stdio.h>

/* Finds the smallest of the largest quotients over 0..K_max in extended precision, which separates
 * neighbours. */
static int argmax_of_speedup(double alpha, double c, int K_max)
{
    long double best = 1.0L, emitted = 1.0L, power = 1.0L;
    int best_K = 0;
    for (int K = 1; K <= K_max; K++) {
        power *= alpha;
        emitted += power;
        long double speedup = emitted / (1.0L + (long double)c * K);
        if (speedup > best) {
            best = speedup;
            best_K = K;
        }
    }
    return best_K;
}

TEST(best_K_is_the_smallest_argmax)
{
    for (double alpha = 0.0131; alpha < 1.0; alpha += 0.0173) {
        for (double c = 0.0011; c < 1.3; c = 1.17 * c + 0.0007)
            assert_same(spec_speedup_best_K(alpha, c), argmax_of_speedup(alpha, c, 4000));
    }
    /* Best lengths beyond the longest draft of the decoder: 463 tokens, and thousands. */
    assert_int_equal(argmax_of_speedup(0.99, 1e-4, 5000), 463);
    assert_same(spec_speedup_best_K(0.99, 1e-4), 463.0);
    const double alphas[] = {0.9, 0.99, 0.9973, 0.99951}, cs[] = {3.1e-7, 2.3e-5, 1.7e-3};
    for (int i = 0; i < 4 * 3; i++)
        assert_same(spec_speedup_best_K(alphas[i % 4], cs[i / 4]),
                    argmax_of_speedup(alphas[i % 4], cs[i / 4], 40000));
}

/* Returns whether one more token gains, in extended precision, from E[n_emitted] of both lengths
 * over their times. */
static bool one_more_gains(double alpha, double c, long double K)
{
    const long double rejected = 1.0L - alpha, log_all = (K + 1.0L) * log1pl(-rejected);
    return expl(log_all) * (1.0L + c * K) * rejected > -c * expm1l(log_all);
}

TEST(best_K_is_found_however_far_away)
{
    const double rejected[] = {0.3, 1e-3, 1e-7, 1e-12, 0x1p-53},
                 cs[] = {1e-307, 1e-100, 1e-16, 1e-9, 1e-3, 0.4};
    for (int i = 0; i < 5 * 6; i++) {
        const double alpha = 1.0 - rejected[i % 5], c = cs[i / 5],
                     K = spec_speedup_best_K(alpha, c);
        assert_true(isfinite(K) && K >= 1.0 && floor(K) == K);
        /* The result is exact except for the double next to 1, where the speed-ups of neighbours
         * agree to 25 digits. */
        const double off = i % 5 == 4 ? 4.0 + 4e-16 * K : 0.0;
        assert_true(one_more_gains(alpha, c, K - 1.0 - off) && !one_more_gains(alpha, c, K + off));
        assert_near(spec_speedup_best(alpha, c), spec_speedup(alpha, K, c), 0.0);
    }
    assert_true(spec_speedup_best_K(1.0 - 0x1p-53, 1e-307) > 0x1p62); /* more than any int */
    assert_true(isfinite(spec_speedup_best_K(1.0 - 0x1p-53, 5e-324)));
}

/* Tries round times between any bounds: finds the smallest of the largest quotients in extended
 * precision. */
TEST(the_best_K_of_any_round_time_is_the_smallest_argmax_between_its_bounds)
{
    static const double alphas[] = {0.0, 0.37, 0.83, 0.971, 1.0},
                        cs[] = {0.0043, 0.071, 0.27, 0.83};
    int inner = 0;
    for (int i = 0; i < 5 * 4 * 3 * 3 * 3; i++) {
        const double alpha = alphas[i % 5], c = cs[i / 5 % 4];
        const spec_round_time time = {.fixed = 0.31 + 0.53 * (i / 20 % 3),
                                      .calls = 1.0 + 0.7 * (i / 60 % 3),
                                      .guessed = 0.47 * (i / 180)};
        const int low = i % 7, high = low + 2000 * (1 + i % 3) / 3;
        long double emitted = 0.0L, power = 1.0L, most = 0.0L;
        int best = -1;
        for (int K = 0; K <= high; K++, power *= alpha) { /* power = alpha^K */
            emitted += power;
            const long double quotient =
                emitted / (time.fixed + c * K * (time.calls - time.guessed * power));
            if (K >= low && quotient > most * (1.0L + 1e-17L)) {
                most = quotient;
                best = K;
            }
        }
        const double found = spec_speedup_best_K_between(alpha, c, time, low, high);
        assert_same(found, best);
        inner += best > low && best < high;
    }
    assert_true(inner > 150);
    /* There is no upper bound, and every longer draft gains. */
    const spec_round_time time = {.fixed = 1.0, .calls = 2.0, .guessed = 0.9};
    assert_same(spec_speedup_best_K_between(1.0, 0.1, time, 0.0, INFINITY), INFINITY);
    assert_same(spec_speedup_best_K_between(1.0, 0.95, time, 3.0, INFINITY), 3.0);
    assert_same(spec_speedup_best_K_between(1.0, 0.1, time, 3.0, 1e6), 1e6);
}

/* tests/oracle/closed.py, lines "a,c ... int best". */
TEST(best_K_of_the_oracle)
{
    static const struct {
        double alpha, c;
        int K;
        const char *speedup;
    } rows[] = {{0.8, 0.05, 8, "3.0921"},
                {0.9, 0.02, 19, "6.3654"},
                {0.6, 0.1, 3, "1.6738"},
                {0.75, 0.02, 9, "3.1989"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_same(spec_speedup_best_K(rows[i].alpha, rows[i].c), rows[i].K);
        assert_prints(spec_speedup(rows[i].alpha, rows[i].K, rows[i].c), 4, rows[i].speedup);
    }
}

TEST(best_K_at_the_edges)
{
    assert_same(spec_speedup_best_K(0.8, 0.05), 8.0);
    assert_same(spec_speedup_best_K(0.0, 0.0), 0.0);
    assert_same(spec_speedup_best_K(0.0, 0.27), 0.0);
    assert_same(spec_speedup_best_K(0.27, 2.385), 0.0);
    assert_same(spec_speedup_best_K(1.0, 1.0), 0.0); /* all equal: the smallest */
    assert_same(spec_speedup_best_K(1.0, 1.001), 0.0);
    assert_same(spec_speedup_best_K(0.25, 0.25), 0.0); /* K = 0 and K = 1 are equal */
    assert_same(spec_speedup_best_K(0.25, nextafter(0.25, 0.0)), 1.0);
    assert_same(spec_speedup_best(0.0, 0.0), 1.0);
    assert_same(spec_speedup_best(0.27, 2.385), 1.0);
}

/* Every token gains if drafting is free, and if each is accepted and costs less than a target
 * call. */
TEST(where_every_token_gains_best_K_is_inf_and_its_speedup_the_supremum)
{
    const double alphas[] = {1e-9, 0.27, 0.9, 1.0 - 1e-12}, cs[] = {1e-3, 0.27, 0.999};
    for (int i = 0; i < 4; i++) {
        assert_same(spec_speedup_best_K(alphas[i], 0.0), INFINITY);
        assert_near(spec_speedup_best(alphas[i], 0.0), spec_speedup(alphas[i], 1e15, 0.0), 1e-15);
    }
    for (int i = 0; i < 3; i++) {
        assert_same(spec_speedup_best_K(1.0, cs[i]), INFINITY);
        assert_near(spec_speedup_best(1.0, cs[i]), spec_speedup(1.0, 1e18, cs[i]), 1e-14);
    }
    assert_same(spec_speedup_best_K(1.0, 0.0), INFINITY);
    assert_same(spec_speedup_best(1.0, 0.0), INFINITY);
}

/* The real K at which the derivative is 0, by the textbook form of Lambert's function: it cancels
 * near d = 0, and its argument underflows for large d. */
TEST(best_K_is_next_to_the_real_one)
{
    int inner = 0;
    for (double alpha = 0.013; alpha < 0.999; alpha += 0.0317) {
        for (double c = 0.02; c < 0.9; c += 0.037) {
            const double a = -log(alpha), d = a * (1.0 - c) / c;
            if (d > 600.0 || d < 0.1) continue;
            const double K = log(-gsl_sf_lambert_Wm1(-exp(-1.0 - d))) / a - 1.0,
                         best = spec_speedup_best_K(alpha, c);
            assert_true(K < 0.0 ? best == 0.0 : fabs(K - best) < 1.0);
            inner += best > 0.0;
        }
    }
    assert_true(inner > 200);
}

TEST(break_even_alpha_gives_speedup_1)
{
    for (int K = 1; K <= 64; K++) {
        for (double c = 0.0007; c < 1.0; c = 1.3 * c + 0.001) {
            double alpha = spec_speedup_break_even_alpha(K, c);
            assert_true(alpha >= c * (1.0 - 1e-14) && alpha <= fmin(1.0, c * K) * (1.0 + 1e-14));
            /* the same condition, with 1 subtracted from both sides */
            long double power = 1.0L, sum = 0.0L;
            for (int k = 1; k <= K; k++) sum += power *= alpha;
            assert_near((double)sum, c * K, 1e-14 * K);
        }
        assert_near(spec_speedup_break_even_alpha(K, 1.0), 1.0, 1e-15);
        assert_same(spec_speedup_break_even_alpha(K, 0.0), 0.0);
    }
    assert_near(spec_speedup_break_even_alpha(1, 0.27), 0.27, 1e-15);
    assert_near(spec_speedup_break_even_alpha(2, 0.27), 0.5 * (sqrt(1.0 + 8.0 * 0.27) - 1.0),
                2e-15);
    assert_near(spec_speedup_break_even_alpha(4, 1e-12), 4e-12, 1e-11);
    const double least = spec_speedup_break_even_alpha(1, 5e-324),
                 small = spec_speedup_break_even_alpha(3, 1e-310); /* the search ends */
    assert_true(least >= 0.0 && least < 1e-307 && small >= 0.0 && small < 1e-307);
    assert_near(spec_speedup(spec_speedup_break_even_alpha(100000, 0.01), 100000, 0.01), 1.0,
                1e-11);
}

TEST(break_even_alpha_is_nan_where_there_is_none)
{
    assert_nan(spec_speedup_break_even_alpha(0, 0.27));
    assert_nan(spec_speedup_break_even_alpha(0, 0.0));
    assert_nan(spec_speedup_break_even_alpha(-1, 0.27));
    assert_nan(spec_speedup_break_even_alpha(3, nextafter(1.0, 2.0)));
    assert_nan(spec_speedup_break_even_alpha(3, 2.385));
    assert_nan(spec_speedup_break_even_alpha(3, -1e-300));
    assert_nan(spec_speedup_break_even_alpha(3, NAN));
}
