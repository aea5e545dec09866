/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the measure `plan`: its rows, its plans against simulations, and known probabilities by
 * rank. */
#include "tests/experiments/measures/run_measure.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

static const char reference[] =
    "target = \"probs:0.5,0.3,0.2\"; draft = \"probs:0.2,0.5,0.3\"; width = 3; ";

/* The acceptance of 1, 2 and 3 drafts (tests/oracle/vectors.py): .7, 283/350, 1 by rrsw; .7, .76,
 * .808 by rrs; and .3, .5, 1 of the target in the draft's order. */
TEST(chances_by_rank_are_differences_of_known_acceptances)
{
    static const struct {
        const char *rule, *siblings, *by_rank;
        double emitted; /* tokens of the better tree of two nodes */
        double limit;   /* 1 + log 2 / H + M / H^2, of trees of chosen nodes */
    } cases[] = {
        {"rrsw", "without", "0.7 0.1086 0.1914", 1 + 0.7 + 0.49, NAN},
        {"rrs", "iid", "0.7 0.06 0.048", 1 + 0.7 + 0.49, NAN},
        {"match", "top", "0.3 0.2 0.5", 1 + 0.3 + 0.2, 2.798601405},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWNED(spec_result) result;
        char grid[400];
        snprintf(grid, sizeof grid,
                 "%srule = \"%s\"; siblings = \"%s\"; nodes = 2; c = 0; methods = \"sequoia\"; ",
                 reference, cases[i].rule, cases[i].siblings);
        run(&result, "plan", 20000, grid);
        assert_all_hold(&result, 1);
        assert_string_equal(text(&result, 0, "by_rank"), cases[i].by_rank);
        assert_near(number(&result, 0, "emitted"), cases[i].emitted, 1e-9); /* as printed */
        assert_int_equal(isnan(number(&result, 0, "limit")), isnan(cases[i].limit));
        if (!isnan(cases[i].limit)) assert_near(number(&result, 0, "limit"), cases[i].limit, 1e-6);
    }
}

TEST(rows_are_budgets_by_methods_and_hold)
{
    static const char *const methods[] = {"chain", "k-ary", "branches", "delayed", "sequoia"};
    static const int budgets[] = {0, 3, 7};
    OWNED(spec_result) result;
    char grid[400];
    snprintf(grid, sizeof grid, "%snodes = [\"0,3,7\"]; depth = 4; c = 0.02; ", reference);
    run(&result, "plan", 20000, grid);
    assert_all_hold(&result, 15);
    for (size_t row = 0; row < 15; row++) {
        assert_string_equal(text(&result, row, "method"), methods[row % 5]);
        assert_int_equal((int)number(&result, row, "budget"), budgets[row / 5]);
        assert_true(number(&result, row, "tree_nodes") <= budgets[row / 5]);
        assert_true(number(&result, row, "tree_depth") <= 4);
        assert_near(number(&result, row, "speedup"),
                    number(&result, row, "emitted") /
                        (1 + 0.02 * number(&result, row, "tree_depth")),
                    1e-9);
        assert_true(number(&result, row, "speedup") <=
                    number(&result, row - row % 5 + 4, "speedup") + 1e-9);
    }
    assert_string_equal(text(&result, 4, "drafting"), "tree?children=0&siblings=without");
}

/* On contexts that form a chain nothing is exact: the simulation is printed beside the plan,
 * unchecked. The dynamic tree has as many levels as the planned one. */
TEST(what_is_not_exact_is_measured_and_not_checked)
{
    OWNED(spec_result) result;
    run(&result, "plan", 20000,
        "target = \"markov?V=5&order=1&seed=3\"; draft = \"perturb?of=target&alpha=0.7\"; rule = "
        "\"match\"; "
        "siblings = \"top\"; width = 4; nodes = 6; c = 0.02; methods = \"sequoia,dynamic\"; "
        "positions = 20000; ");
    assert_int_equal(result.table.n_rows, 2);
    assert_int_equal(result.holds + result.fails, 0);
    assert_near(number(&result, 0, "simulated"), number(&result, 0, "emitted"), 0.1);
    assert_nan(number(&result, 0, "simulated_z"));
    assert_nan(number(&result, 0, "limit")); /* rows differ by context */
    assert_nan(number(&result, 1, "emitted"));
    assert_true(number(&result, 1, "simulated") > 1);
    assert_same(number(&result, 1, "tree_depth"), number(&result, 0, "tree_depth"));
    assert_same(number(&result, 1, "tree_nodes"), 6);
    assert_int_equal(strncmp(text(&result, 1, "drafting"), "dynamic?top=4&nodes=6&depth=", 28), 0);
}
