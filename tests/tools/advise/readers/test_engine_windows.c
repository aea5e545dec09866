/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/support.h"
#include "tests/tools/advise/readers/vllm_log.h"

TEST(throughput_joins_the_speculation_behind_it)
{
    read_lines_of(&r, &spec_reader_vllm_log,
                  AT("00:00") ENGINE("000", "9.1", "12.0", "3") AT("00:10")
                      ENGINE("000", "9.1", "260.0", "4") AT("00:10") ROUNDS_1000 AT("00:20")
                          ENGINE("000", "9.1", "400.0", "8") AT("00:20") ROUNDS_1000 AT("00:30")
                              ENGINE("000", "9.1", "230.0", "0") AT("00:30") ROUNDS_1000 AT("00:50")
                                  ENGINE("000", "9.1", "100.0", "1") AT("00:50") ROUNDS_1000,
                  -1);
    assert_int_equal(r.n, 4);
    const spec_observation *o = r.observation;
    /* The engine counts 2600 tokens as output, and its 2590 rounds agree with that within the
     * skew. */
    assert_same(o[0].emitted, 2600);
    assert_same(o[0].passes, 1000);
    assert_same(o[0].running, 3.5);
    assert_same(o[0].seconds, 10);
    assert_int_equal(o[0].line, 3);
    assert_int_equal(o[0].label, spec_log_label("000", 3));
    /* Passes without a draft. */
    assert_same(o[1].emitted, 4000);
    assert_same(o[1].passes, 2410);
    assert_same(o[1].running, 6);
    /* The engine became idle, and outputs ended within rounds. */
    assert_same(o[2].emitted, 2300);
    assert_nan(o[2].running);
    /* The counts cover more than this interval. */
    assert_nan(o[3].emitted);
    assert_nan(o[3].running);
    assert_same(o[3].seconds, 10);
}

TEST(first_tokens_are_no_passes_without_a_draft)
{
    const spec_observation *o =
        only(AT("00:00") ENGINE("000", "0.0", "0.0", "2") AT("00:10")
                 ENGINE("000", "40.0", "280.0", "2") AT("00:10") ROUNDS_1000,
             -1);
    assert_same(o->passes, 1000); /* 8 % more tokens than the rounds explain */
}

/* vLLM prints nothing while it is idle, but the next line of speculation covers that time. */
TEST(idle_time_is_left_out)
{
    read_lines_of(&r, &spec_reader_vllm_log,
                  AT("00:00") ENGINE("000", "0.0", "32.0", "1") AT("00:10")
                      ENGINE("000", "0.0", "32.0", "1") AT("01:10")
                          ENGINE("000", "0.0", "32.1", "1") AT("01:10") ROUNDS_59,
                  -1);
    const spec_observation *o = &r.observation[r.n - 1];
    assert_same(o->rounds, 59);
    assert_same(o->seconds, 10);
    assert_same(o->emitted, 321);
    assert_same(o->running, 1);
}

/* Without time stamps, the interval follows from the lines' own numbers. */
TEST(counts_tell_the_interval)
{
#define MINUTE                                                                                     \
    ENGINE("000", "0.0", "5.3", "1")                                                               \
    V1 "Mean acceptance length: 5.44, Accepted throughput: 4.37 tokens/s, Drafted throughput: "    \
       "4.92 tokens/s, Accepted: 262 tokens, Drafted: 295 tokens, Per-position acceptance rate: "  \
       "0.983, 0.949, 0.915, 0.881, 0.712, Avg Draft acceptance rate: 88.8%\n"
    read_lines_of(&r, &spec_reader_vllm_log, MINUTE MINUTE MINUTE, -1);
    assert_int_equal(r.n, 3);
    assert_nan(r.observation[0].running); /* more tokens than fit into 10 s */
    for (int i = 0; i < 3; i++) assert_prints(r.observation[i].seconds, 0, "60");
    for (int i = 1; i < 3; i++) assert_same(r.observation[i].running, 1);
}

TEST(the_interval_is_learned)
{
    read_lines_of(&r, &spec_reader_vllm_log,
                  AT("00:00") ENGINE("000", "0.0", "50.0", "1") AT("01:00")
                      ENGINE("000", "0.0", "50.0", "1") AT("02:00")
                          ENGINE("000", "0.0", "50.0", "1") AT("13:00")
                              ENGINE("000", "0.0", "50.0", "1"),
                  -1);
    static const double seconds[] = {10, 10, 60, 60};
    assert_int_equal(r.n, 4);
    for (int i = 0; i < r.n; i++) assert_same(r.observation[i].seconds, seconds[i]);
}

/* The last line of throughput counts, from the same engine if the line names one. */
TEST(speculation_joins_the_last_line_before_it)
{
    read_lines_of(&r, &spec_reader_vllm_log,
                  ENGINE("000", "0.0", "0.0", "1") ENGINE("001", "0.0", "259.0", "2")
                      ROUNDS_1000 ENGINE("002", "0.0", "259.0", "3")
                          ENGINE("003", "0.0", "259.0", "4") "Engine 002: " ROUNDS_1000
                                                             "Engine 005: " ROUNDS_1000,
                  -1);
    static const double running[] = {2, 3, NAN};
    assert_int_equal(r.n, 3);
    for (int i = 0; i < r.n; i++) assert_same(r.observation[i].running, running[i]);
}

