/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares the measure break_even with closed forms, printed numbers and the simulated engine. */
#include "tests/experiments/measures/run_measure.h"

#include "analysis/capped_geometric.h"
#include "analysis/serving/break_even.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>

/* The measure adds up the parts of a step's work; the closed form gives the whole speed-up. */
TEST(speedups_and_the_best_K_are_those_of_the_closed_form)
{
    static const spec_affine_step cost = {.step = 7e-3,
                                          .token = 20e-6,
                                          .kv = 40e-9,
                                          .draft_round = 1e-3,
                                          .draft_pass = 0.3e-3,
                                          .draft_token = 2e-6};
    static const int K[] = {1, 2, 5}, batch[] = {1, 64, 900}, context[] = {0, 3000};
    OWNED(spec_result) result;
    size_t row = 0;
    run(&result, "break_even", 1,
        "alpha = 0.7; batch = \"1,64,900\"; context = \"0,3000\"; K = [\"1,2,5\"]; "
        "cost = \"step=7ms,token=20us,kv=40ns\"; draft_cost = \"round=1ms,pass=0.3ms,token=2us\"");
    assert_int_equal(result.table.n_rows, 18);
    for (int b = 0; b < 3; b++)
        for (int c = 0; c < 2; c++) {
            int best = 0;
            double most = 1.0;
            for (int k = 0; k < 3; k++, row++) {
                const double speedup = spec_break_even_speedup(
                    &cost, K[k], spec_capped_geometric_mean(0.7, K[k]), batch[b], context[c]);
                assert_near(number(&result, row, "speedup"), speedup, 1e-9);
                assert_near(number(&result, row, "tokens_per_s"),
                            batch[b] * speedup /
                                (cost.step + batch[b] * (cost.token + cost.kv * context[c])),
                            1e-9);
                if (speedup > most) {
                    most = speedup;
                    best = K[k];
                }
            }
            for (size_t r = row - 3; r < row; r++) {
                assert_true(number(&result, r, "best_K") == best);
                assert_near(number(&result, r, "best_speedup"), most, 1e-9);
            }
        }
    /* Plain decoding is not in the list, but is the best at 900 requests without contexts. */
    assert_true(number(&result, 12, "best_K") == 0.0);
}

TEST(contexts_end_at_0_and_at_infinity)
{
    OWNED(spec_result) result;
    run(&result, "break_even", 1,
        "alpha = 0.7; batch = \"1,4000\"; context = 100; K = [\"0,3\"]; "
        "cost = \"step=7ms,token=20us\"; draft_cost = \"round=1ms\"");
    assert_int_equal(result.table.n_rows, 4);
    for (size_t r = 0; r < 4; r += 2) {
        assert_true(number(&result, r, "speedup") == 1.0);
        assert_nan(number(&result, r, "break_even_context"));
        assert_nan(number(&result, r, "break_even_batch"));
    }
    assert_true(number(&result, 1, "break_even_context") == 0.0);
    assert_true(number(&result, 3, "break_even_context") == INFINITY);
    assert_true(number(&result, 3, "large_batch_context") == INFINITY);
    spec_result_free(&result);
    /* A maximum of two times is not affine, so there is no closed form of the batch and of the
     * context. */
    run(&result, "break_even", 1,
        "alpha = 0.7; batch = 32; context = 1000; K = [\"3\"]; "
        "cost = \"roofline:card=H100,parameters=8.03B,kv_bytes=131072,form=max\"");
    assert_true(number(&result, 0, "speedup") > 1.0);
    assert_nan(number(&result, 0, "break_even_batch"));
    assert_nan(number(&result, 0, "large_batch_context"));
}

TEST(wrong_parameters_are_named)
{
    static const char *const wrong[][2] = {
        {"batch = 0; context = 0; cost = \"step=7ms\"", "batch: 0 is not"},
        {"batch = 1; context = -1; cost = \"step=7ms\"", "context: -1 is not"},
        {"batch = 1; context = 0; cost = \"stp=7ms\"", "cost: "},
        {"batch = 1; context = 0; cost = \"step=7ms\"; K = [\"2,2\"]", "K: 2 is given twice"},
    };
    assert_grids_refused("break_even", wrong, sizeof wrong / sizeof *wrong);
}

TEST(rows_have_the_printed_batches_and_contexts)
{
    static const double batch[] = {252, 162, 101}, context[] = {357, 830, 1399};
    OWNED(spec_result) result;
    run(&result, "break_even", 1,
        "alpha = 0.6; batch = 1; context = 0; K = [\"1,3,5\"]; "
        "cost = \"step=7.093ms,token=21.01us,kv=39.26ns\"; draft_cost = \"round=2.135ms\"");
    for (size_t r = 0; r < 3; r++) {
        assert_within(number(&result, r, "break_even_batch"), batch[r], 1.0);
        assert_within(number(&result, r, "large_batch_context"), context[r], 1.0);
    }
}

/* The speed-up crosses 1 at the printed context, by the closed form and by bisection. */
TEST(break_even_context_is_where_the_speedup_is_1)
{
    OWNED(spec_result) far, at;
    char grid[300];
    run(&far, "break_even", 1,
        "alpha = 0.6; batch = 2000; context = 0; K = [\"3\"]; "
        "cost = \"step=7.093ms,token=21.01us,kv=39.26ns\"; draft_cost = \"round=2.135ms\"");
    const double context = number(&far, 0, "break_even_context");
    assert_true(number(&far, 0, "speedup") < 1.0);
    assert_true(context > 600.0 && context < number(&far, 0, "large_batch_context"));
    snprintf(grid, sizeof grid,
             "alpha = 0.6; batch = 2000; context = %.0f; K = [\"3\"]; "
             "cost = \"step=7.093ms,token=21.01us,kv=39.26ns\"; draft_cost = \"round=2.135ms\"",
             context);
    run(&at, "break_even", 1, grid);
    assert_within(number(&at, 0, "speedup"), 1.0, 1e-3);
    assert_near(number(&at, 0, "break_even_batch"), 2000.0, 0.01);
}

/* A closed loop with long outputs and no prompts has the speed-up of its steps at the mean
 * context. */
TEST(tokens_per_s_is_the_throughput_of_a_closed_loop)
{
    OWNED(spec_result) steps, loop;
    run(&steps, "break_even", 1,
        "alpha = 0.7; batch = 64; context = 500; K = [\"0,3\"]; cost = \"step=7ms,token=20us\"; "
        "draft_cost = \"round=1ms,pass=0.1ms,token=2us\"");
    run(&loop, "serve", 1,
        "alpha = 0.7; slots = 64; prompt = [\"0\"]; output = [\"1000\"]; K = [\"0,3\"]; "
        "requests = 50; cost = \"step=7ms,token=20us\"; "
        "draft_cost = \"round=1ms,pass=0.1ms,token=2us\"");
    for (size_t r = 0; r < 2; r++)
        assert_near(number(&loop, r, "tokens_per_s"), number(&steps, r, "tokens_per_s"), 0.005);
}
