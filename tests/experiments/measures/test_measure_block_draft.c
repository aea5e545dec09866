/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the measure block_draft against the explicit tree of rows, and that its brackets contain
 * the truth. */
#include "analysis/rules/block_tree.h"
#include "models/block/water_fill.h"
#include "models/model_open.h"
#include "models/row.h"
#include "tests/experiments/measures/run_measure.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/tuples.h"

#include <math.h>

static size_t row_of(const spec_result *result, const char *drafter, int offset)
{
    for (size_t r = 0; r < result->table.n_rows; r++)
        if (strcmp(text(result, r, "drafter"), drafter) == 0 &&
            number(result, r, "offset") == offset)
            return r;
    fail_msg("no row %s,%d", drafter, offset);
    return 0;
}

enum { V = 3, K = 4, ROWS = 40 };

/* Fills in the target's rows after each path from the empty text. */
static void fill_tree(double *target, const char *spec)
{
    OWNED_MODEL *model;
    spec_error error = {""};
    OWNED(spec_session) session;
    assert_works(spec_model_open(&model, spec, NULL, NULL, &error));
    assert_works(spec_session_init(&session, model, &error));
    for (size_t v = 0; v < ROWS; v++) {
        int path[K], n = 0;
        for (size_t u = v; u > 0; u = (u - 1) / V) n++;
        int at = n;
        for (size_t u = v; u > 0; u = (u - 1) / V) path[--at] = (int)((u - 1) % V);
        double scratch[V];
        const double *row = spec_session_row(&session, path, (size_t)n, scratch, &error);
        assert_non_null(row);
        memcpy(target + v * V, row, sizeof scratch);
    }
}

TEST(listed_paths_give_the_numbers_of_the_tree)
{
    static const char *const targets[] = {"dirichlet?V=3&order=4&concentration=0.4&seed=11",
                                          "dirichlet?V=3&order=4&concentration=1&zeros=0.4&seed=5",
                                          "markov?V=3&order=2&seed=3"};
    for (int i = 0; i < 3; i++) {
        double target[ROWS * V], draft[K * V], bound[2][K], overlap[K], tail[2][K];
        char grid[200];
        const spec_block_tree tree = {target, V, K};
        OWNED(spec_block_tree_work) work;
        OWNED(spec_result) result;
        fill_tree(target, targets[i]);
        assert_int_equal(spec_block_tree_work_init(&work, V, K), GSL_SUCCESS);
        for (int m = 0; m < 2; m++) spec_block_tree_bounds(bound[m], &tree, m, &work);
        spec_block_tree_marginals(draft, overlap, &tree, &work);
        spec_block_tree_tails(tail[1], &tree, draft, &work);
        spec_block_tree_greedy(draft, &tree, &work);
        const double accepted = spec_block_tree_tails(tail[0], &tree, draft, &work);
        snprintf(grid, sizeof grid, "target = \"%s\"; K = 4; listed = 27; positions = 1",
                 targets[i]);
        run(&result, "block_draft", 1, grid);
        assert_int_equal(result.table.n_rows, 16);
        double least = 1;
        for (int k = 0; k < K; k++) {
            const size_t best = row_of(&result, "best", k + 1),
                         mean = row_of(&result, "mean", k + 1),
                         markov = row_of(&result, "markov", k + 1);
            least = fmin(least, bound[0][k]);
            assert_within(number(&result, best, "overlap_most"), bound[0][k], 1e-9);
            assert_within(number(&result, best, "overlap"), bound[0][k], 1e-9);
            assert_within(number(&result, best, "tail_most"), least, 1e-9);
            assert_within(number(&result, best, "tail"), tail[0][k], 1e-9);
            assert_within(number(&result, mean, "overlap"), overlap[k], 1e-9);
            assert_within(number(&result, mean, "tail"), tail[1][k], 1e-9);
            assert_within(number(&result, markov, "overlap"), bound[1][k], 1e-9);
            assert_within(number(&result, markov, "overlap_most"), bound[1][k], 1e-9);
            assert_true(number(&result, markov, "tail") <= bound[1][k] + 1e-9);
            if (k > 0)
                assert_within(number(&result, best, "alpha_offset"), tail[0][k] / tail[0][k - 1],
                              1e-9);
        }
        assert_within(number(&result, row_of(&result, "best", K), "mean_n_accepted"), accepted,
                      1e-9);
        double product = 1;
        size_t v = 0;
        for (int k = 0; k < K; k++) {
            const int token = spec_row_argmax(target + v * V, V);
            product *= target[v * V + (size_t)token];
            assert_within(number(&result, row_of(&result, "greedy", k + 1), "tail"), product, 1e-9);
            v = v * V + 1 + (size_t)token;
        }
    }
}