/* In early V1 the counts of an interval continued in the next line. */
TEST(counts_that_were_carried_leave_no_plain_window)
{
    read_lines_of(&r, &spec_reader_vllm_log,
                  AT("00:00") ENGINE("000", "0.0", "130.0", "2") AT("00:10")
                      ENGINE("000", "0.0", "130.0", "2") AT("00:20")
                          ENGINE("000", "0.0", "130.0", "2") AT("00:20") ROUNDS_1000,
                  -1);
    assert_int_equal(r.n, 1);
    assert_same(r.observation[0].rounds, 1000);
    assert_nan(r.observation[0].running);
}

TEST(a_log_without_speculation_is_plain)
{
    read_lines_of(
        &r, &spec_reader_vllm_log,
        AT("00:00") ENGINE("000", "20.0", "12.0", "1") /* starts within the interval */
        AT("00:10") ENGINE("000", "0.0", "55.2", "1") AT("00:20") ENGINE("000", "3.0", "110.0", "3")
            AT("00:30") ENGINE("000", "0.0", "9.0", "0") AT("00:40")
                ENGINE("000", "0.0", "0.0", "0") AT("10:00") ENGINE("000", "5.0", "20.0", "1")
                    AT("10:10") ENGINE("000", "0.0", "55.0", "1"),
        -1);
    static const double running[] = {NAN, 1, 2, NAN, NAN, 1};
    static const double tokens[] = {120, 552, 1100, 90, 200, 550};
    assert_int_equal(r.n, 6);
    for (int i = 0; i < r.n; i++) {
        const spec_observation *o = &r.observation[i];
        assert_rounds(o, 0, 0, 0, 0);
        assert_int_equal(o->kind, SPEC_OBSERVED_WINDOW);
        assert_same(o->running, running[i]);
        assert_same(o->seconds, 10);
        assert_same(o->emitted, tokens[i]);
        assert_same(o->passes, tokens[i]);
    }
}

/* A speculating server prints lines of throughput alone for three reasons. */
TEST(windows_of_prefills_are_not_plain)
{
    read_lines_of(&r, &spec_reader_vllm_log,
                  AT("00:00") ENGINE("000", "51.0", "0.1", "1") /* prefills alone */
                  AT("00:10") ENGINE("000", "0.0", "259.0", "2") AT("00:10") ROUNDS_1000 AT("00:20")
                      ENGINE("000", "0.0", "200.0", "2")          /* speculation was off */
                  AT("00:30") ENGINE("000", "10.0", "190.0", "2") /* perhaps off */
                  AT("00:40") ENGINE("000", "0.0", "259.0", "2") AT("00:40") ROUNDS_1000 AT("00:50")
                      ENGINE("000", "0.0", "259.0", "2"), /* the next line is missing */
                  -1);
    assert_int_equal(r.n, 3);
    assert_same(r.observation[0].rounds, 1000);
    assert_rounds(&r.observation[1], 0, 0, 0, 0);
    assert_same(r.observation[1].emitted, 2000);
    assert_int_equal(r.observation[1].line, 4);
    assert_same(r.observation[2].rounds, 1000);
}

TEST(V0_may_leave_lines_of_speculation_out)
{
#define PENDING                                                                                    \
    "Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 50.0 tokens/s, "              \
    "Running: 1 reqs, Swapped: 0 reqs, Pending: 0 reqs\n"
    read_lines_of(&r, &spec_reader_vllm_log,
                  PENDING PENDING V0
                  "Draft acceptance rate: 0.500, System efficiency: 0.667, Number of speculative "
                  "tokens: 2, Number of accepted tokens: 10, Number of draft tokens: 20, Number of "
                  "emitted tokens: 20.\n" PENDING PENDING,
                  -1);
    assert_int_equal(r.n, 1);
    read_lines_of(&r, &spec_reader_vllm_log, PENDING PENDING, -1);
    assert_int_equal(r.n, 2);
}

/* There are more windows than can be held, and more engines than there is room for. */
TEST(many_windows_and_engines_are_bounded)
{
    enum { LINES = 400, ENGINES = 200 };
    char *text = malloc(LINES * 400), *at = text;
    for (int i = 0; i < LINES; i++)
        at += sprintf(at, "Engine %03d: %s", i % ENGINES,
                      strchr(ENGINE("000", "0.0", "50.0", "1"), ':') + 2);
    read_lines_of(&r, &spec_reader_vllm_log, text, -1);
    assert_int_equal(r.n, LINES);
    at = text;
    for (int i = 0; i < LINES; i++) at += sprintf(at, "%s", ENGINE("000", "0.0", "50.0", "1"));
    read_lines_of(&r, &spec_reader_vllm_log, text, -1);
    assert_int_equal(r.n, LINES);
    for (int i = 0; i < LINES; i++) assert_int_equal(r.observation[i].line, i + 1);
    free(text);
}

/* With 50 tokens per output, 2,590 were counted and 2,470 came out. */
TEST(an_output_may_be_shorter_than_its_rounds)
{
    const spec_observation *o = only(AT("00:00") ENGINE("000", "0.0", "0.0", "2") AT("00:10")
                                         ENGINE("000", "0.0", "247.0", "2") AT("00:10") ROUNDS_1000,
                                     -1);
    assert_same(o->emitted, 2470);
    assert_same(o->passes, 1000);
    assert_same(o->accepted, 1590);
}
