/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The default costs of plan, predict and sweep, and those from a result of bench. SPECLAB names the
 * program. */
#include "analysis/capped_geometric.h"
#include "tests/cli/result_table.h"
#include "tests/support/bench_table.h"
#include "tests/support/child.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <stdbool.h>
#include <string.h>

static bool reported(const spec_table *table, const char *what)
{
    return strstr(table->provenance, what) != NULL;
}

TEST(predictions_take_what_passes_cost)
{
    spec_needs_program();
    static const double pass[] = {1.0, 1.1, 1.2, 1.4, 1.6}; /* interpolated between the rows */
    spec_table table;
    bench_table_write("bench.csv", NULL, 0.0);
    read_result(&table, "predict --costs bench.csv -K 0:4");
    double best = 0.0;
    for (int K = 0; K <= 4; K++) {
        const size_t r = (size_t)K;
        const double speedup = spec_capped_geometric_mean(0.7, K) / (0.27 * K + pass[K]);
        assert_near(number(&table, r, "alpha"), 0.7, 1e-9);
        assert_near(number(&table, r, "c"), 0.27, 1e-9);
        assert_near(number(&table, r, "speedup"), speedup, 1e-9);
        if (speedup > best) best = speedup;
        /* At the break-even alpha a round emits as many tokens as it costs target calls. */
        if (K > 0) {
            const double alpha = number(&table, r, "break_even_alpha");
            assert_near(spec_capped_geometric_mean(alpha, K), 0.27 * K + pass[K], 1e-7);
        }
    }
    for (size_t r = 0; r < 5; r++) assert_near(number(&table, r, "best_speedup"), best, 1e-9);
    assert_true(number(&table, 0, "best_K") == 2.0); /* 2.19 / 1.74 beside 1.7 / 1.37 */
    spec_table_free(&table);
    read_result(&table,
                "predict --costs bench.csv -K 2 --alpha 0.9 --c 0.1"); /* --c overrides the file */
    assert_near(number(&table, 0, "speedup"), 2.71 / 1.4, 1e-9);
    spec_table_free(&table);
    spec_file_write("nodes.csv", "nodes,time\n4,1.4\n");
    read_result(&table, "predict --costs nodes.csv -K 2");
    assert_near(number(&table, 0, "speedup"), 2.44 / (0.2 + 1.2),
                1e-9); /* the defaults .8 and .1 */
    spec_table_free(&table);
}

TEST(plans_take_what_passes_cost)
{
    spec_needs_program();
    static const double pass[] = {1.0, 1.1, 1.2, 1.4, 1.6};
    spec_table table;
    bench_table_write("bench.csv", NULL, 0.0);
    read_result(&table, "plan --costs bench.csv --accept 0.8,0.1 --methods chain,sequoia");
    assert_int_equal(table.n_rows,
                     3 * 2); /* 2 methods at budgets 1, 2 and 4 */
    assert_true(reported(&table, "--nodes 1,2,4 --costs bench.csv --c 0.27"));
    for (size_t r = 0; r < 6; r++) {
        const double depth = number(&table, r, "tree_depth"),
                     emitted = number(&table, r, "emitted");
        const int nodes = (int)number(&table, r, "tree_nodes");
        assert_near(number(&table, r, "speedup"), emitted / (depth * 0.27 + pass[nodes]), 1e-9);
    }
    spec_table_free(&table);
    read_result(&table, "plan --costs bench.csv --accept 0.8 --methods chain --nodes 4 --c 0");
    assert_near(number(&table, 0, "speedup"), 2.952 / 1.4,
                1e-9); /* 3 tokens; 4 have 3.3616 / 1.6 */
    spec_table_free(&table);
}

