/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verb serve: its exit codes, its recommendation, its bytes and its figure. SPECLAB names the
 * program. */
#include "cli/verb.h"
#include "tests/cli/result_table.h"
#include "tests/support/child.h"
#include "tests/support/picture.h"
#include "tests/support/support.h"

#include <stdbool.h>
#include <string.h>

#define QUICK "--output 24 --requests 100 --draft-cost round=1ms,pass=0.2ms "
#define CHEAP "--cost step=7ms,token=20us --prompt 40 "

/* Runs serve into serve.csv; the child has what it said. */
static void serve(spec_child *c, const char *arguments)
{
    char whole[600];
    snprintf(whole, sizeof whole, "serve " QUICK "-o serve.csv --force %s", arguments);
    spec_child_run(c, whole);
}

static void assert_says(const spec_child *c, const char *words)
{
    if (strstr(c->line, words) == NULL) fail_msg("no '%s' in '%s'", words, c->line);
}

TEST(the_recommendation_is_made_of_the_numbers_of_the_table)
{
    spec_child c;
    spec_table table;
    char words[200];
    spec_needs_program();
    serve(&c, CHEAP "--alpha 0.8 --rate 20,60 --K 0,3");
    assert_int_equal(c.code, SPEC_EXIT_HOLDS);
    read_csv(&table, "serve.csv");
    assert_true(number(&table, 3, "best_K") == 3.0);
    snprintf(words, sizeof words,
             "at 60 requests/s K = 3: latency %.3g times lower than without speculation [%.3g, "
             "%.3g]\n",
             number(&table, 3, "speedup"), number(&table, 3, "speedup_low"),
             number(&table, 3, "speedup_high"));
    assert_string_equal(c.line, words);
    spec_table_free(&table);
    spec_child_free(&c);
}

/* It fails at the middle one of three loads; at the first one another K is the best. */
TEST(the_recommendation_is_the_way_with_the_lowest_latency)
{
    spec_child c;
    spec_table table;
    char words[300];
    spec_needs_program();
    serve(&c, "--alpha 0.6 --rate 20,60,80 --K 0,1,5 --lengths fixed,goodput --cost "
              "step=7ms,token=150us --prompt 0");
    read_csv(&table, "serve.csv");
    assert_int_equal(table.n_rows, 12);
    size_t best = 4, fixed = 4;
    for (size_t r = 5; r < 8; r++) {
        if (number(&table, r, "latency_ms") < number(&table, best, "latency_ms")) best = r;
        if (r < 7) fixed = best;
    }
    assert_int_equal(best, 7);
    snprintf(words, sizeof words,
             "at 60 requests/s goodput: latency %.3g times lower than without speculation [%.3g, "
             "%.3g]; the best fixed K is %g, %.3g times [%.3g, %.3g]",
             number(&table, best, "speedup"), number(&table, best, "speedup_low"),
             number(&table, best, "speedup_high"), number(&table, fixed, "K"),
             number(&table, fixed, "speedup"), number(&table, fixed, "speedup_low"),
             number(&table, fixed, "speedup_high"));
    assert_says(&c, words);
    spec_table_free(&table);
    spec_child_free(&c);
    /* Plain decoding is not in the table, but the only choice is compared with it. */
    serve(&c, CHEAP "--alpha 0.6 --rate 20 --K 3 --lengths goodput");
    assert_int_equal(strncmp(c.line, "at 20 requests/s goodput: latency ", 34), 0);
    assert_null(strstr(c.line, "fixed"));
    spec_child_free(&c);
    serve(&c, CHEAP "--alpha 0 --rate 20 --K 3");
    assert_string_equal(c.line, "at 20 requests/s K = 0: no other choice has a lower latency\n");
    spec_child_free(&c);
}

TEST(the_recommendation_changes_with_the_load)
{
    spec_child c;
    spec_needs_program();
    /* Verification is expensive, so a draft pays only at light loads. */
    serve(&c, "--alpha 0.5 --rate 20,50,150 --K 0,3 --cost step=7ms,token=200us --prompt 0");
    assert_int_equal(c.code, SPEC_EXIT_UNDECIDED);
    assert_says(&c, "K = 3 serves at most 94.76 requests/s: from 150 requests/s on there is no "
                    "latency to print\n");
    assert_says(&c, "at 50 requests/s K = 0: no other choice has a lower latency; K = 3 up to 20, "
                    "K = 0 from 50 requests/s on\n");
    spec_child_free(&c);
}

TEST(help_tells_the_two_outputs_apart)
{
    spec_needs_program();
    FREED char *help = spec_program_text("serve --help");
    assert_non_null(strstr(help, "output file is -o"));
    assert_non_null(strstr(help, "write to FILE; only as -o, because --output"));
}

