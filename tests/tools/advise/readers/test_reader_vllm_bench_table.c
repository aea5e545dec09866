/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/read_lines.h"
#include "tests/support/support.h"
#include "tools/advise/log_format.h"

/* The layout of vLLM's table, with 1000 rounds of 3 tokens. */
#define HEAD                                                                                       \
    "============ Serving Benchmark Result ============\n"                                         \
    "Successful requests:                     10        \n"                                        \
    "Failed requests:                         0         \n"                                        \
    "Benchmark duration (s):                  20.00     \n"                                        \
    "Total input tokens:                      5120      \n"
#define TAIL "==================================================\n"
#define TIMES(generated, tpot)                                                                     \
    HEAD "Total generated tokens:                  " generated "      \n"                          \
         "---------------Time to First Token----------------\n"                                    \
         "Mean TTFT (ms):                          50.00     \n"                                   \
         "Mean TPOT (ms):                          " tpot "     \n"
#define COUNTS(rate, length, drafts, drafted, accepted)                                            \
    "---------------Speculative Decoding---------------\n"                                         \
    "Acceptance rate (%):                     " rate "     \n"                                     \
    "Acceptance length:                       " length "      \n"                                  \
    "Drafts:                                  " drafts "      \n"                                  \
    "Draft tokens:                            " drafted "      \n"                                 \
    "Accepted tokens:                         " accepted "      \n"
#define POSITIONS(a, b, c)                                                                         \
    "Per-position acceptance (%):\n"                                                               \
    "  Position 0:                            " a "     \n"                                        \
    "  Position 1:                            " b "     \n"                                        \
    "  Position 2:                            " c "     \n"
#define ROUNDS_1000                                                                                \
    COUNTS("53.00", "2.59", "1000", "3000", "1590") POSITIONS("80.00", "50.00", "29.00")

static read_lines r;

static const spec_observation *only(const char *text, int K)
{
    const spec_observation *o = read_lines_only(&r, &spec_reader_vllm_bench_table, text, K);
    assert_int_equal(o->kind, SPEC_OBSERVED_WINDOW);
    return o;
}

TEST(a_table_is_read)
{
    const spec_observation *o = only(TIMES("2610", "12.50") ROUNDS_1000 TAIL, -1);
    assert_counts(o, 3, (const double[]){1000, 1000, 3000, 1590, 2590});
    assert_int_equal(o->depths, 3);
    assert_same(o->passed[0], 800);
    assert_same(o->passed[1], 500);
    assert_same(o->passed[2], 290);
    assert_same(o->seconds, 20);
    assert_near(o->running, 2600 * 0.0125 / 20, 1e-15);
    assert_same(o->printed_length, 2.59);
    assert_same(o->printed_rate, 0.53);
    assert_int_equal(r.learned.generation, 0);
    assert_int_equal(r.learned.gaps, 0);
}

TEST(an_excerpt_has_no_times)
{
    const spec_observation *o = only(ROUNDS_1000, -1);
    assert_counts(o, 3, (const double[]){1000, NAN, 3000, 1590, NAN});
    assert_nan(o->seconds);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_TIMES);
    o = only(COUNTS("50.00", "2.00", "10", "20", "10"), 7);
    assert_int_equal(o->K, 2);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_TIMES | SPEC_LOG_NO_DEPTHS);
    o = only(COUNTS("50.00", "1.95", "20", "38", "19"), 7);
    assert_int_equal(o->K, 7);
}

TEST(tables_follow_one_another)
{
    read_lines_of(&r, &spec_reader_vllm_bench_table,
                  ROUNDS_1000 TIMES("3010", "10.00") TAIL TIMES("4010", "12.50")
                      ROUNDS_1000 TAIL ROUNDS_1000,
                  -1);
    assert_int_equal(r.n, 4);
    /* Plain decoding: 3000 tokens of 10 ms in 20 s. */
    assert_counts(&r.observation[1], 0, (const double[]){0, 3000, 0, 0, 3000});
    assert_same(r.observation[1].running, 1.5);
    /* Passes without a draft. */
    assert_counts(&r.observation[2], 3, (const double[]){1000, 2410, 3000, 1590, 4000});
    assert_nan(r.observation[3].seconds);
}

/* With many rounds, two decimals leave several counts possible, of which those with the right sum
 * are taken. */
TEST(depths_sum_to_the_accepted_tokens)
{
    const spec_observation *o = only(COUNTS("50.00", "2.00", "100003", "200006",
                                            "100003") "Position 0: 70.00\nPosition 1: 30.00\n",
                                     -1);
    assert_same(o->passed[0] + o->passed[1], 100003);
    assert_within(o->passed[0], 70002.1, 5);
    o = only(COUNTS("50.00", "2.00", "100003", "200006",
                    "99996") "Position 0: 70.00\nPosition 1: 30.00\n",
             -1);
    assert_same(o->passed[0] + o->passed[1], 99996);
    assert_within(o->passed[0], 70002.1, 5.0002);
    assert_within(o->passed[1], 30000.9, 5.0002);
}