TEST(a_term_for_the_token_before_is_all_that_a_chain_needs)
{
    OWNED(spec_result) result;
    run(&result, "block_draft", 1,
        "target = \"markov?V=4&order=1&seed=3\"; K = 5; listed = 256; positions = 8");
    for (int k = 1; k <= 5; k++) {
        const size_t row = row_of(&result, "markov", k);
        assert_within(number(&result, row, "overlap"), 1, 1e-9);
        assert_within(number(&result, row, "tail"), 1, 1e-9);
        if (k > 1) assert_true(number(&result, row_of(&result, "best", k), "overlap_most") < 0.99);
    }
}

TEST(a_draft_model_keeps_its_overlap_at_every_offset)
{
    static const char *const paths[] = {"listed = 64", "listed = 63; paths = 20"};
    for (int i = 0; i < 2; i++) {
        OWNED(spec_result) result;
        char grid[200];
        snprintf(grid, sizeof grid,
                 "target = \"dirichlet?V=4&order=3\"; draft = \"perturb?of=target&alpha=0.7\"; "
                 "K = 4; positions = 40; %s",
                 paths[i]);
        run(&result, "block_draft", 1, grid);
        assert_int_equal(result.table.n_rows, 20);
        for (int k = 1; k <= 4; k++) {
            assert_within(number(&result, row_of(&result, "draft", k), "overlap"), 0.7, 1e-9);
            if (i == 0)
                assert_within(number(&result, row_of(&result, "draft", k), "tail"), pow(0.7, k),
                              1e-9);
        }
    }
}

/* The simulator's own rule, by enumeration of its decisions, keeps as much as is computed from the
 * target's paths. */
TEST(a_draft_model_keeps_what_the_rule_keeps)
{
    static const char *const pairs[][2] = {
        {"dirichlet?V=3&order=4&seed=1", "dirichlet?V=3&order=4&seed=2"},
        {"dirichlet?V=3&zeros=0.4&seed=3", "dirichlet?V=3&zeros=0.4&seed=4"},
        {"markov?V=3&order=2&seed=5", "uniform?V=3"}};
    for (int i = 0; i < 3; i++) {
        OWNED(spec_result) rule, paths;
        char grid[300];
        snprintf(grid, sizeof grid,
                 "target = \"%s\"; draft = \"chain:%s\"; K = 3; rule = \"token\"", pairs[i][0],
                 pairs[i][1]);
        run(&rule, "prove", 1, grid);
        snprintf(grid, sizeof grid,
                 "target = \"%s\"; draft = \"%s\"; K = 3; listed = 9; positions = 1", pairs[i][0],
                 pairs[i][1]);
        run(&paths, "block_draft", 1, grid);
        assert_near(number(&paths, row_of(&paths, "draft", 3), "mean_n_accepted"),
                    number(&rule, 0, "mean_n_accepted"), 1e-9);
    }
}

/* Rows are chosen on 6 or 48 paths and judged on others: the truth lies between, and nearer with
 * more paths. If rows were judged on their own paths, there would be no gap. */
