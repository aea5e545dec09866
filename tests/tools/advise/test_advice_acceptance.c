/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the acceptance that an advice reports, from counts whose answer is known. */
#include "tools/advise/advice.h"

#include "analysis/alpha.h"
#include "tests/support/support.h"
#include "tests/tools/advise/observed_windows.h"

#include <gsl/gsl_randist.h>

TEST(alpha_counts_tested_tokens)
{
    OWNED(spec_observed_sums) sums = {0};
    llama_cpp(&sums);
    const spec_advice advice = advise(&sums, &usual);
    assert_near(advice.alpha.value, 108.0 / (51.0 + 46.0 + 37.0), 1e-12);
    assert_near(advice.accepted_over_drafted, 108.0 / 153.0, 1e-12);
    assert_near(at(&advice, 1)->conditional.value, 46.0 / 51.0, 1e-12);
    assert_near(at(&advice, 3)->conditional.value, 25.0 / 37.0, 1e-12);
    assert_within(advice.missing, 0.0, 1e-12);
}

/* 100 rounds accept 60, 30 and 15 tokens by depth, of 260 drafted: 40 draft tokens are missing. 15
 * rounds can have ended after 2 tokens and lack one each, and 12.5 of the 30 that accepted one lack
 * the other 25: 162.5 to 190 were tested. */
TEST(shorter_drafts_leave_alpha_a_range)
{
    OWNED(spec_observed_sums) sums = {0};
    const spec_observer observer = spec_observed_sums_observer(&sums);
    spec_observation seen = spec_observation_empty(SPEC_OBSERVED_REQUEST, 1);
    seen.K = seen.depths = 3;
    seen.rounds = seen.rounds_low = seen.rounds_high = 100.0;
    seen.drafted = 260.0;
    seen.accepted = 105.0;
    seen.passed[0] = 60.0, seen.passed[1] = 30.0, seen.passed[2] = 15.0;
    for (int i = 0; i < 4; i++)
        assert_int_equal(observer.take(observer.self, &seen, NULL), GSL_SUCCESS);
    const spec_advice advice = advise(&sums, &usual);
    assert_near(advice.missing, 40.0 / 300.0, 1e-12);
    assert_near(advice.alpha.value, 105.0 / 190.0, 1e-12);
    assert_true(advice.alpha.high >= 105.0 / 162.5 && advice.alpha.high < 0.75);
    assert_near(at(&advice, 3)->alpha.high, advice.alpha.high, 1e-12);
    assert_true(advice.alpha.low <= advice.alpha.value);
    /* every round tests depth 1; 20 rounds that end after it lack 40 tokens */
    assert_near(at(&advice, 1)->conditional.value, 0.6, 1e-12);
    assert_true(at(&advice, 1)->conditional.high < 0.8);
    assert_near(at(&advice, 2)->conditional.value, 0.5, 1e-12);
    assert_true(at(&advice, 2)->conditional.high >= 30.0 / 40.0);
    assert_true(at(&advice, 2)->conditional.high < 0.85);
    /* the end of a draft is not a rejection, so these counts say nothing about decay by depth */
    assert_nan(advice.mixture_z);
    assert_nan(advice.mixture.likelihood_ratio);
}

/* 198 requests of 10 rounds accept half of their first draft tokens, and two requests of 495 rounds
 * 90 %. */
TEST(the_longest_requests_are_left_out)
{
    OWNED(spec_observed_sums) sums = {0};
    for (int i = 0; i < 200; i++) {
        const bool longest = i == 17 || i == 180;
        const double rounds = longest ? 495.0 : 10.0;
        add(&sums, &(window){SPEC_OBSERVED_REQUEST,
                             1,
                             rounds,
                             {longest ? 0.9 * rounds : 4.0 + i % 3},
                             1.0,
                             1.0});
    }
    const spec_advice advice = advise(&sums, &usual);
    assert_near(advice.longest_share, 990.0 / (990.0 + 1980.0), 1e-12);
    assert_within(advice.without_longest.value, 0.5, 0.01);
    assert_within(advice.alpha.value, (990.0 * 0.9 + 1980.0 * 0.5) / 2970.0, 0.01);
}

/* Two ranges of batch sizes take turns; acceptance is .6 for 30 windows, then .4: neighbours in
 * time belong to different ranges. */
