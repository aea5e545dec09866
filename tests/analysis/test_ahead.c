/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/ahead.h"

#include "analysis/capped_geometric.h"
#include "analysis/speedup.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_rng.h>
#include <math.h>

/* As in analysis/ahead.h. */
typedef struct {
    double alpha, c, guessed, verify, handed;
    int K;
} rounds;

/* A second route: follows rounds one after the other, with the laws of n_accepted and of the bonus
 * and the probability that the chain was drafted ahead. Adds up the time and the tokens of n
 * rounds. */
static void walk(double *ret_time, double *ret_tokens, const rounds *of, int n)
{
    const double c = of->c, handed = of->handed, left = of->verify - handed;
    const int K = of->K;
    double there = 0.0;
    *ret_time = *ret_tokens = 0.0;
    for (int r = 0; r < n; r++) {
        const double meanwhile = (K + 1) * c > left ? (K + 1) * c : left;
        *ret_time += there * (handed + meanwhile) + (1.0 - there) * (K * c + handed + meanwhile);
        double next = 0.0;
        for (int k = 0; k <= K; k++) {
            const double chance = spec_capped_geometric_probability(of->alpha, K, k);
            *ret_tokens += chance * (k + 1);
            if (k == K) next += chance * of->guessed; /* however the chain was drafted */
        }
        there = next;
    }
}

TEST(times_of_rounds_are_those_of_a_walk)
{
    const double alphas[] = {0.0, 0.31, 0.83, 1.0}, cs[] = {0.0, 0.07, 0.29, 1.3},
                 guesses[] = {0.0, 0.62, 1.0};
    for (int i = 0; i < 4 * 4 * 3 * 3; i++) {
        const double alpha = alphas[i % 4], c = cs[i / 4 % 4], guessed = guesses[i / 16 % 3],
                     verify = 1.17;
        const double handed = i / 48 * 0.5 * verify;
        for (int K = 1; K <= 9; K += 2) {
            const double hit = spec_ahead_hit(alpha, K, guessed);
            const rounds of = {alpha, c, guessed, verify, handed, K};
            for (int n = 1; n <= 41; n += 8) {
                double time, tokens;
                walk(&time, &tokens, &of, n);
                assert_near(spec_ahead_rounds(n, hit, K * c, (K + 1) * c, verify, handed), time,
                            1e-13);
            }
        }
    }
}

/* One more round of a long text. */
TEST(the_speed_up_is_tokens_over_time_of_a_long_text)
{
    const double alphas[] = {0.0, 0.31, 0.83, 1.0}, cs[] = {0.0, 0.07, 0.29, 1.3};
    for (int i = 0; i < 16 * 3; i++)
        for (int K = 1; K <= 8; K++) {
            const double alpha = alphas[i % 4], c = cs[i / 4 % 4], handed = i / 16 * 0.5;
            const rounds of = {alpha, c, 0.62, 1.0, handed, K};
            double time[2], tokens[2];
            for (int n = 0; n < 2; n++) walk(&time[n], &tokens[n], &of, 50 + n);
            assert_near(spec_ahead_speedup(alpha, K, c, 0.62, handed),
                        (tokens[1] - tokens[0]) / (time[1] - time[0]), 1e-11);
        }
}

TEST(what_is_gained_has_its_limits)
{
    for (int K = 1; K <= 12; K++) {
        const double c = 0.073, alpha = 0.81;
        /* Drafting ahead is never slower as long as all drafting fits into a verification, and
         * equally fast if no guess is right. */
        if ((K + 1) * c <= 1.0) {
            assert_true(spec_ahead_speedup(alpha, K, c, 0.9, 0.0) > spec_speedup(alpha, K, c));
            assert_near(spec_ahead_speedup(alpha, K, c, 0.0, 0.0), spec_speedup(alpha, K, c),
                        1e-15);
        }
        assert_true(spec_ahead_speedup(alpha, K, c, 1.0, 1.0) <
                    spec_speedup(alpha, K, c)); /* on one device */
        assert_near(spec_ahead_speedup(1.0, K, 0.01, 1.0, 0.0), K + 1.0, 1e-15);
        assert_near(spec_ahead_speedup(alpha, K, 0.0, 0.7, 0.0),
                    spec_capped_geometric_mean(alpha, K), 1e-15);
        /* At the break-even both kinds of rounds take the same time. */
        for (double cost = 0.02; cost < 1.0; cost += 0.06) {
            const double hit = spec_ahead_break_even(K, cost), round = K * cost + 1.0;
            assert_near(spec_ahead_round(hit, K * cost, fmax(1.0, (K + 1) * cost), 1.0, 0.0), round,
                        1e-14);
            assert_true(hit < 1.0);
        }
        assert_true(spec_ahead_break_even(K, 1.1) > 1.0);
    }
    assert_same(spec_ahead_speedup(0.8, 0, 5.0, 0.5, 0.0), 1.0);
    assert_same(spec_ahead_speedup(0.8, 0, 5.0, 0.5, 0.5), 1.0);
    assert_same(spec_ahead_hit(0.8, 0, 0.5), 0.0);
}