TEST(sampled_paths_enclose_the_truth, SLOW)
{
    static const char *const drafters[] = {"best", "markov"};
    static const char *const paths[] = {"listed = 64", "paths = 6", "paths = 48"};
    spec_result result[3];
    for (int i = 0; i < 3; i++) {
        char grid[200];
        snprintf(grid, sizeof grid,
                 "target = \"dirichlet?V=4&order=4&concentration=0.5\"; K = 4; positions = %d; "
                 "%s",
                 i == 0 ? 6000 : 2000, paths[i]);
        run(&result[i], "block_draft", 1, grid);
    }
    for (int d = 0; d < 2; d++)
        for (int k = 3; k <= 4; k++) {
            double gap[3], truth = 0, truth_se = 0;
            for (int i = 0; i < 3; i++) {
                const size_t row = row_of(&result[i], drafters[d], k);
                const double overlap = number(&result[i], row, "overlap"),
                             most = number(&result[i], row, "overlap_most"),
                             se = number(&result[i], row, "overlap_se"),
                             most_se = number(&result[i], row, "overlap_most_se");
                gap[i] = most - overlap;
                if (i == 0) {
                    truth = most;
                    truth_se = most_se;
                    continue;
                }
                assert_true(overlap < truth + 5 * hypot(se, truth_se));
                assert_true(most > truth - 5 * hypot(most_se, truth_se));
            }
            assert_within(gap[0], 0, 1e-9);
            assert_true(gap[1] > 0.05 && gap[2] < gap[1] / 2 && gap[2] > 0);
        }
    /* the mean of a few rows is judged on other paths, too, and is nearer to its truth with more of
     * them */
    double mean[3];
    for (int i = 0; i < 3; i++) mean[i] = number(&result[i], row_of(&result[i], "mean", 4), "tail");
    assert_true(mean[1] < mean[2] && mean[2] < mean[0] + 0.01);
    for (int i = 0; i < 3; i++) spec_result_free(&result[i]);
}

/* The row of the block models and that of the analysis, whose code shares nothing, are found by
 * different sums. */
TEST(block_models_choose_the_best_row)
{
    enum { S_MAX = 7, TOKENS_MAX = 40 };
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int i = 0; i < 2000; i++) {
        double target[S_MAX * TOKENS_MAX], weight[S_MAX], best[TOKENS_MAX], row[TOKENS_MAX], level;
        const double *context[S_MAX];
        spec_block_step step[S_MAX * TOKENS_MAX];
        spec_water_segment segment[S_MAX * TOKENS_MAX];
        const int n = 1 + i % S_MAX, tokens = 1 + i % TOKENS_MAX, kind = i % 4;
        for (int s = 0; s < n; s++) {
            tuples_row(target + s * tokens, tokens, kind, rng);
            weight[s] = gsl_rng_uniform_pos(rng);
            context[s] = target + s * tokens;
        }
        const spec_block_row_set rows = {
            .target = target, .weight = weight, .S = (size_t)n, .V = (size_t)tokens};
        const double worth = spec_block_row_best(best, &level, &rows, step);
        spec_water_fill(row, context, weight, n, tokens, segment);
        assert_near(spec_block_row_worth(&rows, row) / worth, 1.0, 1e-13);
        /* In kinds 2 and 3 probabilities are equal, so several rows may be best. */
        for (int x = 0; x < tokens && kind < 2; x++) assert_within(row[x], best[x], 1e-12);
    }
}

TEST(wrong_values_are_refused)
{
    static const char *const wrong[][2] = {
        {"target = \"zipf?V=9\"; K = 0", "K"},
        {"target = \"zipf?V=9\"; K = 65", "K"},
        {"target = \"zipf?V=9\"; paths = 5000", "paths"},
        {"target = \"zipf?V=9\"; paths = 0", "paths"},
        {"target = \"zipf?V=9\"; listed = 4097", "listed"},
        {"target = \"zipf?V=9000\"; K = 6; paths = 4096", "paths: rows of 9000 tokens"},
        {"target = \"zipf?V=9\"; draft = \"zipf?V=8\"", "V"},
        {"target = \"random?dim=16&layers=1&heads=2&ffn=24&vocab=9&context=4&type=f32\"; K = 5",
         "K: at most the window, 3"},
    };
    assert_grids_refused("block_draft", wrong, sizeof wrong / sizeof wrong[0]);
}

/* With a window of 8 tokens, paths of 5 tokens need texts without their oldest tokens. */
TEST(texts_are_cut_where_a_window_is_small)
{
    OWNED(spec_result) result;
    run(&result, "block_draft", 1,
        "target = \"random?dim=16&layers=1&heads=2&ffn=24&vocab=9&context=8&type=f32\"; "
        "K = 5; paths = 4; positions = 40");
    assert_int_equal(result.table.n_rows, 20);
    assert_within(number(&result, row_of(&result, "best", 1), "tail"), 1, 1e-6);
}
