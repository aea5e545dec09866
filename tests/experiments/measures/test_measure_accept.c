/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the measure accept: every closed form against the enumeration of the rule's own code, and
 * its rows. */
#include "experiments/measures/accept_rows.h"
#include "tests/experiments/measures/run_measure.h"
#include "tests/models/rows/rows_pair.h"
#include "tests/support/folder.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>

static size_t row_of(const spec_result *result, const char *rule, const char *drafting, int n)
{
    for (size_t r = 0; r < result->table.n_rows; r++)
        if (strcmp(text(result, r, "rule"), rule) == 0 &&
            strcmp(text(result, r, "drafting"), drafting) == 0 && number(result, r, "n") == n)
            return r;
    fail_msg("no row %s,%s,%d", rule, drafting, n);
    return 0;
}

/* Covers zeros, ties (levels), peaks, one token, and more drafts than tokens; every rule with every
 * way to draft that it supports. */
TEST(every_closed_form_is_what_the_rule_does, SLOW)
{
    static const char *const pairs[] = {
        "target = \"dirichlet?V=4&concentration=0.5&seed=1\"; draft = "
        "\"dirichlet?V=4&concentration=0.5&seed=2\"; "
        "contexts = 6; n = [\"1:4\"];",
        "target = \"dirichlet?V=3&zeros=0.5&seed=3\"; draft = \"dirichlet?V=3&zeros=0.5&seed=4\"; "
        "contexts = 30; "
        "n = [\"1:5\"];",
        "target = \"dirichlet?V=5&levels=3&seed=5\"; draft = \"dirichlet?V=5&levels=3&seed=6\"; "
        "contexts = 20; "
        "n = [\"1:3\"];",
        "target = \"probs:0.27,0.73,0,0\"; draft = \"probs:0,0,0.4,0.6\"; n = [\"1:5\"];",
        "target = \"probs:0.27,0.73\"; draft = \"probs:0.27,0.73\"; n = [\"1:4\"];",
        "target = \"probs:1\"; draft = \"probs:1\"; n = [\"1:3\"];",
    };
    for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++) {
        spec_result result;
        run(&result, "accept", 0, pairs[p]);
        assert_int_equal(result.fails, 0);
        assert_true(result.table.n_rows > 60);
        for (size_t r = 0; r < result.table.n_rows; r++) {
            const spec_rule *rule;
            assert_int_equal(spec_rule_find(&rule, text(&result, r, "rule"), NULL), GSL_SUCCESS);
            assert_true(!isnan(number(&result, r, "enumerated")));
            if (rule->claim >= SPEC_LOSSY) continue;
            if (number(&result, r, "n") <= 2)
                assert_string_equal(text(&result, r, "verdict"), "equal");
            assert_true(number(&result, r, "acceptance") <= number(&result, r, "optimal") + 1e-12);
        }
        spec_result_free(&result);
    }
}

/* The requested rules do not change the contexts: rules are compared on the same contexts. */
TEST(a_row_does_not_depend_on_the_other_rows, SLOW)
{
    static const char pair[] =
        "target = \"dirichlet?V=6&seed=1\"; draft = \"dirichlet?V=6&seed=2\"; contexts = 50;";
    char grid[300];
    OWNED(spec_result) all, one;
    snprintf(grid, sizeof grid, "%s n = [\"1:3\"];", pair);
    run(&all, "accept", 0, grid);
    snprintf(grid, sizeof grid, "%s rule = [\"kseq\", \"rrsw\"]; n = [2, 3];", pair);
    run(&one, "accept", 0, grid);
    assert_int_equal(one.table.n_rows, 4);
    for (size_t r = 0; r < 4; r++) {
        const size_t same = row_of(&all, text(&one, r, "rule"), text(&one, r, "drafting"),
                                   (int)number(&one, r, "n"));
        assert_same(number(&one, r, "acceptance"), number(&all, same, "acceptance"));
        assert_same(number(&one, r, "acceptance_se"), number(&all, same, "acceptance_se"));
        assert_same(number(&one, r, "optimal"), number(&all, same, "optimal"));
    }
}

/* A single greedy draft is chosen, and accepted with the target's probability of it; of two, one is
 * sampled. */
TEST(greedy_is_chosen_where_it_is_alone)
{
    OWNED(spec_result) result;
    run(&result, "accept", 0,
        "target = \"probs:0.5,0.3,0.2\"; draft = \"probs:0.2,0.5,0.3\"; rule = \"token-rest\"; "
        "drafting = \"greedy,top,chain\"; n = [\"1:2\"];");
    assert_int_equal(result.table.n_rows, 5);
    const double expected[] = {0.3, 0.9, 0.3, 0.5, 0.7};
    for (size_t r = 0; r < 5; r++)
        assert_within(number(&result, r, "acceptance"), expected[r], 1e-12);
}

