/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/experiments/measures/run_measure.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

TEST(a_rule_that_never_accepts_fewer_holds)
{
    OWNED(spec_result) result;
    run(&result, "dominance", 0,
        "rule = \"block\"; other = \"token\"; K = [1, 3]; family = [\"plain\", \"mixed\"]; cases = "
        "60;");
    assert_all_hold(&result, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(text(&result, i, "verdict"), "holds");
        assert_true(number(&result, i, "least_gain") > -1e-14);
        assert_true(number(&result, i, "least_gain") <= number(&result, i, "mean_gain"));
        assert_true(number(&result, i, "mean_gain") <= number(&result, i, "greatest_gain"));
    }
    for (size_t i = 0; i < 2; i++)
        assert_true(number(&result, i, "strictly_more") == 0.0); /* K = 1: one rule */
    assert_true(number(&result, 2, "strictly_more") == 60.0);
    assert_true(number(&result, 3, "strictly_more") > 0.0 &&
                number(&result, 3, "strictly_more") < 60.0);
}

static double accepted(const char *rule, int seed)
{
    OWNED(spec_result) result;
    char grid[400];
    snprintf(grid, sizeof grid,
             "rule = \"%s\"; K = 2; tokens = 1; target = \"cases?family=plain&seed=%d\";"
             "draft = \"tree?n=2:cases?family=plain&side=draft&seed=%d\";",
             rule, seed, seed);
    run(&result, "prove", 0, grid);
    const double value = number(&result, 0, "mean_n_accepted");
    return value;
}

/* `prove` repeats just the pair with the smallest gain. */
TEST(a_rule_that_accepts_fewer_fails_with_the_pair_that_shows_it)
{
    OWNED(spec_result) result;
    run(&result, "dominance", 0,
        "rule = \"rrs\"; other = \"traversal\"; drafting = \"tree?n=2\"; family = \"plain\"; cases "
        "= 12;");
    assert_int_equal(result.fails, 1);
    assert_string_equal(text(&result, 0, "verdict"), "NOT always");
    assert_true(number(&result, 0, "greatest_gain") < 0.0 &&
                number(&result, 0, "strictly_more") == 0.0);
    const int seed = (int)number(&result, 0, "least_seed");
    assert_true(seed >= 1 && seed <= 12);
    /* Tables keep ten digits. */
    assert_within(number(&result, 0, "least_gain"),
                  accepted("rrs", seed) - accepted("traversal", seed), 1e-9);
    double mean = 0.0;
    for (int i = 1; i <= 12; i++) mean += (accepted("rrs", i) - accepted("traversal", i)) / 12.0;
    assert_within(number(&result, 0, "mean_gain"), mean, 1e-9);
}

/* rrs has iid siblings and rrsw siblings without replacement; the test fails if they are
 * swapped. */
TEST(each_rule_may_have_its_own_drafting)
{
    OWNED(spec_result) result;
    run(&result, "dominance", 0,
        "rule = \"rrsw\"; drafting = \"tree?widths=3&siblings=without\"; other = \"rrs\"; "
        "other_drafting = \"tree?widths=3\"; K = 1; V = 5; family = \"plain\"; cases = 20;");
    assert_string_equal(text(&result, 0, "verdict"), "holds");
    assert_true(number(&result, 0, "strictly_more") == 20.0);
    spec_result_free(&result);
    run(&result, "dominance", 0,
        "rule = \"rrs\"; drafting = \"tree?widths=3\"; other = \"rrsw\"; "
        "other_drafting = \"tree?widths=3&siblings=without\"; K = 1; V = 5; family = \"plain\"; "
        "cases = 20;");
    assert_string_equal(text(&result, 0, "verdict"), "NOT always");
}

TEST(lossy_rules_are_marked)
{
    OWNED(spec_result) result;
    run(&result, "dominance", 0,
        "rule = [\"block\", \"hsd\"]; other = [\"hsd\", \"token\"]; K = 2; cases = 10;");
    assert_string_equal(text(&result, 0, "verdict"), "biased, lossy as marked");
    assert_string_equal(text(&result, 1, "verdict"), "holds");
    assert_string_equal(text(&result, 2, "verdict"), "biased, lossy as marked");
    assert_string_equal(text(&result, 3, "verdict"), "biased, lossy as marked");
    assert_int_equal(result.fails, 0);
}

TEST(wrong_parameters_are_refused)
{
    static const char *const wrong[][2] = {
        {"rule = \"token\"; other = \"blok\";", "did you mean 'block'"},
        {"rule = \"tokn\"; other = \"block\";", "did you mean 'token'"},
        {"rule = \"token\"; other = \"block\"; cases = 0;", "cases: 0 is not within"},
        {"rule = \"traversal\"; other = \"rrs\"; drafting = \"tree?siblings=top\";",
         "does not support the top siblings"},
    };
    assert_grids_refused("dominance", wrong, sizeof wrong / sizeof *wrong);
}