TEST(drift_follows_time_across_batches)
{
    OWNED(spec_observed_sums) sums = {0};
    window now = at_length(2), later = at_length(2);
    later.passed[0] = 400.0, later.passed[1] = 160.0;
    for (int i = 0; i < 60; i++) {
        window *w = i < 30 ? &now : &later;
        w->running = i % 2 == 0 ? 1.0 : 8.0;
        w->passed[0] += i % 3 == 0 ? 3.0 : i % 3 == 1 ? -3.0 : 0.0;
        add(&sums, w);
    }
    const spec_advice advice = advise(&sums, &usual);
    assert_true(advice.drift.p < 0.01);
    assert_within((double)advice.drift.from, 30.0, 1.0);
    assert_within(advice.drift.before, 0.6, 0.01);
    assert_within(advice.drift.after, 0.4, 0.01);
}

/* Beyond 1024 windows, clusters contain several windows. */
TEST(drift_is_told_in_windows)
{
    OWNED(spec_observed_sums) sums = {0};
    window now = at_length(2), later = at_length(2);
    later.passed[0] = 400.0, later.passed[1] = 160.0;
    for (int i = 0; i < 2400; i++) add(&sums, i < 800 ? &now : &later);
    const spec_advice advice = advise(&sums, &usual);
    assert_true(advice.drift.p < 0.01);
    assert_within((double)advice.drift.from, 800.0, 8.0);
}

TEST(a_change_of_acceptance_is_tested)
{
    OWNED(spec_observed_sums) before = {0}, after = {0};
    spec_advice advice;
    window worse = at_length(3);
    worse.passed[0] = 500.0, worse.passed[1] = 250.0, worse.passed[2] = 125.0;
    add_noisy(&before, at_length(3), 20);
    add_noisy(&after, worse, 20);
    assert_int_equal(spec_advice_of(&advice, &after, &before, &usual, NULL), GSL_SUCCESS);
    assert_true(advice.compared);
    assert_true(advice.change.p < 0.001);
    assert_near(advice.change.before, 0.6, 2e-3);
    assert_near(advice.change.after, 0.5, 2e-3);
    assert_int_equal(spec_advice_of(&advice, &after, &after, &usual, NULL), GSL_SUCCESS);
    assert_true(advice.change.p > 0.5);
}

/* One request without depths gives the alpha that explains 2.5 tokens per round at K = 3, and no
 * interval; three requests give one. */
TEST(without_depths_alpha_follows_from_tokens)
{
    OWNED(spec_observed_sums) sums = {0};
    const spec_observer observer = spec_observed_sums_observer(&sums);
    spec_observation seen = spec_observation_empty(SPEC_OBSERVED_REQUEST, 1);
    seen.K = 3;
    seen.rounds = seen.rounds_low = seen.rounds_high = 100.0;
    seen.drafted = 300.0;
    seen.accepted = 150.0;
    assert_int_equal(observer.take(observer.self, &seen, NULL), GSL_SUCCESS);
    spec_advice advice = advise(&sums, &usual);
    assert_near(advice.alpha.value, spec_alpha_from_emitted(2.5, 3), 1e-12);
    assert_nan(advice.alpha.low);
    assert_nan(advice.alpha.high);
    for (int i = 0; i < 2; i++) {
        seen.accepted += 3.0;
        assert_int_equal(observer.take(observer.self, &seen, NULL), GSL_SUCCESS);
    }
    advice = advise(&sums, &usual);
    assert_true(advice.alpha.low < advice.alpha.value && advice.alpha.value < advice.alpha.high);
    spec_observed_sums_free(&sums);
    /* 65 tokens are accepted in 20 to 23 rounds. With 20, the likeliest number, that would be 4.25
     * tokens per round, but at most 4 are possible. */
    seen.rounds = seen.rounds_low = 20.0;
    seen.rounds_high = 23.0;
    seen.drafted = 69.0;
    seen.accepted = 65.0;
    for (int i = 0; i < 2; i++)
        assert_int_equal(observer.take(observer.self, &seen, NULL), GSL_SUCCESS);
    advice = advise(&sums, &usual);
    assert_same(advice.alpha.value, 1.0);
    assert_same(advice.alpha.low, 1.0);
    assert_same(advice.alpha.high, 1.0);
}

/* Shares of .6, .24 and .072 by depth fall faster than with a single alpha; .6, .48 and .432 more
 * slowly. */
