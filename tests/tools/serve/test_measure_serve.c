/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the measure serve. The working folder is a temporary one. */
#include "tests/experiments/measures/run_measure.h"
#include "tests/support/folder.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

/* A light engine: short outputs, so that runs are quick. */
#define ENGINE                                                                                     \
    "cost = \"affine:step=7ms,token=20us,kv=40ns\"; draft_cost = \"round=1ms,pass=0.2ms\"; "
#define SHORT "prompt = [\"40\"]; output = [\"24\"]; "

static bool is_empty(const spec_result *result, size_t row, const char *column)
{
    const int c = spec_table_column(&result->table, column);
    assert_true(c >= 0);
    return spec_table_cell(&result->table, row, c)->kind == SPEC_CELL_EMPTY;
}

TEST(steady_rows_agree_with_theory)
{
    OWNED(spec_result) result;
    run(&result, "serve", 1,
        ENGINE SHORT "alpha = \"0.6,0.9\"; rate = \"20,120\"; K = [\"0,1,4\"]; requests = 400; "
                     "spread = [\"one\", \"beta?concentration=4\"]");
    assert_all_hold(&result, 24);
    for (size_t r = 0; r < 24; r++) {
        assert_string_equal(text(&result, r, "state"), "steady");
        static const char *const filled[] = {
            "latency_ms_theory", "batch_z",        "batch_var_z", "step_ms_z",
            "wait_ms_z",         "tokens_per_s_z", "little_z",    "drift_z",
            "capacity",          "best_K",         "ttft_p99_ms"};
        for (size_t i = 0; i < sizeof filled / sizeof *filled; i++)
            if (is_empty(&result, r, filled[i])) fail_msg("row %zu has no %s", r, filled[i]);
        const double low = number(&result, r, "speedup_low"),
                     high = number(&result, r, "speedup_high"),
                     speedup = number(&result, r, "speedup");
        assert_true(low <= speedup && speedup <= high && high - low < 0.1 * speedup);
        assert_true(number(&result, r, "latency_p50_ms") <= number(&result, r, "latency_p90_ms"));
        assert_true(number(&result, r, "requests") >= 64 * 400);
    }
}

/* Requests that are under way when a run begins do not compute their contexts again. That would be
 * an overload, which an engine near its capacity would not have forgotten after its warm-up. Over
 * four loads the sum of the z of speed-ups is about 0; with the overload it would be about 16. */
TEST(the_beginning_leaves_nothing_near_capacity, SLOW | STATISTICS)
{
    OWNED(spec_result) result;
    double sum = 0.0;
    run(&result, "serve", 1,
        "cost = \"affine:step=7.1ms,token=21us,kv=39ns\"; draft_cost = \"round=2.1ms\"; alpha = "
        "\"0.7\"; rate = \"36,37,38,39\"; K = [\"0,3\"]; requests = 500; prompt = [\"512\"]; "
        "output = [\"256\"]");
    for (size_t r = 1; r < 8; r += 2) {
        assert_true(number(&result, r, "load") > 0.75);
        sum += number(&result, r, "speedup_z");
    }
    if (!(fabs(sum) < 9.0)) fail_msg("the sum of z is %.1f", sum);
}

/* An output of one token comes from its prefill, and has no round. */
TEST(outputs_of_one_token_have_no_rounds)
{
    OWNED(spec_result) result;
    run(&result, "serve", 1,
        ENGINE "rate = \"20,100\"; K = [\"0,2\"]; requests = 300; prompt = [\"40\"]; output = "
               "[\"1\"]");
    assert_all_hold(&result, 4);
    for (size_t r = 0; r < 4; r++) {
        assert_string_equal(text(&result, r, "state"), "steady");
        assert_true(fabs(number(&result, r, "latency_ms_z")) < 5.0);
    }
}

/* Percentiles of steps and latency are simulated at every load; near capacity there is also theory,
 * which agrees within 5 % and chance. */