/* At this cost of a draft call both ways take the same time per token; below it drafting ahead
 * gains. */
TEST(at_the_break_even_cost_both_ways_are_alike)
{
    const double alphas[] = {0.0, 0.31, 0.83, 1.0}, guesses[] = {0.0, 0.62, 1.0};
    for (int i = 0; i < 12; i++)
        for (int K = 1; K <= 12; K++) {
            const double alpha = alphas[i % 4], guessed = guesses[i / 4];
            const double c = spec_ahead_break_even_cost(alpha, K, guessed);
            assert_true(c >= 1.0 / (K + 1) * (1.0 - 1e-15) && c <= 1.0);
            assert_near(spec_ahead_speedup(alpha, K, c, guessed, 0.0), spec_speedup(alpha, K, c),
                        1e-13);
            assert_true(spec_ahead_speedup(alpha, K, 1.1 * c, guessed, 0.0) <
                        spec_speedup(alpha, K, 1.1 * c));
            assert_true(spec_ahead_speedup(alpha, K, 0.9 * c, guessed, 0.0) >=
                        spec_speedup(alpha, K, 0.9 * c));
            /* The gain is largest if the guess and the chain together just fit into a verification;
             * it is below twofold. */
            const double at = spec_ahead_speedup(alpha, K, 1.0 / (K + 1), guessed, 0.0) /
                              spec_speedup(alpha, K, 1.0 / (K + 1));
            const double hit = spec_ahead_hit(alpha, K, guessed);
            assert_near(at, (2 * K + 1) / (2 * K + 1 - hit * K), 1e-13);
            assert_true(at < 2.0);
            for (double cost = 0.01; cost < 1.5; cost += 0.01)
                assert_true(spec_ahead_speedup(alpha, K, cost, guessed, 0.0) /
                                spec_speedup(alpha, K, cost) <=
                            at * (1.0 + 1e-14));
        }
}

/* With no chain found, or free drafting, both ways take the same time: no gain. */
TEST(without_a_hit_or_without_a_cost_nothing_is_gained)
{
    for (int K = 1; K <= 12; K++) {
        const double fits = 1.0 / (K + 1);
        for (int i = 0; i <= 10; i++) {
            const double c = 0.1 * i * fits;
            assert_near(spec_ahead_speedup(0.81, K, c, 0.0, 0.0), spec_speedup(0.81, K, c), 1e-15);
            assert_true(c == 0.0 ||
                        spec_ahead_speedup(0.81, K, c, 0.3, 0.0) > spec_speedup(0.81, K, c));
        }
        assert_same(spec_ahead_speedup(0.81, K, 0.0, 0.3, 0.0), spec_speedup(0.81, K, 0.0));
        assert_true(spec_ahead_speedup(0.81, K, 1.01 * fits, 0.0, 0.0) <
                    spec_speedup(0.81, K, 1.01 * fits));
    }
}

/* A round that misses: each token costs c more up to K = 1/c - 1, and 2 c more beyond. */
TEST(beyond_a_verification_each_token_costs_two_calls)
{
    const double c = 0.1;
    for (int K = 1; K < 20; K++) {
        const double here = spec_capped_geometric_mean(0.8, K) /
                            spec_ahead_speedup(0.8, K, c, 0.0, 0.0),
                     next = spec_capped_geometric_mean(0.8, K + 1) /
                            spec_ahead_speedup(0.8, K + 1, c, 0.0, 0.0);
        assert_near(next - here, K + 1 <= 1.0 / c - 1.0 ? c : 2.0 * c, 1e-13);
    }
}

/* Tries every K up to 3000 in extended precision, with the handed and overlapped times rather than
 * the two cases of the search. */