TEST(decay_and_mixture_are_told_apart)
{
    OWNED(spec_observed_sums) decay = {0}, mixture = {0};
    for (int i = 0; i < 25; i++) {
        const double d = i % 5 - 2;
        add(&decay,
            &(window){SPEC_OBSERVED_REQUEST, 3, 1000.0, {600.0 + d, 240.0, 72.0}, 1.0, 1.0});
        add(&mixture,
            &(window){SPEC_OBSERVED_REQUEST, 3, 1000.0, {600.0 + d, 480.0, 432.0}, 1.0, 1.0});
    }
    const spec_advice falls = advise(&decay, &usual), rises = advise(&mixture, &usual);
    /* the jackknife by leaving each request out: d sums to 0 */
    const double n = 25.0, excess = 0.24 - 0.36;
    double squares = 0.0;
    for (int i = 0; i < 25; i++) {
        const double m1 = (600.0 * n - (600.0 + i % 5 - 2.0)) / (1000.0 * (n - 1.0));
        squares += pow(0.24 - m1 * m1 - excess, 2.0);
    }
    assert_near(falls.mixture_z, excess / sqrt((n - 1.0) / n * squares), 1e-6);
    assert_true(falls.mixture_z < -3.0);
    assert_true(rises.mixture_z > 3.0);
    assert_same(falls.mixture.likelihood_ratio, 0.0);
    assert_true(rises.mixture.likelihood_ratio > 100.0);
}

/* Counts that are in proportion show no spread, however large they are. */
TEST(one_law_in_all_requests_is_neither_decay_nor_mixture)
{
    for (double unit = 1.0; unit < 1e12; unit *= 7.0) {
        OWNED(spec_observed_sums) sums = {0};
        for (int i = 1; i < 40; i++)
            add(&sums, &(window){SPEC_OBSERVED_REQUEST,
                                 2,
                                 7.0 * i * unit,
                                 {5.0 * i * unit, 3.0 * i * unit},
                                 1.0,
                                 1.0});
        const spec_advice advice = advise(&sums, &usual);
        assert_nan(advice.mixture_z);
    }
}

/* Without depths, 1,000 rounds that accept 500 of 3,000 drafted tokens at K = 4: 1,000 tokens are
 * missing, so at most (500 + 1,000)/4 rounds end without a rejection. */
TEST(counts_of_short_drafts_bound_alpha)
{
    OWNED(spec_observed_sums) sums = {0};
    const spec_observer observer = spec_observed_sums_observer(&sums);
    spec_observation seen = spec_observation_empty(SPEC_OBSERVED_REQUEST, 1);
    seen.K = 4;
    seen.rounds = seen.rounds_low = seen.rounds_high = 1000.0;
    seen.drafted = 3000.0;
    seen.accepted = 500.0;
    for (int i = 0; i < 30; i++)
        assert_int_equal(observer.take(observer.self, &seen, NULL), GSL_SUCCESS);
    const spec_advice advice = advise(&sums, &usual);
    assert_near(advice.alpha.high, 500.0 / (500.0 + 1000.0 - 375.0), 1e-6);
    assert_near(advice.alpha.low, 500.0 / 1500.0, 1e-6);
}

/* Two runs of one engine whose alpha wanders, with an autocorrelation of .9 from window to window:
 * one before a change that changes nothing, and one after it. Without the widening every second
 * pair would differ. */
TEST(windows_of_one_engine_seldom_differ, STATISTICS)
{
    enum { PAIRS = 150, WINDOWS = 40, ROUNDS = 400 };
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus2, spec_test_seed());
    int changed = 0, held = 0;
    for (int pair = 0; pair < PAIRS; pair++) {
        OWNED(spec_observed_sums) before = {0};
        OWNED(spec_observed_sums) after = {0};
        for (int part = 0; part < 2; part++) {
            double level = gsl_ran_ugaussian(rng);
            for (int w = 0; w < WINDOWS; w++) {
                level = 0.9 * level + sqrt(1.0 - 0.81) * gsl_ran_ugaussian(rng);
                const double alpha = 0.7 + 0.05 * level;
                const unsigned passed = gsl_ran_binomial(rng, fmin(fmax(alpha, 0.0), 1.0), ROUNDS);
                add(part == 0 ? &before : &after,
                    &(window){SPEC_OBSERVED_WINDOW, 1, ROUNDS, {passed}, 10.0, 4.0});
            }
        }
        spec_advice advice;
        assert_int_equal(spec_advice_of(&advice, &after, &before, &usual, NULL), GSL_SUCCESS);
        changed += advice.change.p < 0.01;
        held += advice.alpha.low <= 0.7 && 0.7 <= advice.alpha.high;
    }
    assert_true(changed <= PAIRS * 0.04); /* chance 4e-4 at .01 */
    assert_true(held >= PAIRS * 0.88);
}
