/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/support/support.h"
#include "tests/tools/advise/readers/vllm_log.h"

TEST(seconds_of_V0_are_since_its_first_line)
{
#define TOTAL(time, accepted, drafted, emitted, rate, efficiency)                                  \
    "INFO 05-01 14:" time " metrics.py:460] Avg prompt throughput: 0.0 tokens/s, Avg generation "  \
    "throughput: 50.0 tokens/s, Running: 2 reqs, Swapped: 0 reqs, Pending: 0 reqs\n"               \
    "INFO 05-01 14:" time " metrics.py:490] " V0 "Draft acceptance rate: " rate                    \
    ", System efficiency: " efficiency ", Number of speculative tokens: 2, Number of accepted "    \
    "tokens: " accepted ", Number of draft tokens: " drafted                                       \
    ", Number of emitted tokens: " emitted ".\n"
    read_lines_of(&r, &spec_reader_vllm_log,
                  TOTAL("00:00", "10", "20", "20", "0.500", "0.667")
                      TOTAL("00:05", "20", "40", "40", "0.500", "0.667")
                          TOTAL("00:10", "30", "60", "60", "0.500", "0.667")
                              TOTAL("00:30", "5", "10", "10", "0.500", "0.667")
                                  TOTAL("00:36", "10", "20", "20", "0.500", "0.667"),
                  -1);
    static const double seconds[] = {NAN, 5, 10, NAN, 6};
    assert_int_equal(r.n, 5);
    for (int i = 0; i < r.n; i++) assert_same(r.observation[i].seconds, seconds[i]);
    for (int i = 1; i < r.n; i++) assert_same(r.observation[i].running, 2);
}

TEST(engines_are_told_apart)
{
    read_lines_of(
        &r, &spec_reader_vllm_log,
        AT("00:00") ENGINE("000", "0.0", "259.0", "2") AT("00:00") ROUNDS_1000 AT("00:00")
            ENGINE("001", "0.0", "32.1", "3") AT("00:00") ROUNDS_59
        /* Two processes write in turn. */
        "(APIServer pid=8) " ENGINE("002", "0.0", "259.0", "5") "(APIServer pid=9) " ENGINE(
            "003", "0.0", "32.1",
            "7") "(APIServer pid=8) " ROUNDS_1000 "(APIServer pid=9) " ROUNDS_59 "INFO 4 "
                 "Engine 004: " ROUNDS_59 "4 Engines Aggregated: Avg prompt throughput: 0.0 "
                 "tokens/s, Avg generation throughput: "
                 "259.0 tokens/s, Running: 9 reqs, Waiting: 0 reqs\n" ROUNDS_1000,
        -1);
    assert_int_equal(r.n, 6);
    static const double running[] = {2, 3, 5, 7, NAN, 9}, rounds[] = {1000, 59, 1000, 59, 59, 1000};
    for (int i = 0; i < r.n; i++) {
        assert_same(r.observation[i].running, running[i]);
        assert_same(r.observation[i].rounds, rounds[i]);
        for (int j = 0; j < i; j++) assert_true(r.observation[i].label != r.observation[j].label);
    }
    assert_int_equal(r.observation[4].label, spec_log_label("004", 3));
}

/* Two servers share one log, and both call their engine 000. A server that starts again is still
 one source. */
TEST(processes_that_print_in_turn_are_two_sources)
{
#define BY(pid) "(APIServer pid=" #pid ") "
    read_lines_of(&r, &spec_reader_vllm_log,
                  BY(7) ENGINE("000", "0.0", "259.0", "2") BY(7) ROUNDS_1000 BY(9)
                      ENGINE("000", "0.0", "32.1", "3") BY(9) ROUNDS_59 BY(7)
                          ENGINE("000", "0.0", "259.0", "2") BY(7) ROUNDS_1000 BY(9)
                              ENGINE("000", "0.0", "32.1", "3") BY(9) ROUNDS_59,
                  -1);
    assert_int_equal(r.n, 4);
    assert_int_equal(r.observation[2].label, r.observation[0].label);
    assert_true(r.observation[2].label != r.observation[3].label);
    read_lines_of(&r, &spec_reader_vllm_log,
                  BY(7) ENGINE("000", "0.0", "259.0", "2") BY(7) ROUNDS_1000 BY(9)
                      ENGINE("000", "0.0", "32.1", "3") BY(9) ROUNDS_59,
                  -1);
    assert_int_equal(r.observation[1].label, r.observation[0].label);
}

/* Half of the lines have lost the name of their process, as in a log whose lines have lost their
 * beginnings. A line that belongs to no line of speculation would count as plain decoding. */
TEST(lines_without_a_process_join_those_of_any)
{
    for (int first = 0; first < 2; first++) {
        char log[1200] = "";
        for (int i = 0; i < 2; i++) {
            strcat(log, first == 0 ? "(APIServer pid=7) " : "");
            strcat(log, ENGINE("000", "0.0", "259.0", "2"));
            strcat(log, first == 1 ? "(APIServer pid=7) " : "");
            strcat(log, ROUNDS_1000);
        }
        read_lines_of(&r, &spec_reader_vllm_log, log, -1);
        assert_int_equal(r.n, 2);
        for (int i = 0; i < r.n; i++) assert_same(r.observation[i].rounds, 1000);
    }
}

TEST(lines_within_json_are_read)
{
    const spec_observation *o =
        only("{\"severity\": \"INFO\", \"message\": \"" V1
             "Mean acceptance length: 2.59, Accepted throughput: 159.00 tokens/s, Drafted "
             "throughput: 300.00 tokens/s, Accepted: 1590 tokens, Drafted: 3000 tokens, "
             "Per-position acceptance rate: 0.800, 0.500, 0.290, Avg Draft acceptance rate: "
             "53.0%\"}\n",
             -1);
    assert_rounds(o, 3, 1000, 3000, 1590);
    /* Several lines in one value, and a line that ends with its rates. */
    read_lines_of(&r, &spec_reader_vllm_log,
                  "[\"" V1 "Draft acceptance rate: 50.0%, Accepted: 1 tokens, Drafted: 2 tokens, "
                  "Mean acceptance length: 1.50, Per-position acceptance rate: 0.500\", \"" V1
                  "Draft acceptance rate: 0.0%, Accepted: 0 tokens, Drafted: 2 tokens\\n\"]\n",
                  -1);
    assert_int_equal(r.n, 2);
    assert_rounds(&r.observation[0], 1, 2, 2, 1);
    assert_same(r.observation[1].drafted, 2);
}

TEST(malformed_lines_of_throughput_are_refused)
{
    static const struct {
        const char *line, *error;
    } cases[] = {
        {"Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tok\n",
         "x:1: Avg generation throughput: expected 'tokens/s', not ' tok'"},
        {"Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, Running: "
         "1.5 reqs\n",
         "x:1: Running: expected the end of the number, not '.5 reqs'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        read_lines_fails(&spec_reader_vllm_log, cases[i].line, GSL_EINVAL, cases[i].error);
}

TEST(other_lines_are_passed_over)
{
    read_lines_of(&r, &spec_reader_vllm_log,
                  "INFO 05-01 14:24:50 [__init__.py:256] Automatically detected platform cuda.\n"
                  "Avg prompt throughput: of this machine\nspeculative metrics: none\n",
                  -1);
    assert_int_equal(r.n, 0);
    assert_int_equal(r.learned.generation, -1);
}
