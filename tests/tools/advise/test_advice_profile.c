/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the profile of an advice: rates by depth from known counts. */
#include "tools/advise/advice_report.h"

#include "tests/support/support.h"
#include "tests/tools/advise/observed_windows.h"

#include <math.h>

static int profile_of(spec_acceptance_profile *ret, const spec_observed_sums *sums,
                      spec_error *error)
{
    const spec_advice advice = advise(sums, &usual);
    const spec_diagnosis_source source[] = {{.path = "before.log", .part = SPEC_SOURCE_BEFORE},
                                            {.path = "a.log", .part = SPEC_SOURCE_FILE},
                                            {.path = "plain.log", .part = SPEC_SOURCE_PLAIN}};
    const spec_diagnosis_facts facts = {
        .advice = &advice, .evidence = sums, .source = source, .n_sources = 3};
    return spec_advice_profile(ret, &facts, 0.05, error);
}

/* 10 of 12 requests of 100 rounds accept 80, 50 and 29 tokens by depth, one 70, 40 and 23, and one
 * 90, 60 and 35; the sums are 960, 600 and 348 of 1200. */
TEST(rates_are_shares_of_all_rounds_and_of_those_that_reach_a_depth)
{
    OWNED(spec_observed_sums) sums = {0};
    window w = {SPEC_OBSERVED_REQUEST, 3, 100.0, {80.0, 50.0, 29.0}, NAN, NAN};
    for (int i = 0; i < 10; i++) add(&sums, &w);
    w.passed[0] = 70.0, w.passed[1] = 40.0, w.passed[2] = 23.0;
    add(&sums, &w);
    w.passed[0] = 90.0, w.passed[1] = 60.0, w.passed[2] = 35.0;
    add(&sums, &w);
    OWNED(spec_acceptance_profile) profile;
    assert_works(profile_of(&profile, &sums, &error));
    static const double unconditional[] = {0.8, 0.5, 0.29}, conditional[] = {0.8, 0.625, 0.58};
    assert_int_equal(profile.K, 3);
    assert_false(profile.one_rate);
    assert_within(profile.rounds, 1200.0, 0.0);
    assert_within(profile.length.value, 2.59, 1e-12);
    assert_true(profile.length.low < 2.59 && profile.length.high > 2.59);
    for (int i = 0; i < 3; i++) {
        const spec_profile_number *all = &profile.unconditional[i], *of = &profile.conditional[i];
        assert_within(all->value, unconditional[i], 1e-12);
        assert_within(of->value, conditional[i], 1e-12);
        assert_true(all->low < all->value && all->value < all->high);
        assert_true(of->low < of->value && of->value < of->high);
    }
    assert_int_equal(profile.n_files, 1);
    assert_string_equal(profile.file[0], "a.log");
}

/* The current K is the one with the most rounds; the other one does not count. */
TEST(the_profile_is_that_of_the_current_length)
{
    OWNED(spec_observed_sums) sums = {0};
    const window often = {SPEC_OBSERVED_REQUEST, 2, 300.0, {240.0, 150.0}, NAN, NAN},
                 seldom = {SPEC_OBSERVED_REQUEST, 1, 10.0, {1.0}, NAN, NAN};
    for (int i = 0; i < 4; i++) {
        add(&sums, &often);
        add(&sums, &seldom);
    }
    OWNED(spec_acceptance_profile) profile;
    assert_works(profile_of(&profile, &sums, &error));
    assert_int_equal(profile.K, 2);
    assert_within(profile.unconditional[0].value, 0.8, 1e-12);
    assert_within(profile.rounds, 1200.0, 0.0);
}