TEST(costs_that_are_withheld_or_doubted_are_said_to_be)
{
    spec_needs_program();
    spec_child c;
    bench_table_write("vague.csv", "c", NAN);
    spec_program_fails("predict --costs vague.csv -K 2", 2,
                       "speclab predict: --costs: vague.csv has no c, because it is too uncertain; "
                       "give it with --c");
    spec_program_fails("plan --costs vague.csv", 2,
        "speclab plan: --costs: vague.csv has no c, because it is too uncertain; give it with --c");
    spec_program_works("predict --costs vague.csv -K 2 --c 0.2");
    spec_program_works("plan --costs vague.csv --accept 0.8 --c 0.2");
    spec_program_works("predict --costs none -K 2");
    spec_program_works("plan --costs none --accept 0.8 --nodes 4");
    bench_table_write("busy.csv", "lost", 0.5);
    spec_child_run(&c, "plan --costs busy.csv --accept 0.8");
    assert_int_equal(c.code, 0);
    assert_non_null(strstr(
        c.line,
        "speclab plan: --costs: busy.csv: warning: this run lost 50 % of its time to other"));
    spec_child_free(&c);
    bench_table_write("edited.csv", "speedup", 0.9);
    spec_program_fails("predict --costs edited.csv", 2,
                       "speclab predict: --costs: edited.csv: row 1: 'speedup' is not what");
}

/* The provenance contains the assumed values. */
TEST(what_is_assumed_is_told)
{
    spec_needs_program();
    spec_table table;
    read_result(&table, "plan --accept 0.8 --methods chain --nodes 4");
    assert_true(reported(&table, "--nodes 4 --c 0.1"));
    spec_table_free(&table);
    read_result(&table, "plan --accept 0.8 --methods chain --nodes 4 --c 0.2");
    assert_true(reported(&table, "--nodes 4 --c 0.2") && !reported(&table, "--c 0.1"));
    spec_table_free(&table);
}

#define SMALL "random?dim=32&layers=2&heads=2&ffn=32&vocab=16&context=12&type=f32"

/* A window of twelve tokens: texts restart often. The default c is the draft's share of the
 * weights, one layer of two. */
TEST(plans_for_transformers_need_no_option)
{
    spec_needs_program();
    spec_table table, again;
    read_result(&table, "plan --target " SMALL
                        " --draft layers?exit=1 --nodes 2,4 --methods chain,sequoia --width 4");
    assert_int_equal(table.n_rows, 4);
    assert_true(reported(&table, "--positions 20000"));
    /* a layer has 7 32 32 weights, and the output 16 32 */
    assert_true(reported(&table, "--c 0.517")); /* 7680 / 14848 */
    for (size_t r = 0; r < 4; r++)
        assert_near(number(&table, r, "speedup"),
                    number(&table, r, "emitted") / (0.517 * number(&table, r, "tree_depth") + 1.0),
                    1e-9);
    read_result(&again,
                "plan --target " SMALL
                " --draft layers?exit=1 --nodes 2,4 --methods chain,sequoia --width 4 --threads 1");
    assert_string_equal(spec_table_cell(&table, 0, spec_table_column(&table, "by_rank"))->text,
                        spec_table_cell(&again, 0, spec_table_column(&again, "by_rank"))->text);
    spec_table_free(&again);
    spec_table_free(&table);
}

/* The published story model and its first layers; the texts exceed the window of 512. */
TEST(plans_for_real_models_need_no_option)
{
    spec_needs_program();
    char path[256], arguments[512];
    spec_table table;
    spec_test_data(path, sizeof path, "stories260K/stories260K.bin");
    snprintf(arguments, sizeof arguments,
             "plan --target %s --draft layers?exit=3 --nodes 2 --methods chain --positions 700",
             path);
    read_result(&table, arguments);
    assert_int_equal(table.n_rows, 1);
    assert_true(number(&table, 0, "emitted") >= 1.0 && number(&table, 0, "emitted") <= 3.0);
    spec_table_free(&table);
}

TEST(a_sweep_of_models_takes_as_many_positions_as_are_asked)
{
    spec_needs_program();
    spec_table few, many;
    read_result(&few, "sweep --target dirichlet?V=9&order=2 --draft dirichlet?V=9&order=2&seed=2 "
                      "-K 2 --rounds 500 --positions 320");
    assert_true(number(&few, 0, "positions") == 320.0);
    read_result(&many, "sweep --target dirichlet?V=9&order=2 --draft dirichlet?V=9&order=2&seed=2 "
                       "-K 2 --rounds 500");
    assert_int_equal(spec_table_column(&many, "positions"), -1); /* the default */
    /* 62 times as many positions are measured; standard errors from 32 batches are accurate to 12
     * %. */
    const double ratio = number(&few, 0, "alpha_mean_se") / number(&many, 0, "alpha_mean_se");
    assert_true(ratio > 4.0 && ratio < 16.0);
    spec_table_free(&few);
    spec_table_free(&many);
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
