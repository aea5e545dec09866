/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the decoder's virtual clock when it drafts ahead with the closed form. The pairs have
 * one row each, so alpha and the probability of a right guess are known. */
#include "analysis/ahead.h"
#include "analysis/capped_geometric.h"
#include "analysis/speedup.h"
#include "analysis/statistics/moments.h"
#include "tests/experiments/measures/run_measure.h"
#include "tests/support/near.h"
#include "tests/support/stage.h"
#include "tests/support/support.h"

/* If every round that is accepted to the end counted as a hit, whatever its bonus, the share of
 * hits would be off by more than 100 standard errors. If the first round could hit, time would be
 * off by more than its rounding. */
TEST(the_virtual_clock_runs_as_the_formula_says, STATISTICS)
{
    const double target[] = {0.5, 0.3, 0.2}, draft[] = {0.2, 0.47, 0.33};
    const double alpha = 0.2 + 0.3 + 0.2, guessed = 0.3;
    const uint64_t rounds = spec_test_samples(40000);
    const uint64_t seed = spec_test_seed();
    for (int K = 1; K <= 5; K++)
        for (int slow = 0; slow < 2; slow++) {
            const double c = slow ? 0.43 : 0.09;
            OWNED(stage) s;
            stage_init(&s, 3, PAIR_PLAIN, seed + (uint64_t)K);
            table_model_fill(&s.target, target);
            table_model_fill(&s.draft, draft);
            s.config.K = K;
            s.config.ahead = true;
            s.config.costs = (spec_costs){.draft = c, .verify = 1.0};
            OWNED(spec_decoder) decoder;
            spec_tally tally = {0};
            stage_open_decoder(&decoder, &s.config);
            for (uint64_t r = 0; r < rounds; r++)
                assert_int_equal(spec_decoder_round(&decoder, &s.chance, &tally, NULL),
                                 GSL_SUCCESS);
            const double n = (double)rounds, hit = spec_ahead_hit(alpha, K, guessed),
                         hits = (double)tally.hits;
            assert_true(fabs(spec_moments_z(hits, n * hit, sqrt(n * hit * (1.0 - hit)), INFINITY)) <
                        5.0);
            const double tested = (double)tally.guesses_tested, right = (double)tally.guesses_right;
            assert_true(fabs(spec_moments_z(right, tested * guessed,
                                            sqrt(tested * guessed * (1.0 - guessed)), INFINITY)) <
                        5.0);
            /* Given the number of hits, the clock is exact. */
            const double during = (K + 1) * c > 1.0 ? (K + 1) * c : 1.0;
            assert_near(tally.time, n * during + (n - hits) * K * c, 1e-11);
            const double share = hits / (n - 1.0);
            assert_near(tally.time,
                        spec_ahead_rounds((int)rounds, share, K * c, (K + 1) * c, 1.0, 0.0), 1e-11);
            const double measured = (double)tally.emitted / tally.time;
            assert_near(measured, spec_ahead_speedup(alpha, K, c, guessed, 0.0), 0.02);
        }
}

/* Drafting on a device of its own, on the same one, and half on each; and a proof of the loop's
 * law. */
TEST(measures_tell_what_it_gains_and_that_it_is_lossless)
{
    OWNED(spec_result) result;
    run(&result, "ahead", 0,
        "alpha = 0.9; K = [0, 4]; c = 0.1; guess = 0.8; handed = [0.0, 1.0, 0.5]");
    assert_int_equal(result.table.n_rows, 6);
    for (size_t r = 0; r < 6; r++) {
        const int K = (int)number(&result, r, "K");
        const double handed = number(&result, r, "handed");
        assert_near(number(&result, r, "speedup"), spec_speedup(0.9, K, 0.1), 1e-9);
        assert_near(number(&result, r, "speedup_ahead"),
                    spec_ahead_speedup(0.9, K, 0.1, 0.8, handed), 1e-9);
        assert_near(number(&result, r, "hit"), K > 0 ? pow(0.9, K) * 0.8 : 0.0, 1e-9);
        assert_same(number(&result, r, "break_even_hit"), handed == 0.0 && K > 0 ? 0.0 : NAN);
        if (handed == 0.0 && K > 0)
            assert_near(number(&result, r, "break_even_c"), spec_ahead_break_even_cost(0.9, K, 0.8),
                        1e-9);
        assert_same(number(&result, r, "best_K"), spec_speedup_best_K(0.9, 0.1));
        const double best = spec_ahead_best_K(0.9, 0.1, 0.8, handed);
        assert_same(number(&result, r, "best_K_ahead"), best);
        assert_near(number(&result, r, "best_speedup_ahead"),
                    spec_ahead_speedup(0.9, best, 0.1, 0.8, handed), 1e-9);
        if (K > 0)
            assert_near(number(&result, r, "speedup_pearl"), spec_ahead_pearl_speedup(0.9, K, 0.1),
                        1e-9);
    }
    spec_result_free(&result);
    run(&result, "prove", 0,
        "rule = \"token\"; draft = \"chain:dirichlet?V=2&seed=2\"; target = "
        "\"dirichlet?V=2&seed=1\"; K = 2; "
        "tokens = 4; ahead = [0, 1]");
    assert_int_equal(result.table.n_rows, 2);
    for (size_t r = 0; r < 2; r++) assert_string_equal(text(&result, r, "verdict"), "lossless");
    assert_true(number(&result, 1, "branches") > 5.0 * number(&result, 0, "branches"));
}