TEST(percentiles_have_theory_near_capacity, SLOW)
{
    OWNED(spec_result) result;
    run(&result, "serve", 1,
        "cost = \"affine:step=4ms,token=0.5ms\"; draft_cost = \"round=1ms\"; prompt = [\"0\"]; "
        "output = [\"4\"]; alpha = 0.6; rate = \"150,350,369.6\"; K = [\"1\"]; requests = 6000");
    static const char *const columns[] = {"batch_p50",      "batch_p90",      "batch_p99",
                                          "step_p50_ms",    "step_p90_ms",    "step_p99_ms",
                                          "latency_p50_ms", "latency_p90_ms", "latency_p99_ms"};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        char theory[40];
        snprintf(theory, sizeof theory, "%s_theory", columns[i]);
        assert_true(is_empty(&result, 0, theory));
        assert_false(is_empty(&result, 0, columns[i]));
        const double expected = number(&result, 1, theory);
        assert_within(number(&result, 1, columns[i]), expected, 0.07 * expected + (i < 3));
    }
    /* Theory needs no simulation, for which the third row is too close to capacity. */
    assert_string_equal(text(&result, 2, "state"), "not steady");
    assert_true(is_empty(&result, 2, "batch_p50") && is_empty(&result, 2, "latency_p99_ms"));
    assert_false(is_empty(&result, 2, "batch_p50_theory"));
    for (size_t r = 0; r < 3; r++)
        assert_near(number(&result, r, "latency_limit_ms"),
                    number(&result, r, "latency_ms_theory"), r == 0 ? 0.03 : 0.01);
}

/* Rates by depth have the same theory as alpha: .7, .49, .343 give the columns of alpha = .7, and
 * for rates of no alpha simulation agrees with theory. A rule that took rates as conditional would
 * emit 1 + .9 + .45 + .405 tokens instead of 2.8, off by hundreds of standard errors. */
TEST(rates_by_depth_take_the_place_of_alpha)
{
    OWNED(spec_result) alpha;
    OWNED(spec_result) rates;
    OWNED(spec_result) falling;
    run(&alpha, "serve", 1, ENGINE SHORT "alpha = 0.7; rate = 60; K = [\"0,3\"]; requests = 200");
    run(&rates, "serve", 1,
        ENGINE SHORT "process = \"rates?of=0.7/0.49/0.343\"; rate = 60; K = [\"0,3\"]; "
                     "requests = 200");
    run(&falling, "serve", 1,
        ENGINE SHORT "process = \"rates?of=0.9/0.5/0.4/0.1\"; rate = \"20,120\"; "
                     "K = [\"0,1,3\"]; requests = 400; rounds_correlation = \"0,0.5\"");
    static const char *const theory[] = {
        "latency_ms_theory", "batch_theory",   "batch_var_theory",        "step_ms_theory",
        "wait_ms_theory",    "ttft_ms_theory", "tokens_per_round_theory", "capacity"};
    for (size_t r = 0; r < 2; r++)
        for (size_t i = 0; i < sizeof theory / sizeof *theory; i++)
            assert_near(number(&rates, r, theory[i]), number(&alpha, r, theory[i]), 1e-8);
    assert_int_equal(rates.fails, 0);
    assert_all_hold(&falling, 12);
    for (size_t r = 0; r < 12; r++)
        if (is_empty(&falling, r, "batch_z")) fail_msg("row %zu has no theory", r);
}

/* One alpha for all contexts gives the same as alpha, though no theorem covers contexts. With
 * steps, tokens per round are between those of the largest and of the smallest alpha, and fall with
 * the prompt; goodput, which knows the context's alpha, drafts less where it is low. */