TEST(groups_have_sentences_of_their_own)
{
    spec_child c;
    spec_needs_program();
    serve(&c, CHEAP "--alpha 0.3,0.9 --rate 20 --K 0,5 --batch 0,8");
    assert_int_equal(c.code, SPEC_EXIT_HOLDS);
    assert_says(&c, "batch 0, alpha 0.3: at 20 requests/s K = ");
    assert_says(&c, "batch 8, alpha 0.9: at 20 requests/s K = 5: latency ");
    spec_child_free(&c);
}

TEST(rates_above_all_capacities_exit_with_3)
{
    spec_child c;
    spec_table table;
    spec_needs_program();
    serve(&c, CHEAP "--alpha 0.8 --rate 20,5000 --K 0,1");
    assert_int_equal(c.code, SPEC_EXIT_UNDECIDED);
    assert_says(&c, "K = 0 serves at most ");
    assert_says(&c, "K = 1 serves at most ");
    read_csv(&table, "serve.csv");
    assert_int_equal(table.n_rows, 4); /* the rows of the other rate are written */
    assert_true(number(&table, 0, "latency_ms") > 0.0);
    assert_true(number(&table, 3, "capacity") < 5000.0);
    spec_table_free(&table);
    spec_child_free(&c);
    serve(&c, CHEAP "--alpha 0.8 --rate 5000 --K 0,1");
    assert_int_equal(c.code, SPEC_EXIT_UNDECIDED);
    assert_says(&c, "none of these choices serves any of these loads; K = ");
    spec_child_free(&c);
}

TEST(a_load_that_is_not_steady_is_refused)
{
    spec_child c;
    spec_needs_program();
    serve(&c, CHEAP "--rate 600 --K 0 --warm 9");
    assert_int_equal(c.code, SPEC_EXIT_UNDECIDED);
    assert_says(&c, ": the warm-up is too short, so there is no result; ");
    spec_child_free(&c);
}

TEST(a_closed_loop_counts_requests_in_the_system)
{
    spec_child c;
    spec_needs_program();
    serve(&c, CHEAP "--slots 1,8 --K 0,3");
    assert_int_equal(c.code, SPEC_EXIT_HOLDS);
    assert_says(&c, "at 8 requests in the system K = 3: latency ");
    spec_child_free(&c);
}

TEST(the_result_has_the_same_bytes_for_any_number_of_threads)
{
    static const char *const names[] = {"one.csv", "two.csv", "three.csv"};
    spec_needs_program();
    for (int threads = 1; threads <= 3; threads++) {
        char arguments[400];
        snprintf(arguments, sizeof arguments,
                 "serve " CHEAP "--output 24 --requests 100 --alpha 0.6,0.8 --rate 20,60 --K 0,2 "
                 "--lengths fixed,goodput "
                 "--slo ttft=30ms --threads %d -o %s",
                 threads, names[threads - 1]);
        spec_program_works(arguments);
    }
    spec_files_same("one.csv", "two.csv");
    spec_files_same("one.csv", "three.csv");
}

TEST(a_newcomer_gets_figure_and_recommendation_from_a_trace, SLOW)
{
    spec_child c;
    FILE *out = fopen("mine.csv", "w");
    spec_needs_program();
    fputs("TIMESTAMP,ContextTokens,GeneratedTokens\n", out);
    for (int i = 0; i < 120; i++)
        fprintf(out, "2024-05-10 00:%02d:%02d,%d,%d\n", i / 60, i % 60, 200 + 37 * (i % 11),
                20 + 13 * (i % 7));
    fclose(out);
    spec_child_run(&c,
                   "serve --trace mine.csv --speed 0.5:2:0.5 --cost "
                   "roofline?card=H100&parameters=8.03B&kv_bytes=131072 --draft-cost "
                   "roofline?card=H100&parameters=0.5B --K 0,1,3,5 -o load.csv --figure load.svg");
    assert_int_equal(c.code, SPEC_EXIT_HOLDS);
    assert_says(&c, "at 1.5 requests/s K = ");
    spec_child_free(&c);
    spec_picture_check("load.svg");
    spec_child_run(&c, "serve --trace mine.csv --speed 1000 --K 0 -o fast.csv");
    assert_int_equal(c.code, SPEC_EXIT_HOLDS);
    assert_says(&c, "K = 0 serves at most ");
    assert_says(&c, " requests/s: at 1000 the queue grows throughout the trace\n");
    spec_child_free(&c);
    spec_child_run(&c, "serve --trace mine.csv --rate 5,20 --cost "
                       "roofline:card=H100,parameters=8.03B,kv_bytes=131072 --requests 100 "
                       "-o rates.csv");
    assert_int_equal(c.code, SPEC_EXIT_HOLDS);
    spec_child_free(&c);
    spec_program_works("plot rates.csv -o rates.svg");
}

SUITE(.setup = spec_program_set_up, .teardown = spec_program_tear_down);