/* K = 4 has a third of the rounds of K = 2, and K = 6 a thirtieth. */
TEST(the_profile_is_that_of_a_longer_length_with_enough_rounds)
{
    OWNED(spec_observed_sums) sums = {0};
    const window often = {SPEC_OBSERVED_REQUEST, 2, 300.0, {240.0, 150.0}, NAN, NAN},
                 longer = {SPEC_OBSERVED_REQUEST, 4, 100.0, {70, 50, 30, 20}, NAN, NAN},
                 seldom = {SPEC_OBSERVED_REQUEST, 6, 10.0, {7, 6, 5, 4, 3, 2}, NAN, NAN};
    for (int i = 0; i < 4; i++) {
        add(&sums, &often);
        add(&sums, &longer);
        add(&sums, &seldom);
    }
    OWNED(spec_acceptance_profile) profile;
    assert_works(profile_of(&profile, &sums, &error));
    assert_int_equal(profile.K, 4);
    assert_within(profile.unconditional[3].value, 0.2, 1e-12);
    assert_within(profile.rounds, 400.0, 0.0);
}

/* Half of the passes have a draft: rates are those of rounds, and passes give the rest. */
TEST(passes_without_a_draft_are_counted_apart)
{
    OWNED(spec_observed_sums) sums = {0};
    const spec_observer observer = spec_observed_sums_observer(&sums);
    spec_observation seen = spec_observation_empty(SPEC_OBSERVED_REQUEST, 1);
    seen.K = seen.depths = 2;
    seen.rounds = seen.rounds_low = seen.rounds_high = 100.0;
    seen.passes = 200.0;
    seen.drafted = 200.0;
    seen.accepted = 90.0;
    seen.emitted = 290.0;
    seen.passed[0] = 60.0, seen.passed[1] = 30.0;
    for (int i = 0; i < 4; i++)
        assert_int_equal(observer.take(observer.self, &seen, NULL), GSL_SUCCESS);
    OWNED(spec_acceptance_profile) profile;
    assert_works(profile_of(&profile, &sums, &error));
    assert_within(profile.unconditional[0].value, 0.6, 1e-12);
    assert_within(profile.length.value, 1.9, 1e-12);
    assert_within(profile.rounds, 400.0, 0.0);
    assert_within(profile.passes, 800.0, 0.0);
}

/* 1 + a + a^2 + a^3 = 2.727 at a = .73, but the counts have no depths. */
TEST(without_depths_one_rate_is_assumed)
{
    OWNED(spec_observed_sums) sums = {0};
    const spec_observer observer = spec_observed_sums_observer(&sums);
    const double alpha = 0.73, length = 1.0 + alpha + pow(alpha, 2) + pow(alpha, 3);
    for (int i = 0; i < 6; i++) {
        spec_observation seen = spec_observation_empty(SPEC_OBSERVED_WINDOW, 1);
        seen.K = 3;
        seen.rounds = seen.rounds_low = seen.rounds_high = seen.passes = 1e6;
        seen.drafted = 3e6;
        seen.accepted = round((length - 1.0) * 1e6) + (i % 2 == 0 ? 4000.0 : -4000.0);
        seen.emitted = seen.passes + seen.accepted;
        assert_int_equal(observer.take(observer.self, &seen, NULL), GSL_SUCCESS);
    }
    OWNED(spec_acceptance_profile) profile;
    assert_works(profile_of(&profile, &sums, &error));
    assert_true(profile.one_rate);
    for (int i = 0; i < 3; i++) {
        assert_near(profile.conditional[i].value, alpha, 1e-6);
        assert_near(profile.unconditional[i].value, pow(alpha, i + 1), 3e-6);
        assert_true(profile.unconditional[i].low < pow(alpha, i + 1));
        assert_true(profile.unconditional[i].high > pow(alpha, i + 1));
    }
    assert_near(profile.length.value, length, 1e-6);
}

TEST(plain_decoding_has_no_profile)
{
    OWNED(spec_observed_sums) sums = {0};
    const window plain = {SPEC_OBSERVED_WINDOW, 0, 100.0, {0}, 10.0, 1.0};
    for (int i = 0; i < 4; i++) add(&sums, &plain);
    OWNED(spec_acceptance_profile) profile;
    assert_fails_with(profile_of(&profile, &sums, &error), GSL_EUNSUP, "no round");
}