TEST(acceptance_may_depend_on_the_context)
{
    OWNED(spec_result) alpha, flat, falling;
    run(&alpha, "serve", 1,
        ENGINE SHORT "alpha = 0.7; rate = 60; K = [\"0,3\"]; requests = 200; "
                     "warm = 100; lengths = [\"fixed,goodput\"]");
    run(&flat, "serve", 1,
        ENGINE SHORT "process = \"context?of=0.7@0/0.7@50\"; rate = 60; K = [\"0,3\"]; "
                     "requests = 200; warm = 100; lengths = [\"fixed,goodput\"]");
    assert_all_hold(&flat, 3);
    for (size_t r = 0; r < 3; r++) {
        assert_near(number(&flat, r, "latency_ms"), number(&alpha, r, "latency_ms"), 0.02);
        assert_near(number(&flat, r, "tokens_per_round"), number(&alpha, r, "tokens_per_round"),
                    0.01);
        assert_true(is_empty(&flat, r, "latency_ms_theory"));
        assert_true(is_empty(&flat, r, "tokens_per_round_theory"));
    }
    run(&falling, "serve", 1,
        ENGINE "process = \"context?of=0.9@0/0.2@60\"; rate = 60; K = [\"3\"]; output = [\"24\"]; "
               "prompt = [\"20\", \"46\", \"70\"]; requests = 200; lengths = [\"fixed,goodput\"]");
    assert_all_hold(&falling, 6);
    for (size_t r = 0; r < 2; r++) {
        const double above = number(&falling, r, "tokens_per_round"),
                     between = number(&falling, 2 + r, "tokens_per_round"),
                     below = number(&falling, 4 + r, "tokens_per_round");
        assert_true(above > between + 0.3 && between > below + 0.3);
    }
}

/* A draft that is fed or refilled computes each token of a request once; the two differ in when
 * they do it. In rounds that draft, a fed cache already has all tokens. */
TEST(a_cache_of_the_draft_takes_time)
{
    OWNED(spec_result) result;
    run(&result, "serve", 1,
        "cost = \"affine:step=7ms,token=20us\"; draft_cost = \"round=1ms,token=50us\"; " SHORT
        "alpha = 0.7; rate = 30; K = [\"3\"]; requests = 200; "
        "lengths = [\"fixed,schedule:[[1,4,3],[5,99,0]]\"]; "
        "draft_cache = [\"free\", \"refilled\", \"dropped\", \"fed\"]");
    assert_all_hold(&result, 8);
    for (size_t r = 0; r < 8; r++) {
        assert_true(is_empty(&result, r, "latency_ms_theory") == (r != 0));
        assert_true(is_empty(&result, r, "draft_fed") == (r < 2));
        if (r >= 2)
            assert_true(number(&result, r, "latency_ms") > number(&result, r % 2, "latency_ms"));
        /* plain decoding has no draft to feed */
        assert_near(number(&result, r, "latency_ms") * number(&result, r, "speedup"),
                    number(&result, 0, "latency_ms") * number(&result, 0, "speedup"), 0.03);
    }
    /* If it always drafts, only the prompt is filled; otherwise also what is emitted without
     * drafts. */
    assert_near(number(&result, 2, "draft_fed"), 40.0, 0.01);
    assert_near(number(&result, 6, "draft_fed"), 40.0, 0.01);
    const double refilled = number(&result, 3, "draft_fed"),
                 dropped = number(&result, 5, "draft_fed");
    assert_true(refilled > 10.0 && refilled < 64.0 && dropped > 1.1 * refilled);
}

TEST(a_process_of_serve_has_rates)
{
    static const char *const wrong[][2] = {
        {ENGINE "rate = 5; process = \"markov\"", "process: 'markov' is not iid"},
        {ENGINE "rate = 5; process = \"rates?of=0.7/0.5\"; K = [\"0,3\"]",
         "process: acceptance is given to depth 2, but K is 3"},
        {ENGINE "rate = 5; K = [\"0,1\"]; process = \"rates\"; spread = [\"beta\"]", "spread:"},
        {ENGINE "rate = 5; K = [\"0,1\"]; process = \"rates\"; accepted = \"a.txt\"", "process:"},
        {ENGINE "rate = 5; process = \"context\"; spread = [\"beta\"]", "spread:"},
        {ENGINE "rate = 5; process = \"context\"; accepted = \"a.txt\"", "process:"},
        {ENGINE "rate = 5; process = \"context?of=0.8@9\"", "process: context: of: @9"},
        {ENGINE "rate = 5; K = [\"0,1\"]; process = \"profile:absent.json\"", "absent.json"},
    };
    assert_grids_refused("serve", wrong, sizeof wrong / sizeof *wrong);
}