/* Compares the simulated loop with exact theory, for pairs of one row and for pairs with contexts.
 * The rules judge token by token or jointly, and drafting may take longer than a verification. If a
 * hit counted whatever the bonus, hit_z would be above 100; without the call of the guess,
 * speedup_ahead_z would be, if (K+1) c > 1. */
TEST(simulated_rows_agree_with_exact_theory)
{
    OWNED(spec_result) result;
    run(&result, "decode_ahead", 60000,
        "target = [\"zipf?V=20&s=1.5\", \"markov?V=3&order=1&seed=3\"]; draft = "
        "\"perturb?of=target&alpha=0.8\"; "
        "K = [0, 1, 4]; c = [0.1, 0.4]; fixed = 0.05");
    assert_all_hold(&result, 12);
    for (size_t r = 0; r < 12; r++) {
        const int K = (int)number(&result, r, "K");
        const double c = number(&result, r, "c"), beforehand = K * c + 1.05,
                     hit = number(&result, r, "hit_theory");
        const double emitted = number(&result, r, "emitted_theory");
        assert_near(emitted, spec_capped_geometric_mean(0.8, K), 1e-9);
        assert_near(number(&result, r, "speedup_theory"), emitted / beforehand, 1e-5);
        if (K == 0) continue; /* no hits and no guesses */
        const double ahead = fmax(1.0, (K + 1) * c) + (1.0 - hit) * K * c + 0.05;
        assert_near(number(&result, r, "speedup_ahead_theory"), emitted / ahead, 1e-5);
        assert_near(number(&result, r, "gain"),
                    number(&result, r, "speedup_ahead") / number(&result, r, "speedup"), 1e-5);
        assert_true(number(&result, r, "hit_se") > 0.0);
        const double gain = number(&result, r, "gain"), gain_theory = beforehand / ahead;
        assert_true(
            fabs(spec_moments_z(gain, gain_theory, number(&result, r, "gain_se"), INFINITY)) < 5.0);
    }
    spec_result_free(&result);
    run(&result, "decode_ahead", 60000,
        "target = \"markov?V=3&order=1&seed=3\"; draft = \"markov?V=3&order=1&seed=4\"; rule = "
        "[\"token\", \"match\", "
        "\"block\"]; drafting = [\"chain\", \"greedy\"]; K = 2; c = 0.3;");
    assert_all_hold(&result, 6);
    for (size_t r = 0; r < 6; r++) assert_true(fabs(number(&result, r, "hit_z")) < 5.0);
}

/* Sampled texts follow the target's law. For a decoder that uses a chain because of its tokens
 * (test_decode_ahead), chi-square would exceed its mean by over 100 degrees of freedom. */
TEST(sampled_texts_have_the_targets_law, SLOW)
{
    OWNED(spec_result) result;
    run(&result, "lossless", 0,
        "target = \"markov?V=3&order=1&seed=3\"; draft = \"markov?V=3&order=1&seed=4\"; rule = "
        "[\"token\", \"block\"]; "
        "K = 1; tokens = 5; samples = 200000; ahead = [0, 1];");
    assert_all_hold(&result, 4);
    for (size_t r = 0; r < 4; r++) assert_string_equal(text(&result, r, "verdict"), "consistent");
    assert_true(number(&result, 0, "statistic") != number(&result, 1, "statistic"));
}