TEST(rules_with_a_bias_are_marked)
{
    static const char *const verdicts[] = {"equal", "biased, lossy as marked",
                                           "equal; biased, lossy as marked",
                                           "equal; biased, as marked"};
    OWNED(spec_result) result;
    run(&result, "accept", 0,
        "target = \"probs:0.5,0.3,0.2\"; draft = \"probs:0.2,0.5,0.3\"; "
        "rule = \"token,lenience,ensemble,resample-target\"; drafting = \"chain\";");
    assert_int_equal(result.table.n_rows, 4);
    for (size_t r = 0; r < 4; r++) assert_string_equal(text(&result, r, "verdict"), verdicts[r]);
}

/* If the text gives no draft, nothing is accepted; there is no closed form. */
TEST(lookup_is_enumerated_alone)
{
    OWNED(spec_result) result;
    run(&result, "accept", 0,
        "target = \"markov?V=3&order=1&seed=5\"; draft = \"\"; drafting = \"lookup\"; "
        "rule = \"token,match\"; "
        "contexts = 40;");
    assert_int_equal(result.table.n_rows, 2);
    for (size_t r = 0; r < 2; r++) {
        assert_true(number(&result, r, "acceptance") > 0.1);
        assert_same(number(&result, r, "acceptance"), number(&result, r, "enumerated"));
        assert_true(isnan(number(&result, r, "optimal")));
    }
    assert_int_equal(result.holds, 0);
}

TEST(rows_by_default_are_chains_and_each_kind_of_siblings_a_rule_holds_for)
{
    static const char *const expected[] = {"rrs,chain,1", "rrs,iid,2", "spechub,chain,1",
                                           "spechub,hub,2"};
    OWNED(spec_accept_rows) rows;
    assert_int_equal(spec_accept_rows_init(&rows, "rrs,spechub", "", "1:2", NULL), GSL_SUCCESS);
    assert_int_equal(rows.n_rows, 4);
    for (size_t i = 0; i < 4; i++) {
        char buffer[64];
        snprintf(buffer, sizeof buffer, "%s,%s,%d", rows.row[i].spec, rows.row[i].drafting,
                 rows.row[i].n);
        assert_string_equal(buffer, expected[i]);
    }
    spec_accept_rows_free(&rows);
    assert_int_equal(spec_accept_rows_init(&rows, "", "", "1", NULL), GSL_SUCCESS);
    size_t n = 0;
    while (spec_rules[n] != NULL) n++;
    assert_int_equal(rows.n_rows, n);
}

/* Each place of a file counts once; compare with the same rows one at a time. */
TEST(all_places_of_a_file_are_averaged, .setup = spec_folder_enter, .teardown = spec_folder_leave)
{
    enum { N = 70 };
    static const char *const rules[] = {"token", "match", "greedy", "kseq", "block"};
    OWNED(opened) target = open_model("cases?V=3&order=2&family=zeros&seed=6", NULL);
    OWNED(opened) draft = open_model("cases?V=3&order=2&family=zeros&side=draft&seed=6", NULL);
    spec_result all, one;
    double value[5][N];
    rows_pair_write("test_measure_accept.tmp", &target, &draft, N, 1, 0.0);
    run(&all, "accept", 0, "target = \"rows:test_measure_accept.tmp\"; draft = "
              "\"rows:test_measure_accept.tmp?side=draft\"; "
              "rule = \"token,match,greedy,kseq,block\"; contexts = \"all\";");
    for (int p = 0; p < N; p++) {
        char grid[300];
        snprintf(grid, sizeof grid,
                 "target = \"rows:test_measure_accept.tmp?at=%d\"; "
                 "rule = \"token,match,greedy,kseq,block\"; draft = "
                 "\"rows:test_measure_accept.tmp?side=draft&at=%d\";",
                 p, p);
        run(&one, "accept", 0, grid);
        for (int r = 0; r < 5; r++)
            value[r][p] = number(&one, row_of(&one, rules[r], "chain", 1), "acceptance");
        spec_result_free(&one);
    }
    for (int r = 0; r < 5; r++) {
        const size_t row = row_of(&all, rules[r], "chain", 1);
        double sum = 0.0;
        for (int p = 0; p < N; p++) sum += value[r][p];
        gsl_sort(value[r], 1, N);
        assert_near(number(&all, row, "acceptance"), sum / N, 1e-9);
        assert_near(number(&all, row, "acceptance_q10"),
                    gsl_stats_quantile_from_sorted_data(value[r], 1, N, 0.1), 1e-9);
        assert_near(number(&all, row, "acceptance_median"),
                    gsl_stats_median_from_sorted_data(value[r], 1, N), 1e-9);
        assert_near(number(&all, row, "acceptance_q90"),
                    gsl_stats_quantile_from_sorted_data(value[r], 1, N, 0.9), 1e-9);
        assert_string_equal(text(&all, row, "verdict"), "equal");
    }
    spec_result_free(&all);
}
