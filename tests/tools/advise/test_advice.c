/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks advice from counts whose answer is known: lengths that were measured, and lengths below
 * and beyond them. */
#include "tools/advise/advice.h"

#include "analysis/capped_geometric.h"
#include "tests/support/support.h"
#include "tests/tools/advise/observed_windows.h"

#include <gsl/gsl_randist.h>
#include <math.h>

TEST(one_length_bounds_the_others)
{
    OWNED(spec_observed_sums) sums = {0};
    spec_advice_question question = usual;
    question.K_high = 3;
    llama_cpp(&sums);
    const spec_advice advice = advise(&sums, &question);
    assert_int_equal(advice.K, 3);
    assert_near(at(&advice, 3)->tokens.value, 3.1176, 5e-5);
    assert_near(at(&advice, 3)->round_over_plain.value, 2.163, 2e-3);
    assert_near(at(&advice, 3)->speedup.value, 1.441, 1e-3);
    /* from a time in proportion to K, but not below a plain token, to a fixed time */
    assert_near(at(&advice, 2)->tokens.low / at(&advice, 2)->round_over_plain.high, 1.14, 0.01);
    assert_near(at(&advice, 1)->round_over_plain.value, 1.0 + 1.163 / 3.0, 5e-3);
    assert_near(at(&advice, 2)->round_over_plain.value, 1.0 + 2.0 * 1.163 / 3.0, 5e-3);
    assert_near(advice.break_even, 0.388, 1e-3);
    assert_true(at(&advice, 2)->speedup.value > 1.45 && at(&advice, 2)->speedup.value < 1.52);
    assert_int_equal(advice.verdict, SPEC_ADVICE_MEASURE);
    assert_int_equal(advice.decides_K, 2);
    assert_true(advice.to_K == 3 && advice.loss > 0.2 && advice.loss < 0.45);
}

/* With n-grams, half of 200 passes have a draft, and 60, 30 and 15 rounds accept a depth. All
 * lengths count tokens per pass: 1 + 60/200, 1 + 90/200 and 1 + 105/200. */
TEST(passes_without_a_draft_count_at_each_length)
{
    OWNED(spec_observed_sums) sums = {0};
    const spec_observer observer = spec_observed_sums_observer(&sums);
    spec_observation seen = spec_observation_empty(SPEC_OBSERVED_REQUEST, 1);
    seen.K = seen.depths = 3;
    seen.rounds = seen.rounds_low = seen.rounds_high = 100.0;
    seen.passes = 200.0;
    seen.drafted = 300.0;
    seen.accepted = 105.0;
    seen.emitted = 305.0;
    seen.passed[0] = 60.0, seen.passed[1] = 30.0, seen.passed[2] = 15.0;
    for (int i = 0; i < 4; i++)
        assert_int_equal(observer.take(observer.self, &seen, NULL), GSL_SUCCESS);
    const spec_advice advice = advise(&sums, &usual);
    assert_near(at(&advice, 1)->tokens.low, 1.3, 1e-12); /* half of the passes have a round */
    assert_near(at(&advice, 2)->tokens.low, 1.45, 1e-12);
    assert_near(at(&advice, 3)->tokens.value, 1.525, 1e-12);
    assert_true(at(&advice, 4)->tokens.low >= 1.5);
    assert_true(at(&advice, 4)->tokens.high <= 1.6 + 1e-12);
}

/* One request has 4000 rounds and the others are short: the interval is wide, but all of it must be
 * possible. */
TEST(tokens_per_round_stay_within_a_round)
{
    OWNED(spec_observed_sums) sums = {0};
    const window small = {.kind = SPEC_OBSERVED_REQUEST,
                          .K = 3,
                          .rounds = 60,
                          .passed = {36, 20, 10}},
                 large = {.kind = SPEC_OBSERVED_REQUEST,
                          .K = 3,
                          .rounds = 4000,
                          .passed = {3800, 3610, 3430}};
    for (int i = 0; i < 40; i++) add(&sums, &small);
    add(&sums, &large);
    const spec_advice advice = advise(&sums, &usual);
    for (int K = 1; K <= 3; K++) {
        const spec_cluster_ratio *tokens = &at(&advice, K)->tokens;
        assert_true(tokens->low >= 1.0 && tokens->high <= 1.0 + K);
        assert_true(tokens->low < tokens->value && tokens->value < tokens->high);
    }
}

/* Two requests of very different size have a wide interval, also at lengths that were not run. */
TEST(tokens_of_other_lengths_stay_within_a_round)
{
    OWNED(spec_observed_sums) sums = {0};
    add(&sums, &(window){SPEC_OBSERVED_REQUEST, 3, 1000.0, {20.0, 10.0, 5.0}, 10.0, 1.0});
    add(&sums, &(window){SPEC_OBSERVED_REQUEST, 3, 10.0, {10.0, 10.0, 9.0}, 0.1, 1.0});
    const spec_advice advice = advise(&sums, &usual);
    for (int K = 1; K <= 6; K++) {
        assert_true(at(&advice, K)->tokens.low >= 1.0);
        assert_true(at(&advice, K)->tokens.high <= K + 1.0);
    }
    assert_true(at(&advice, 2)->tokens.low == 1.0);
    assert_true(at(&advice, 2)->tokens.high == 3.0);
}