/* The numbers are the same in a list with another K, with more, and without K = 0. */
TEST(a_list_of_K_does_not_change_the_requests)
{
    static const char *const lists[] = {"3", "0,3", "5,1,3"};
    double latency[3], speedup[3];
    for (int i = 0; i < 3; i++) {
        OWNED(spec_result) result;
        char grid[400];
        snprintf(grid, sizeof grid,
                 ENGINE SHORT "alpha = \"0.7\"; rate = 60; requests = 100; warm = 90; "
                              "K = [\"%s\"]",
                 lists[i]);
        run(&result, "serve", 1, grid);
        const size_t row = result.table.n_rows - 1;
        assert_true(number(&result, row, "K") == 3.0);
        latency[i] = number(&result, row, "latency_ms");
        speedup[i] = number(&result, row, "speedup");
    }
    assert_true(latency[0] == latency[1] && latency[0] == latency[2]);
    assert_true(speedup[0] == speedup[1] && speedup[0] == speedup[2]);
}

TEST(other_rates_draw_other_numbers)
{
    OWNED(spec_result) result;
    /* With regular arrivals and one length, only acceptance is random: if the same numbers were
     * drawn, tokens per round would be the same at both rates. */
    run(&result, "serve", 1,
        ENGINE SHORT "alpha = \"0.7\"; rate = \"1,1.25\"; K = [\"3\"]; requests = 50; "
                     "arrivals = [\"even\"]");
    assert_int_equal(result.table.n_rows, 2);
    assert_true(number(&result, 0, "tokens_per_round") != number(&result, 1, "tokens_per_round"));
}

TEST(a_load_at_the_capacity_has_no_latency)
{
    OWNED(spec_result) result;
    run(&result, "serve", 1,
        ENGINE SHORT "alpha = \"0.5\"; rate = \"100,2000\"; K = [\"0,5\"]; requests = 60; "
                     "max_batch = \"0,64\"");
    assert_int_equal(result.table.n_rows, 8);
    for (size_t r = 0; r < 8; r++) {
        const bool over = number(&result, r, "rate") > 1000.0;
        assert_string_equal(text(&result, r, "state"), over ? "over capacity" : "steady");
        assert_true(is_empty(&result, r, "latency_ms") == over);
        assert_true(is_empty(&result, r, "speedup") == over);
        assert_true(is_empty(&result, r, "best_K") == over);
        assert_near(number(&result, r, "load"),
                    number(&result, r, "rate") / number(&result, r, "capacity"), 1e-8);
        assert_true((number(&result, r, "load") >= 1.0) == over);
    }
}

/* Compares the capacity by theory with that of saturated runs, and with that of a closed loop with
 * as many slots. */
TEST(capacities_agree_by_theory_and_by_saturated_runs)
{
    OWNED(spec_result) theory, simulated, limited, closed;
    run(&theory, "serve", 1,
        ENGINE SHORT "alpha = \"0.7\"; rate = 1; K = [\"0,3\"]; requests = 10");
    /* A budget that is never reached, but for which there is no theorem. */
    run(&simulated, "serve", 1,
        ENGINE SHORT "alpha = \"0.7\"; rate = 1; K = [\"0,3\"]; requests = 10; "
                     "budget = 1000000000");
    run(&limited, "serve", 1,
        ENGINE SHORT "alpha = \"0.7\"; rate = 1; K = [\"0,3\"]; requests = 10; max_batch = 32");
    run(&closed, "serve", 1,
        ENGINE SHORT "alpha = \"0.7\"; slots = 32; K = [\"0,3\"]; requests = 300");
    for (size_t r = 0; r < 2; r++) {
        assert_near(number(&simulated, r, "capacity"), number(&theory, r, "capacity"), 0.01);
        assert_near(number(&limited, r, "capacity"), number(&closed, r, "capacity"), 0.02);
        assert_true(number(&limited, r, "capacity") < 0.9 * number(&theory, r, "capacity"));
        assert_true(is_empty(&limited, r, "latency_ms_theory"));
        assert_false(is_empty(&closed, r, "latency_ms_theory"));
    }
    assert_int_equal(theory.fails + simulated.fails + limited.fails + closed.fails, 0);
}