/* vLLM issue 26509: two runs of examples/offline_inference/spec_decode.py. */
TEST(the_totals_of_the_offline_example_are_read)
{
#define LINE "--------------------------------------------------\n"
    read_lines_of(&r, &spec_reader_vllm_bench_table,
                  LINE "total_num_output_tokens: 16990\nnum_drafts: 4816\nnum_draft_tokens: 33712\n"
                       "num_accepted_tokens: 12208\nmean acceptance length: 3.53\n" LINE
                       "acceptance at token 0: 0.74\nacceptance at token 1: 0.54\n"
                       "acceptance at token 2: 0.41\nacceptance at token 3: 0.31\n"
                       "acceptance at token 4: 0.23\nacceptance at token 5: 0.17\n"
                       "acceptance at token 6: 0.13\n" LINE
                       "total_num_output_tokens: 10\nnum_drafts: 5\nnum_draft_tokens: 10\n"
                       "num_accepted_tokens: 6\nmean acceptance length: 2.20\n" LINE
                       "acceptance at token 0: 0.80\nacceptance at token 1: 0.40\n",
                  -1);
    assert_int_equal(r.n, 2);
    const spec_observation *o = &r.observation[0];
    double sum = 0.0;
    assert_counts(o, 7, (const double[]){4816, NAN, 33712, 12208, NAN});
    assert_int_equal(o->depths, 7);
    for (int i = 0; i < 7; i++) sum += o->passed[i];
    assert_same(sum, 12208);
    assert_within(o->passed[0], 0.74 * 4816, 0.005 * 4816);
    assert_int_equal(r.observation[1].K, 2);
    assert_passed(&r.observation[1], 2, (const double[]){4, 2});
    read_lines_fails(&spec_reader_vllm_bench_table,
                     "mean acceptance length: 2.20\nacceptance at token 0:0.80\n", GSL_EINVAL,
                     "x:2: vLLM's table: expected a line 'Drafts:' or 'num_drafts:'; it is "
                     "truncated");
}

TEST(malformed_tables_are_refused)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"Drafts: 10\nDraft tokens: 30\n", "x:2: vLLM's table: expected a line 'Accepted tokens:' "
                                           "or 'num_accepted_tokens:'; it is truncated"},
        {"Drafts: ten\n", "x:1: Drafts: expected a whole number, not 'ten'"},
        {"Drafts: 10 20\n", "x:1: Drafts: expected the end of the line, not '20'"},
        {"Acceptance rate (%): 53,00\n",
         "x:1: Acceptance rate (%): expected a decimal point, not the comma of '53,0'; run the "
         "engine with LC_ALL=C"},
        {"Drafts: -1\n", "x:1: Drafts: expected a whole number, not '-1'"},
        {"Drafts: 9007199254740994\n", "x:1: Drafts: expected a number up to 2^53"},
        {"  Position 1: 10\n", "x:1: Position: expected 0 of 0 to 63, not 1"},
        {"  Position 0: 110\n", "x:1: Position: expected at most 100 %, not 110"},
        {"  Position 0\n", "x:1: Position: expected ':', not ''"},
        {"Drafts: 10\nDraft tokens: 30\nAccepted tokens: 31\n",
         "x:3: vLLM's table: 10 drafts, 30 draft tokens and 31 accepted ones contradict one "
         "another or the rates"},
        {"Drafts: 31\nDraft tokens: 30\nAccepted tokens: 3\n",
         "x:3: vLLM's table: 31 drafts, 30 draft tokens and 3 accepted ones contradict one "
         "another or the rates"},
        {COUNTS("54.00", "2.59", "1000", "3000", "1590"),
         "x:6: vLLM's table: 1000 drafts, 3000 draft tokens and 1590 accepted ones contradict "
         "one another or the rates"},
        {COUNTS("53.00", "2.60", "1000", "3000", "1590"),
         "x:6: vLLM's table: 1000 drafts, 3000 draft tokens and 1590 accepted ones contradict "
         "one another or the rates"},
        {COUNTS("53.00", "2.59", "1000", "3000", "1590") POSITIONS("80.00", "50.00", "28.00"),
         "x:10: vLLM's table: 1000 drafts, 3000 draft tokens and 1590 accepted ones contradict "
         "one another or the rates"},
        {COUNTS("53.00", "2.59", "1000", "3000", "1590") POSITIONS("80.05", "50.00", "28.95"),
         "x:10: vLLM's table: 1000 drafts, 3000 draft tokens and 1590 accepted ones contradict "
         "one another or the rates"},
        {COUNTS("53.00", "2.59", "1000", "3000", "1590") POSITIONS("50.00", "80.00", "29.00"),
         "x:10: vLLM's table: 1000 drafts, 3000 draft tokens and 1590 accepted ones contradict "
         "one another or the rates"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        read_lines_fails(&spec_reader_vllm_bench_table, cases[i].text, GSL_EINVAL, cases[i].error);
}

TEST(the_table_of_sglang_is_refused)
{
    read_lines_fails(&spec_reader_vllm_bench_table, TIMES("2610", "12.50") "Accept length: 2.5\n",
                     GSL_EUNSUP,
                     "x:10: this table is from SGLang's benchmark, which prints a mean length "
                     "without counts; give the server's log instead");
}

TEST(other_lines_are_passed_over)
{
    read_lines_of(&r, &spec_reader_vllm_bench_table,
                  "Draft tokens\nDrafts 3\nPosition: 4\nPosition x: 3\nPosition \n" TAIL HEAD, -1);
    assert_int_equal(r.n, 0);
}
