/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the measure serve_published by hand, and over the table that is shipped. */
#include "tests/experiments/measures/run_measure.h"

#include "experiments/config.h"
#include "tests/support/contexts.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>

#define IDEAL "flops=1000TFLOPS,bandwidth=1TB/s"

/* A pass of the target takes 16 ms and 16 us per token, a call of the draft 2 ms and 2 us. Plain
 * decoding was measured as 4 ms slower than that. */
TEST(speedups_are_quotients_of_hand_made_times)
{
    OWNED(spec_result) result;
    run(&result, "serve_published", 1,
        "cost = \"roofline:" IDEAL ",parameters=8B,kv_bytes=1MB\"; draft_cost = \"roofline:" IDEAL
        ",parameters=1B\"; emitted = 2.7; K = 3; batch = 2; context = 500; measured = 1.6; "
        "plain_ms = 21.032");
    const double cache = 2 * 500 * 1e-6 * 1e3, plain = 16.0 + 2 * 0.016 + cache,
                 round = 16.0 + 8 * 0.016 + cache + 3 * (2.0 + 2 * 0.002);
    assert_near(number(&result, 0, "predicted_plain_ms"), plain, 1e-9);
    assert_near(number(&result, 0, "predicted"), 2.7 * plain / round, 1e-9);
    assert_near(number(&result, 0, "predicted_error"), 2.7 * plain / round / 1.6 - 1.0, 1e-9);
    assert_near(number(&result, 0, "predicted_low"), 2.7 * plain / round, 1e-9);
    assert_near(number(&result, 0, "predicted_high"), 2.7 * plain / round, 1e-9);
    assert_near(number(&result, 0, "fitted"), 2.7 * (plain + 4.0) / (round + 4.0), 1e-9);
    assert_near(number(&result, 0, "fitted_error"), 2.7 * (plain + 4.0) / (round + 4.0) / 1.6 - 1.0,
                1e-9);
}

/* With one token, the other length's draft calls took twice as long as the costs say. */
TEST(another_length_says_how_long_drafting_takes)
{
    OWNED(spec_result) result, free_drafts;
    const double pass = 20.0 + 1.0, other = pass + 4 * 0.016 + 2 * 2.004,
                 round = pass + 8 * 0.016 + 3 * 2 * 2.004, plain = pass + 2 * 0.016;
    char grid[400];
    snprintf(grid, sizeof grid,
             "cost = \"roofline:" IDEAL
             ",parameters=8B,kv_bytes=1MB\"; draft_cost = \"roofline:" IDEAL
             ",parameters=1B\"; emitted = 2.7; K = 3; batch = 2; context = 500; measured = 1.6; "
             "plain_ms = 21.032; other = \"1/1.8/%.17g\"",
             1.8 * plain / other);
    run(&result, "serve_published", 1, grid);
    assert_near(number(&result, 0, "from_other"), 2.7 * plain / round, 1e-9);
    assert_near(number(&result, 0, "from_other_error"), 2.7 * plain / round / 1.6 - 1.0, 1e-9);
    /* A speed-up that leaves no time for drafts at all. */
    run(&free_drafts, "serve_published", 1,
        "cost = \"roofline:" IDEAL ",parameters=8B,kv_bytes=1MB\"; draft_cost = \"roofline:" IDEAL
        ",parameters=1B\"; emitted = 2.7; K = 3; batch = 2; context = 500; measured = 1.6; "
        "plain_ms = 21.032; other = \"1/1.8/9\"");
    assert_near(number(&free_drafts, 0, "from_other"), 2.7 * plain / (pass + 8 * 0.016), 1e-9);
}

TEST(without_a_measured_time_nothing_is_fitted)
{
    OWNED(spec_result) result;
    run(&result, "serve_published", 1,
        "cost = \"roofline:card=H100,parameters=8B\"; draft_cost = \"roofline:card=H100,"
        "parameters=1B\"; emitted = 2.7; K = 3; measured = 1.6");
    assert_true(number(&result, 0, "predicted_low") < number(&result, 0, "predicted"));
    assert_true(number(&result, 0, "predicted_high") > number(&result, 0, "predicted"));
    assert_nan(number(&result, 0, "fitted"));
    assert_nan(number(&result, 0, "from_other"));
}

/* These are the numbers that docs/serving.md gives for the table. */
TEST(most_published_speedups_are_predicted)
{
    spec_experiment e;
    OWNED(spec_result) result;
    const spec_run_options options = {.opt_context = spec_test_context(1)};
    int near = 0, fitted = 0, within = 0, from_other = 0;
    assert_works(spec_experiment_load(&e, "experiments/cfg/serve_published.cfg", NULL, &error));
    assert_works(spec_experiment_run(&result, &e, &options, &error));
    assert_int_equal(result.table.n_rows, 15);
    for (size_t row = 0; row < result.table.n_rows; row++) {
        const double measured = number(&result, row, "measured");
        near += fabs(number(&result, row, "predicted_error")) <= 0.25;
        fitted += fabs(number(&result, row, "fitted_error")) <= 0.1;
        from_other += fabs(number(&result, row, "from_other_error")) <= 0.06;
        within += number(&result, row, "fitted_low") <= measured &&
                  measured <= number(&result, row, "fitted_high");
    }
    assert_int_equal(near, 13);
    assert_int_equal(fitted, 7);
    assert_int_equal(within, 13);
    assert_int_equal(from_other, 8); /* of 9 */
    spec_experiment_free(&e);
}

TEST(wrong_inputs_are_refused)
{
#define COSTS "cost = \"step=7ms\"; draft_cost = \"round=1ms\"; "
    static const char *const bad[][2] = {
        {"cost = \"step=7ms\"; draft_cost = \"rond=1ms\"; emitted = 2; K = 3; measured = 1",
         "draft_cost"},
        {COSTS "emitted = 2; K = 0; measured = 1", "K"},
        {COSTS "emitted = 0.5; K = 3; measured = 1", "emitted"},
        {COSTS "emitted = 2; K = 3; measured = 0", "measured"},
        {COSTS "emitted = 2; K = 3; measured = 1; plain_ms = 0", "plain_ms"},
        {COSTS "emitted = 2; K = 3; measured = 1; plain_ms = 7", "plain_ms"},
        {COSTS "emitted = 2; K = 3; measured = 1; other = \"3/2\"", "other"},
        {COSTS "emitted = 2; K = 3; measured = 1; other = \"0/2/1\"", "other"},
        {COSTS "emitted = 2; K = 3; measured = 1; other = \"3/2/nan\"", "other"},
        {COSTS "emitted = 2; K = 3; measured = 1; other = \"3/2/1/\"", "other"},
    };
    assert_grids_refused("serve_published", bad, sizeof bad / sizeof *bad);
}