/* The same with fewer requests, and with as many as the row asks for. */
TEST(a_row_of_too_few_long_requests_says_how_many_it_needs)
{
    OWNED(spec_result) result;
    run(&result, "serve", 1,
        ENGINE "prompt = [\"0\"]; output = [\"lognormal?mean=16&sigma=1.5&most=1024\"]; rate = 20; "
               "alpha = \"0.7\"; K = [\"3\"]; requests = \"50,740\"");
    assert_string_equal(text(&result, 0, "state"), "short: needs 731 requests");
    assert_false(is_empty(&result, 0, "speedup_low"));
    assert_string_equal(text(&result, 1, "state"), "steady");
}

/* With a budget there is no theorem, even if it is never reached; the truth is then that of a
 * longer run. */
TEST(coverage_counts_the_intervals_that_hold_the_truth, SLOW | STATISTICS)
{
    OWNED(spec_result) result;
    run(&result, "serve_coverage", 40,
        ENGINE "prompt = [\"0\"]; output = [\"lognormal?mean=16&sigma=1.5&most=512\"]; rate = 20; "
               "alpha = \"0.7\"; K = [\"3\"]; requests = 400; longer = 10; "
               "budget = \"0,1000000000\"");
    assert_int_equal(result.fails, 0);
    assert_int_equal(result.table.n_rows, 2);
    const double truth = number(&result, 0, "speedup_true"),
                 se = number(&result, 1, "speedup_true_se");
    assert_true(se > 0.0 && fabs(number(&result, 1, "speedup_true") - truth) < 5.0 * se);
    for (size_t r = 0; r < 2; r++) {
        assert_true(number(&result, r, "held") > 0.8 && number(&result, r, "refused") == 0.0);
        assert_true(number(&result, r, "held") + number(&result, r, "below") +
                        number(&result, r, "above") ==
                    1.0);
        assert_true(fabs(number(&result, r, "batch_mean_z")) < 5.0);
    }
}

TEST(a_warm_up_that_is_too_short_has_no_result)
{
    OWNED(spec_result) result;
    run(&result, "serve", 1,
        ENGINE SHORT "alpha = \"0.7\"; rate = 100; K = [\"0\"]; requests = 400; warm = \"5,399\"");
    assert_string_equal(text(&result, 0, "state"), "not steady");
    assert_true(is_empty(&result, 0, "latency_ms"));
    assert_string_equal(text(&result, 1, "state"), "steady");
}

/* No theorem covers limits, gamma arrivals and lengths that vary, but Little's law still holds. */
TEST(rows_outside_the_theorems_have_no_theory_but_littles_law)
{
    static const char *const outside[] = {"budget = 64",
                                          "chunk = 16",
                                          "blocks = 400",
                                          "arrivals = [\"gamma?cv=2\"]",
                                          "lengths = [\"goodput\"]",
                                          "memory = [\"1MB\"]; kv_bytes = [\"128B\"]"};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        OWNED(spec_result) result;
        char grid[400];
        snprintf(grid, sizeof grid,
                 ENGINE SHORT "alpha = \"0.7\"; rate = 60; K = [\"3\"]; requests = 200; %s",
                 outside[i]);
        run(&result, "serve", 1, grid);
        assert_all_hold(&result, 1);
        assert_string_equal(text(&result, 0, "state"), "steady");
        assert_true(is_empty(&result, 0, "latency_ms_theory"));
        assert_true(is_empty(&result, 0, "batch_z"));
        assert_false(is_empty(&result, 0, "little_z"));
    }
}

