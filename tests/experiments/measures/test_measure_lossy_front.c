/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/experiments/measures/run_measure.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

/* Rows (.5, .3, .2) and (.2, .5, .3): the total variations of one and two tokens are .3 and .39
 * (tests/analysis/rules/test_lossy_front.c). pardon with depth 1.5 pays .3 + .5 (.39 - .3). */
TEST(a_rule_on_the_front_and_one_above_it)
{
    OWNED(spec_result) result;
    run(&result, "lossy_front", 0,
        "K = 2; target = \"probs:0.5,0.3,0.2\"; draft = \"chain:probs:0.2,0.5,0.3\";"
        "rule = [\"pardon?depth=1.5\", \"token\"];");
    assert_within(number(&result, 0, "tv"), 0.345, 1e-14);
    assert_within(number(&result, 0, "front_tv"), 0.345, 1e-14);
    assert_within(number(&result, 0, "mean_n_accepted"), 1.955, 1e-14);
    assert_within(number(&result, 0, "most_n_accepted"), 1.955, 1e-14);
    assert_within(number(&result, 0, "lossless_n_accepted"), 1.31, 1e-14);
    assert_within(number(&result, 1, "mean_n_accepted"), 0.7 + 0.49, 1e-14);
    assert_within(number(&result, 1, "most_n_accepted"), 1.31, 1e-14);
    assert_true(number(&result, 1, "front_tv") == 0.0);
}

/* The text of the most probable tokens is (1, 1), with total variations of .7 and .91. */
TEST(a_chosen_draft_has_one_text)
{
    OWNED(spec_result) result;
    run(&result, "lossy_front", 0,
        "K = 2; target = \"probs:0.5,0.3,0.2\"; draft = \"greedy:probs:0.2,0.5,0.3\";"
        "rule = \"pardon?depth=0.5\";");
    assert_within(number(&result, 0, "lossless_n_accepted"), 0.3 + 0.09, 1e-14);
    assert_within(number(&result, 0, "front_tv"), 0.35, 1e-14);
    assert_within(number(&result, 0, "tv"), 0.35, 1e-14);
}

TEST(drafts_without_a_law_are_refused)
{
    static const char *const wrong[][2] = {
        {"rule = \"token\"; K = 2; target = \"zipf?V=3\"; draft = \"tree?n=2:zipf?V=3\";",
         "draft must be chain:MODEL or greedy:MODEL, got 'tree?n=2:zipf?V=3'"},
        {"rule = \"gumbel?seed=3\"; K = 2; target = \"zipf?V=3\"; draft = \"chain:zipf?V=3\";",
         "seed"},
        {"rule = \"token\"; K = 0; target = \"zipf?V=3\"; draft = \"chain:zipf?V=3\";", "K"}};
    assert_grids_refused("lossy_front", wrong, sizeof wrong / sizeof wrong[0]);
}