static int argmax_ahead(long double *ret_most, double alpha, double c, double guessed,
                        double handed)
{
    long double emitted = 1.0L, power = 1.0L;
    int best = 0;
    *ret_most = 1.0L;
    for (int K = 1; K <= 3000; K++) {
        power *= alpha;
        emitted += power;
        const long double during = (K + 1) * (long double)c, left = 1.0L - (long double)handed,
                          round = handed + (during > left ? during : left) +
                                  (1.0L - power * guessed) * K * c;
        if (emitted / round > *ret_most) {
            *ret_most = emitted / round;
            best = K;
        }
    }
    return best;
}

/* Near a tie, as when chains exactly fill a verification, rounding decides. */
TEST(the_best_K_is_the_smallest_of_the_largest)
{
    const double alphas[] = {0.0, 0.31, 0.83, 0.9713, 0.9931},
                 cs[] = {0.0021, 0.0127, 0.071, 0.29, 0.93, 1.3}, guesses[] = {0.0, 0.62, 1.0},
                 shares[] = {0.0, 0.37, 1.0};
    int beyond = 0, within = 0;
    for (int i = 0; i < 5 * 6 * 3 * 3; i++) {
        const double alpha = alphas[i % 5], c = cs[i / 5 % 6], guessed = guesses[i / 30 % 3],
                     handed = shares[i / 90];
        long double most;
        const int K = argmax_ahead(&most, alpha, c, guessed, handed);
        const double best = spec_ahead_best_K(alpha, c, guessed, handed);
        assert_near(spec_ahead_best_speedup(alpha, c, guessed, handed), (double)most, 1e-15);
        if (best != K)
            assert_near(spec_ahead_speedup(alpha, K, c, guessed, handed), (double)most, 1e-15);
        *(K > 0 && (K + 1) * c > 1.0 - handed ? &beyond : &within) += best == K;
    }
    assert_true(beyond > 40 && within > 150 && beyond + within > 265);
}

TEST(where_every_token_gains_drafted_ahead_the_best_K_is_inf)
{
    for (int i = 0; i < 3; i++) {
        const double handed = 0.5 * i;
        assert_same(spec_ahead_best_K(0.83, 0.0, 0.62, handed), INFINITY);
        assert_near(spec_ahead_best_speedup(0.83, 0.0, 0.62, handed), 1.0 / (1.0 - 0.83), 1e-15);
        assert_same(spec_ahead_best_K(0.0, 0.0, 0.62, handed), 0.0);
    }
    /* With alpha = 1 a long chain takes (2 - guessed) c per token, as long as a share of the
     * target's pass is handed. */
    assert_same(spec_ahead_best_K(1.0, 0.1, 0.9, 0.5), INFINITY);
    assert_near(spec_ahead_best_speedup(1.0, 0.1, 0.9, 0.5),
                spec_ahead_speedup(1.0, 1e17, 0.1, 0.9, 0.5), 1e-14);
    /* With handed = 0 the chain that exactly fills the verification is better. */
    assert_same(spec_ahead_best_K(1.0, 0.1, 0.9, 0.0), 9.0);
    assert_near(spec_ahead_best_speedup(1.0, 0.1, 0.9, 0.0), 10.0 / (1.0 + 0.1 * 0.9), 1e-15);
    assert_same(spec_ahead_best_speedup(1.0, 0.0, 0.9, 0.0), INFINITY);
    /* If a call costs nearly nothing, the best chain is that of the other rule, up to rounding. */
    assert_near(spec_ahead_best_K(0.999, 1e-30, 0.0, 0.0), spec_speedup_best_K(0.999, 1e-30), 1e-3);
    assert_true(isfinite(spec_ahead_best_K(0.999, 5e-324, 1.0, 0.5)));
    assert_nan(spec_ahead_best_K(1.2, 0.1, 0.62, 0.0));
    assert_nan(spec_ahead_best_K(0.83, 0.1, 0.62, 1.1));
    assert_nan(spec_ahead_best_speedup(0.83, -0.1, 0.62, 0.0));
}

/* A second route: follows the steps of the algorithm one after the other, with the probability of
 * each of its two modes. */