TEST(an_engine_short_of_memory_preempts)
{
    OWNED(spec_result) result;
    run(&result, "serve", 1,
        ENGINE "prompt = [\"40\"]; output = [\"uniform?low=20&high=60\"]; alpha = \"0.7\"; "
               "rate = 20; K = [\"3\"]; requests = 200; blocks = \"30,3000\"");
    assert_all_hold(&result, 2);
    assert_true(number(&result, 0, "preempted") > 0.0);
    assert_true(number(&result, 1, "preempted") == 0.0);
    assert_true(number(&result, 0, "blocks_used") <= 30.0);
    assert_true(number(&result, 0, "latency_ms") > number(&result, 1, "latency_ms"));
}

/* Where memory is filled by prompts it is wasted least, and nothing is preempted; outputs make the
 * engine preempt. Without a limit on memory the bound is what theory gives. */
TEST(no_engine_serves_more_than_its_memory_allows)
{
    OWNED(spec_result) prompts, outputs, slots, batch, free, summed;
#define OVER                                                                                       \
    "alpha = \"0.7\"; cost = [\"step=7ms,token=20us,kv=40ns\"]; draft_cost = [\"round=1ms\"]; "
    run(&prompts, "serve", 1,
        OVER "prompt = [\"2000\"]; output = [\"8\"]; rate = 1000; K = [\"0,3\"]; blocks = 4000; "
             "block = 16");
    run(&outputs, "serve", 1,
        OVER "prompt = [\"20\"]; output = [\"uniform?low=50&high=150\"]; rate = 1000; "
             "K = [\"0,3\"]; blocks = \"500,5000\"; block = 1");
    run(&slots, "serve", 1, OVER "prompt = [\"0\"]; output = [\"90\"]; slots = 40; K = [\"3\"]");
    run(&batch, "serve", 1,
        OVER "prompt = [\"0\"]; output = [\"90\"]; max_batch = 40; rate = 1000; K = [\"3\"]");
    run(&free, "serve", 1,
        OVER "prompt = [\"20\"]; output = [\"90\"]; rate = 1; requests = 20; K = [\"3\"]");
    for (size_t r = 0; r < 2; r++) {
        const double share = number(&prompts, r, "capacity") / number(&prompts, r, "capacity_most");
        assert_true(share > 0.97 && share <= 1.0);
    }
    for (size_t r = 0; r < 4; r++) {
        const double share = number(&outputs, r, "capacity") / number(&outputs, r, "capacity_most");
        assert_true(share > 0.8 && share <= 1.0);
    }
    /* Nothing is accepted, so that the sums over a life can be written down: four rounds with
     * contexts of 20 to 23 tokens, and 300 tokens of memory. */
    run(&summed, "serve", 1,
        "alpha = \"0\"; cost = [\"step=7ms,token=20us,kv=40ns\"]; draft_cost = [\"round=1ms\"]; "
        "prompt = [\"20\"]; output = [\"5\"]; rate = 1000; K = [\"3\"]; blocks = 30; block = 10");
    const double contexts = 20.0 + 21.0 + 22.0 + 23.0, in_rounds = contexts + 4.0 * 4.0,
                 extra = 20e-6 * (20.0 + 4.0 * 4.0) + 40e-9 * contexts;
    assert_near(1.0 / number(&summed, 0, "capacity_most"),
                extra + (7e-3 * (20.0 + in_rounds) + 1e-3 * in_rounds) / 300.0, 1e-8);
    assert_near(number(&slots, 0, "capacity_most"), number(&slots, 0, "capacity"), 1e-12);
    assert_near(number(&batch, 0, "capacity_most"), number(&slots, 0, "capacity_most"), 1e-12);
    assert_near(number(&free, 0, "capacity_most"), number(&free, 0, "capacity"), 1e-12);
#undef OVER
}

/* A draft's cache takes its share of the memory: with a third more bytes per token, 30 of 40 blocks
 * are left. Plain decoding has no draft. */
