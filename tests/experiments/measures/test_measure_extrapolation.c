/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the measure extrapolation: its truth by simulated requests, errors that are known, and its
 verdicts. */
#include "experiments/measures/measures.h"
#include "sim/serving/requests/alpha_law.h"
#include "tests/experiments/measures/run_measure.h"
#include "tests/support/near.h"
#include "tests/support/owned.h"
#include "tests/support/support.h"

#include <math.h>

/* docs/formulas/lengths.md#length-bounds: Beta of mean .7 and concentration 5. Rounds of K = 5 that
 * are cut to K = 1 have 1.6238 tokens; the bounds and the truth are both 1.6775. */
TEST(cut_rounds_are_too_short_and_bounds_are_right)
{
    OWNED(spec_result) result;
    run(&result, "extrapolation", 0,
        "population = [\"beta?concentration=5\"]; alpha = 0.7; K = 5; other_K = [1, 8];");
    assert_within(number(&result, 0, "simple"), 1.6238, 5e-5);
    assert_within(number(&result, 0, "emitted_other"), 1.6775, 5e-5);
    assert_within(number(&result, 0, "bound_low"), 1.6775, 5e-5);
    assert_within(number(&result, 0, "bound_high"), 1.6775, 5e-5);
    assert_near(number(&result, 0, "simple_error"), 1.6238 / 1.6775 - 1.0, 2e-3);
    assert_true(number(&result, 1, "simple_error") > 0.03);
    assert_true(number(&result, 1, "bound_width") < 1e-3);
    assert_all_hold(&result, 2);
}

/* With one alpha there are 1 + a + ... + a^K tokens at every K. If it is all or nothing, .7 of the
 tokens come in rounds of K + 1. */
TEST(populations_with_a_closed_form)
{
    OWNED(spec_result) one;
    OWNED(spec_result) all;
    run(&one, "extrapolation", 0, "population = [\"one\"]; alpha = 0.7; K = 3; other_K = [1, 6];");
    assert_within(number(&one, 0, "simple"), 1.7, 1e-9);
    assert_within(number(&one, 1, "simple"), (1.0 - pow(0.7, 7)) / 0.3, 1e-8);
    run(&all, "extrapolation", 0,
        "population = [\"all-or-nothing\"]; alpha = 0.7; K = 3; other_K = [1, 6];");
    assert_within(number(&all, 0, "emitted"), 1.0 / (0.3 + 0.7 / 4.0), 1e-9);
    assert_within(number(&all, 0, "emitted_other"), 1.0 / (0.3 + 0.7 / 2.0), 1e-9);
    assert_within(number(&all, 1, "emitted_other"), 1.0 / (0.3 + 0.7 / 7.0), 1e-9);
    assert_all_hold(&all, 2);
}

/* Returns tokens over rounds of N requests of L tokens each, at K. Alphas are quantiles of their
 * law, so that only the rounds are random. */
static double simulated(const spec_alpha_law *law, int K, gsl_rng *rng)
{
    enum { N = 400, L = 8000 };
    double rounds = 0.0;
    for (int r = 0; r < N; r++) {
        const double alpha = spec_alpha_law_quantile(law, (r + 0.5) / N);
        for (int tokens = 0; tokens < L; rounds++, tokens++)
            for (int k = 0; k < K && gsl_rng_uniform(rng) < alpha; k++) tokens++;
    }
    return (double)N * L / rounds;
}

/* With 3.2 million tokens chance is below .1 %, and the last rounds of requests account for .05 %.
 * If requests were weighted by their rounds instead of their tokens, this would be off by 3 % and
 * more. */
TEST(the_truth_is_that_of_simulated_requests, STATISTICS)
{
    static const char *const population[] = {"beta?concentration=5", "beta?concentration=2",
                                             "two?spread=0.25"};
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int p = 0; p < 3; p++) {
        OWNED(spec_result) result;
        spec_alpha_law law;
        char grid[200];
        assert_works(spec_alpha_law_init(&law, population[p], 0.7, &error));
        snprintf(grid, sizeof grid, "population = [\"%s\"]; alpha = 0.7; K = 5; other_K = [1, 8];",
                 population[p]);
        run(&result, "extrapolation", 0, grid);
        assert_near(simulated(&law, 5, rng), number(&result, 0, "emitted"), 4e-3);
        assert_near(simulated(&law, 1, rng), number(&result, 0, "emitted_other"), 4e-3);
        assert_near(simulated(&law, 8, rng), number(&result, 1, "emitted_other"), 4e-3);
    }
}

/* From K = 2 on, no law of alpha explains rates that fall with depth. Bounds from K = 1 know
 * nothing about depth, so 1 + .7 + .7 .63 is below them. */
TEST(acceptance_that_falls_with_depth_is_told_apart)
{
    OWNED(spec_result) result;
    run(&result, "extrapolation", 0,
        "population = [\"decay?rate=0.9\"]; alpha = 0.7; K = [1, 3]; other_K = [2, 8];");
    assert_within(number(&result, 0, "emitted_other"), 1.0 + 0.7 + 0.7 * 0.63, 1e-9);
    assert_true(number(&result, 0, "outside") < -0.01);
    assert_string_equal(text(&result, 0, "verdict"), "biased: acceptance falls with depth");
    assert_true(isnan(number(&result, 2, "bound_low")));
    assert_string_equal(text(&result, 2, "verdict"), "biased: no distribution of alpha gives these "
                                                     "counters");
    assert_within(number(&result, 2, "simple_error"), 0.0, 1e-12); /* equal requests, cut */
    assert_int_equal(result.fails, 0);
}

/* With 1.8, 2.3 and 2.6 tokens the depths add .8, .5 and .3. Extrapolated from K = 2, depth 3 would
 * add .5 .625. A length with fewer tokens than the one before adds nothing. */
TEST(published_lengths_go_on_at_the_last_rate)
{
    OWNED(spec_result) result;
    run(&result, "extrapolation", 0,
        "population = [\"published?tokens=1.8/2.3/2.6\", \"published?tokens=1.8/1.7/1.9\"]; "
        "K = 2; other_K = 3;");
    assert_within(number(&result, 0, "simple"), 2.3 + 0.5 * 0.625, 1e-9);
    assert_within(number(&result, 0, "simple_error"), 2.6125 / 2.6 - 1.0, 1e-9);
    assert_within(number(&result, 1, "simple"), 1.8, 1e-9);
}

TEST(wrong_populations_are_refused)
{
    static const char *const wrong[][2] = {
        {"population = \"gamma\"; K = 2; other_K = 3", "population:"},
        {"population = \"decay?rate=2\"; K = 2; other_K = 3", "population:"},
        {"population = \"two?spread=0.5\"; K = 2; other_K = 3", "at most 0.3"},
        {"population = \"all-or-nothing?x=1\"; K = 2; other_K = 3", "population:"},
        {"population = \"published\"; K = 1; other_K = 1", "give tokens=1.8/2.3"},
        {"population = \"published?tokens=1.8/2.3\"; K = 2; other_K = 3", "up to K = 2"},
        {"population = \"published?tokens=2.3\"; K = 1; other_K = 1",
         "is not a number from 1 to 2"},
        {"K = 0; other_K = 3", "K: 0 is not within"},
        {"K = 2; other_K = 65", "other_K: 65 is not within"},
    };
    assert_grids_refused("extrapolation", wrong, sizeof wrong / sizeof *wrong);
}