TEST(the_users_numbers_stand_in_for_a_plain_run)
{
    OWNED(spec_observed_sums) sums = {0};
    spec_advice_question question = usual;
    add_noisy(&sums, at_length(3), 30);
    question.plain_tokens_per_s = 1000.0 / (4.0 * 2.5); /* for one of four requests */
    spec_advice advice = advise(&sums, &question);
    assert_near(at(&advice, 3)->speedup.value, 2.176 / 1.3, 0.01);
    question.plain_tokens_per_s = NAN;
    question.round_over_plain = 1.3;
    advice = advise(&sums, &question);
    assert_near(at(&advice, 3)->speedup.value, 2.176 / 1.3, 0.01);
    assert_near(advice.break_even, 0.1, 1e-9);
}

TEST(nothing_is_said_without_rounds)
{
    OWNED(spec_observed_sums) sums = {0};
    spec_advice advice = advise(&sums, &usual);
    assert_int_equal(advice.verdict, SPEC_ADVICE_NOTHING);
    add_noisy(&sums, at_length(0), 3);
    advice = advise(&sums, &usual);
    assert_int_equal(advice.verdict, SPEC_ADVICE_NOTHING);
    assert_near(advice.plain_seconds, 0.01, 2e-3);
}

TEST(accepted_tokens_alone_have_no_time_of_a_round)
{
    OWNED(spec_observed_sums) sums = {0};
    const spec_observer observer = spec_observed_sums_observer(&sums);
    spec_observation seen = spec_observation_empty(SPEC_OBSERVED_REQUEST, 1);
    seen.K = 3;
    seen.accepted = 105.0;
    seen.seconds = 4.0;
    for (int i = 0; i < 2; i++)
        assert_int_equal(observer.take(observer.self, &seen, NULL), GSL_SUCCESS);
    const spec_advice advice = advise(&sums, &usual);
    assert_int_equal(advice.K, 3);
    assert_nan(at(&advice, 3)->seconds);
    assert_nan(at(&advice, 3)->tokens.value);
}

TEST(questions_outside_the_domain_are_refused)
{
    const spec_observed_sums sums = {0};
    spec_advice advice;
    spec_advice_question wrong[6] = {usual, usual, usual, usual, usual, usual};
    wrong[0].error = 0.0;
    wrong[1].error = NAN;
    wrong[2].plain_tokens_per_s = 0.0;
    wrong[3].round_over_plain = -1.0;
    wrong[4].K_high = SPEC_ADVICE_K;
    wrong[5].K_low = 3, wrong[5].K_high = 2;
    for (int i = 0; i < 6; i++)
        assert_status(spec_advice_of(&advice, &sums, NULL, &wrong[i], &error), GSL_EDOM);
}

/* Windows have no noise, so the interval of a time reflects only the share of first tokens. */
TEST(the_time_of_a_round_allows_for_first_tokens)
{
    OWNED(spec_observed_sums) sums = {0};
    for (int i = 0; i < 30; i++) {
        add(&sums, &(window){SPEC_OBSERVED_WINDOW, 0, 400.0, {0.0}, 10.0, 4.0});
        add(&sums, &(window){SPEC_OBSERVED_WINDOW, 1, 400.0, {240.0}, 13.0, 4.0});
    }
    const spec_advice advice = advise(&sums, &usual);
    assert_near(at(&advice, 1)->round_over_plain.value, 1.3, 1e-9);
    assert_near(at(&advice, 1)->round_over_plain.low, 0.98 * 1.3, 1e-9);
    assert_near(at(&advice, 1)->round_over_plain.high, 1.02 * 1.3, 1e-9);
}

/* A few requests of 256 tokens at K = 4, whose alphas have a Beta law of mean .9. Nominal .95;
 * intervals on the scale of logarithms alone, at K = 5 and concentration 2, cover .74 with 5
 * requests and .84 with 12 (docs/formulas/statistics.md#cluster-ratio). */
TEST(few_requests_hold_the_tokens_per_round, SLOW | STATISTICS)
{
    static const struct {
        int n;
        double concentration;
    } rows[] = {{5, 2.0}, {12, 2.0}, {5, 5.0}, {12, 5.0}};
    enum { K = 4, OUTPUT = 256, SAMPLES = 250 };
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus2, spec_test_seed());
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        const double a = 0.9 * rows[r].concentration, b = 0.1 * rows[r].concentration;
        double per_token = 0.0;
        int held = 0;
        for (int i = 0; i < 100000; i++)
            per_token += 1e-5 / spec_capped_geometric_mean(gsl_ran_beta(rng, a, b), K);
        for (int s = 0; s < SAMPLES; s++) {
            OWNED(spec_observed_sums) sums = {0};
            for (int i = 0; i < rows[r].n; i++) {
                const double alpha = gsl_ran_beta(rng, a, b);
                window w = {SPEC_OBSERVED_REQUEST, K, 0.0, {0.0}, 1.0, 1.0};
                for (int tokens = 0; tokens < OUTPUT; tokens++, w.rounds++)
                    for (int j = 0; j < K && gsl_rng_uniform(rng) < alpha; j++, tokens++)
                        w.passed[j]++;
                add(&sums, &w);
            }
            const spec_advice advice = advise(&sums, &usual);
            const spec_cluster_ratio *tokens = &at(&advice, K)->tokens;
            held += tokens->low <= 1.0 / per_token && 1.0 / per_token <= tokens->high;
        }
        assert_true(held >= SAMPLES * 0.9); /* .93 less 2 standard errors */
    }
}