TEST(a_draft_takes_a_part_of_the_memory)
{
    OWNED(spec_result) shared, blocks, alone;
#define SHORT_OF_MEMORY                                                                            \
    "prompt = [\"40\"]; output = [\"uniform?low=20&high=60\"]; alpha = \"0.7\"; rate = 20; "       \
    "cost = [\"step=7ms,token=20us,kv=40ns\"]; requests = 200; "
    run(&shared, "serve", 1,
        SHORT_OF_MEMORY "K = [\"0,3\"]; draft_cost = [\"round=1ms,kv_bytes=1kB\"]; "
                        "memory = [\"1920kB\"]; kv_bytes = [\"3kB\"]");
    run(&blocks, "serve", 1,
        SHORT_OF_MEMORY "K = [\"3\"]; draft_cost = [\"round=1ms\"]; blocks = 30");
    run(&alone, "serve", 1,
        SHORT_OF_MEMORY "K = [\"0\"]; draft_cost = [\"round=1ms\"]; blocks = 40");
    assert_all_hold(&shared, 2);
    assert_true(number(&shared, 1, "preempted") > 0.0);
    assert_true(number(&shared, 1, "blocks_used") <= 30.0);
    assert_near(number(&shared, 1, "capacity"), number(&blocks, 0, "capacity"), 0.1);
    assert_near(number(&shared, 1, "capacity_most"), number(&blocks, 0, "capacity_most"), 1e-12);
    assert_near(number(&shared, 0, "capacity"), number(&alone, 0, "capacity"), 0.1);
}

TEST(a_trace_is_replayed_or_lends_its_lengths)
{
    OWNED(spec_result) replayed, drawn;
    FILE *out = fopen("trace.csv", "w");
    fputs("arrival,prompt,output\n", out);
    for (int i = 0; i < 50; i++)
        fprintf(out, "%.2f,%d,%d\n", 0.1 * i, 20 + i % 7, 10 + 3 * (i % 5));
    fclose(out);
    run(&replayed, "serve", 1,
        ENGINE "trace = [\"trace.csv\"]; speed = \"1,2\"; K = [\"0,3\"]; alpha = \"0.7\"; "
               "slo = [\"ttft=1s\"]");
    assert_true(replayed.fails == 0 && replayed.table.n_rows == 4);
    for (size_t r = 0; r < 4; r++) {
        assert_string_equal(text(&replayed, r, "state"), "replay");
        assert_near(number(&replayed, r, "rate"), r < 2 ? 10.0 : 20.0, 1e-9);
        assert_true(number(&replayed, r, "requests") == 64.0 * 50.0);
        assert_true(is_empty(&replayed, r, "drift_z"));
        assert_true(number(&replayed, r, "slo_share") == 1.0);
    }
    run(&drawn, "serve", 1,
        ENGINE "trace = [\"trace.csv\"]; rate = 30; K = [\"0,3\"]; alpha = \"0.7\"; "
               "requests = 200");
    assert_all_hold(&drawn, 2);
    assert_string_equal(text(&drawn, 0, "state"), "steady");
    /* Rows are drawn uniformly, so the mean output is 16. */
    assert_near(number(&drawn, 0, "tokens_per_s"), 30.0 * 16.0, 0.05);
}

TEST(drafting_ahead_in_a_batch_gains_as_its_theorem_says, SLOW)
{
    OWNED(spec_result) result;
    run(&result, "serve", 1,
        "cost = \"affine:step=10ms\"; draft_cost = \"pass=1ms\"; alpha = 0.9; K = [\"4\"]; "
        "prompt = [\"0\"]; output = [\"10000\"]; requests = 4; slots = \"1,4\"; "
        "place = [\"same\", \"ahead?guess=0.8&miss=wait\", \"ahead?guess=0.8&miss=ride\", "
        "\"halves\"]");
    assert_all_hold(&result, 8);
    for (size_t r = 0; r < 8; r++)
        assert_near(number(&result, r, "speedup"), number(&result, r, "speedup_theory"), 0.003);
    assert_near(number(&result, 1, "speedup") / number(&result, 0, "speedup"), 1.176, 0.003);
    assert_near(number(&result, 5, "speedup") / number(&result, 4, "speedup"), 1.022, 0.003);
}