TEST(pearls_speed_up_is_that_of_a_walk_over_its_steps)
{
    const double alphas[] = {0.0, 0.31, 0.83, 1.0}, cs[] = {0.0, 0.07, 0.29, 1.3};
    for (int i = 0; i < 16; i++)
        for (int K = 1; K <= 12; K++) {
            const double alpha = alphas[i % 4], c = cs[i / 4];
            double post = 0.0, tokens = 0.0, time = 0.0;
            for (int step = 0; step < 2000; step++) {
                double next = (1.0 - post) * alpha,
                       emitted = 1.0 - post; /* before a pass of its own: one token, right or not */
                for (int k = 0; k < K; k++)
                    emitted += post * pow(alpha, k) * (1.0 - alpha) *
                               (k + 1); /* the first rejection is at k + 1 of K */
                emitted += post * pow(alpha, K) * K;
                next += post * pow(alpha, K);
                if (step >= 1000) { /* two alternating modes occur equally often */
                    tokens += emitted;
                    time += K * c > 1.0 ? K * c : 1.0;
                }
                post = next;
            }
            assert_near(spec_ahead_pearl_speedup(alpha, K, c), tokens / time, 1e-11);
        }
    assert_nan(spec_ahead_pearl_speedup(0.8, 0, 0.1));
    assert_nan(spec_ahead_pearl_speedup(1.8, 2, 0.1));
    assert_nan(spec_ahead_pearl_speedup(0.8, 2, -0.1));
    assert_nan(spec_ahead_pearl_speedup(0.8, 2, INFINITY));
}

/* A third route: tokens drafted and tested one by one, each right with chance alpha, without modes
 * except whether drafted tokens wait. It counts the emitted text, not the tokens that a step adds.
 * With a bonus counted the rate is off by more than 50 standard errors. */
TEST(pearls_speed_up_is_that_of_its_tokens)
{
    const double alpha = 0.83;
    const int steps = 400000;
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus2, spec_test_seed());
    for (int K = 1; K <= 6; K += 5) {
        long emitted = 0;
        int waiting = 0; /* drafted tokens that are not yet tested */
        for (int step = 0; step < steps; step++) {
            /* A pass over the text and the waiting tokens tests these, and the first of the K
             * tokens drafted meanwhile. */
            const int tests = waiting + 1;
            int right = 0;
            while (right < tests && gsl_rng_uniform(rng) < alpha) right++;
            emitted += right + (right < tests); /* and the correction */
            waiting = right < tests ? 0 : K - 1;
        }
        const double rate = (double)emitted / steps;
        assert_within(rate, spec_ahead_pearl_speedup(alpha, K, 0.0),
                      5.0 * 3.0 / sqrt(steps)); /* a step's spread is below 3 */
    }
}

TEST(outside_the_domain_is_nan)
{
    assert_nan(spec_ahead_hit(1.01, 2, 0.5));
    assert_nan(spec_ahead_hit(-0.01, 2, 0.5));
    assert_nan(spec_ahead_hit(0.8, -1, 0.5));
    assert_nan(spec_ahead_hit(0.8, 2, 1.5));
    assert_nan(spec_ahead_hit(0.8, 2, NAN));
    assert_nan(spec_ahead_round(1.5, 0.1, 0.2, 1.0, 0.0));
    assert_nan(spec_ahead_round(0.5, -0.1, 0.2, 1.0, 0.0));
    assert_nan(spec_ahead_round(0.5, 0.1, INFINITY, 1.0, 0.0));
    assert_nan(spec_ahead_round(0.5, 0.1, 0.2, -1.0, 0.0));
    assert_nan(spec_ahead_round(0.5, 0.1, 0.2, 1.0, 1.01));
    assert_nan(spec_ahead_round(0.5, 0.1, 0.2, 1.0, -0.01));
    assert_nan(spec_ahead_speedup(0.8, 3, -0.1, 0.5, 0.0));
    assert_nan(spec_ahead_speedup(0.8, 3, 0.1, 0.5, 1.1));
    assert_nan(spec_ahead_rounds(0, 0.5, 0.1, 0.2, 1.0, 0.0));
    assert_nan(spec_ahead_break_even(0, 0.1));
    assert_nan(spec_ahead_break_even(0, 5.0));
    assert_nan(spec_ahead_break_even(3, -0.1));
    assert_nan(spec_ahead_break_even(3, 0.0));
    assert_nan(spec_ahead_break_even(3, INFINITY));
    assert_nan(spec_ahead_break_even_cost(0.8, 0, 0.5));
    assert_nan(spec_ahead_break_even_cost(0.8, 2, 1.5));
    assert_nan(spec_ahead_break_even_cost(-0.8, 2, 0.5));
}