TEST(theory_of_drafting_ahead_has_unlimited_memory, SLOW)
{
    OWNED(spec_result) ahead;
    run(&ahead, "serve", 1,
        "alpha = \"0.7\"; cost = [\"step=7ms\"]; draft_cost = [\"pass=1ms\"]; prompt = [\"0\"]; "
        "output = [\"10000\"]; slots = 4; K = [\"3\"]; requests = 8; blocks = \"0,1500\"; "
        "place = [\"ahead?guess=0.8&miss=wait\"]");
    assert_true(number(&ahead, 0, "tokens_per_s_theory") > 0.0);
    assert_nan(number(&ahead, 1, "tokens_per_s_theory"));
}

TEST(wrong_parameters_are_named)
{
    static const char *const wrong[][2] = {
        {ENGINE "rate = 2; alpha = 1.2", "alpha: 1.2 is not within"},
        {ENGINE "alpha = 0.7", "rate: give requests/s"},
        {ENGINE "rate = 2; slots = 4", "slots: a closed loop has no rate"},
        {ENGINE "rate = 0", "rate: 0 is not within"},
        {ENGINE "slots = 0", "slots: 0 is not within"},
        {ENGINE "rate = 2; speed = 2", "speed: only a replayed trace"},
        {ENGINE "rate = 2; K = [\"0,300\"]", "K: 300 is not a whole number from 0 to"},
        {ENGINE "rate = 2; K = [\"1,1\"]", "K: 1 is given twice"},
        {ENGINE "rate = 2; K = [\"x\"]", "K"},
        {ENGINE "rate = 2; lengths = [\"goodpt\"]", "lengths: "},
        {ENGINE "rate = 2; lengths = [\"goodput?x=1\"]", "lengths: "},
        {ENGINE "rate = 2; budget = 3; K = [\"5\"]", "budget: 3 tokens in a step are fewer"},
        {ENGINE "rate = 2; requests = 100; warm = 100", "warm: 100 requests before the 100"},
        {ENGINE "rate = 2; prompt = [\"lognormal?mean=1e9\"]", "prompt: "},
        {ENGINE "rate = 2; arrivals = [\"burst\"]", "arrivals: "},
        {ENGINE "rate = 2; spread = [\"beta?concentration=0\"]", "spread: "},
        {ENGINE "rate = 2; rounds_correlation = 1", "rounds_correlation: 1 is not within"},
        {ENGINE "rate = 2; place = [\"moon\"]", "place: 'moon' is not same"},
        {ENGINE "rate = 2; place = [\"ahead?guess=2\"]", "place: "},
        {ENGINE "rate = 2; slo = [\"ttft=fast\"]", "slo: "},
        {ENGINE "rate = 2; slo = [\"p99=1s\"]", "slo: "},
        {ENGINE "rate = 2; memory = [\"1GB\"]", "memory: needs kv_bytes"},
        {ENGINE "rate = 2; memory = [\"1GB\"]; kv_bytes = [\"1kB\"]; blocks = 3", "memory: "},
        {ENGINE "rate = 2; blocks = 3; requests = 5", "block"},
        {ENGINE "trace = [\"none.csv\"]", "trace: none.csv"},
        {ENGINE "rate = 2; accepted = [\"none.json\"]", "accepted: none.json"},
        {ENGINE "slots = 4; max_batch = 3",
         "max_batch: a closed loop has slots instead; leave out max_batch"},
        {"rate = 2; cost = \"affine:step=nan\"", "cost: "},
        {"rate = 2; cost = \"affine:step=inf\"", "cost: "},
        {"rate = 2; cost = \"affine:step=-1ms\"", "cost: "},
        {"rate = 2; cost = \"roofline:card=H1000,parameters=8B\"", "cost: "},
        {"rate = 2; cost = \"step=7ms\"; draft_cost = \"step=7ms\"", "cost: "},
    };
    assert_grids_refused("serve", wrong, sizeof wrong / sizeof *wrong);
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
