/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/alpha.h"
#include "experiments/advice/readers/readers.h"
#include "tests/support/read_lines.h"

#include <locale.h>

#define AT(time) "(APIServer pid=1) INFO 05-01 14:" time " [metrics.py:101] "
#define V1 "SpecDecoding metrics: "
#define V0 "Speculative metrics: "
#define ENGINE(number, prompt, generated, running)                                                 \
    "Engine " number ": Avg prompt throughput: " prompt                                            \
    " tokens/s, Avg generation throughput: " generated " tokens/s, Running: " running              \
    " reqs, Waiting: 0 reqs, GPU KV cache usage: 0.3%, Prefix cache hit rate: 0.0%\n"
/* 1000 rounds of 3 in 10 s. */
#define ROUNDS_1000                                                                                \
    V1 "Mean acceptance length: 2.59, Accepted throughput: 159.00 tokens/s, Drafted throughput: "  \
       "300.00 tokens/s, Accepted: 1590 tokens, Drafted: 3000 tokens, Per-position acceptance "    \
       "rate: 0.800, 0.500, 0.290, Avg Draft acceptance rate: 53.0%\n"
/* Of vLLM pull request 24127. */
#define ROUNDS_59                                                                                  \
    V1 "Draft acceptance rate: 88.8%, Mean acceptance length: 5.44, Accepted throughput: 4.37 "    \
       "tokens/s, Drafted throughput: 4.92 tokens/s, Accepted: 262 tokens, Drafted: 295 tokens, "  \
       "Per-position acceptance rate: 0.983, 0.949, 0.915, 0.881, 0.712\n"

static read_lines r;

static const spec_observation *only(const char *text, int K)
{
    read_lines_of(&r, &spec_reader_vllm_log, text, K);
    assert_int_equal(r.n, 1);
    return &r.observation[0];
}

static void assert_rounds(const spec_observation *o, int K, double rounds, double drafted,
                          double accepted)
{
    assert_int_equal(o->K, K);
    assert_same(o->rounds, rounds);
    assert_same(o->rounds_low, rounds);
    assert_same(o->rounds_high, rounds);
    assert_same(o->drafted, drafted);
    assert_same(o->accepted, accepted);
}

/* ---- V0 -------------------------------------------------------------------------------------- */

/* Logs that users of vLLM 0.4 to 0.8 posted; alphas computed from rounds and emitted tokens with
 * another program. */
static void alpha_of_V0_follows_from_emitted_tokens(void **state)
{
    (void)state;
    static const struct {
        const char *line, *alpha, *printed;
        int K;
        double accepted, drafted, emitted;
    } logs[] = {
        {V0 "Draft acceptance rate: 0.642, System efficiency: 0.598, Number of speculative tokens: "
            "3, Number of accepted tokens: 8547, Number of draft tokens: 13311, Number of emitted "
            "tokens: 10616.\n",
         "0.663", "0.642", 3, 8547, 13311, 10616},
        {"INFO 05-01 14:24:50 metrics.py:490] " V0
         "Draft acceptance rate: 0.607, System efficiency: 0.510, Number of speculative tokens: 4, "
         "Number of accepted tokens: 32594, Number of draft tokens: 53716, Number of emitted "
         "tokens: 34244.\n",
         "0.655", "0.607", 4, 32594, 53716, 34244},
        {V0 "Draft acceptance rate: 0.797, System efficiency: 0.640, Number of speculative tokens: "
            "5, Number of accepted tokens: 197711, Number of draft tokens: 248165, Number of "
            "emitted tokens: 190541.\n",
         "0.817", "0.797", 5, 197711, 248165, 190541},
        {V0 "Draft acceptance rate: 0.000, System efficiency: 0.250, Number of speculative tokens: "
            "3, Number of accepted tokens: 0, Number of draft tokens: 483, Number of emitted "
            "tokens: 161.\n",
         "0.000", "0.000", 3, 0, 483, 161},
    };
    for (size_t i = 0; i < sizeof logs / sizeof logs[0]; i++) {
        const spec_observation *o = only(logs[i].line, -1);
        const double rounds = logs[i].drafted / logs[i].K;
        assert_int_equal(o->kind, SPEC_OBSERVED_TOTAL);
        assert_rounds(o, logs[i].K, rounds, logs[i].drafted, logs[i].emitted - rounds);
        assert_same(o->passes, rounds);
        assert_same(o->emitted, logs[i].emitted);
        assert_int_equal(o->depths, 0);
        assert_prints(o->printed_rate, 3, logs[i].printed);
        assert_prints(spec_alpha_from_emitted(o->emitted / o->rounds, o->K), 3, logs[i].alpha);
        assert_int_equal(r.learned.generation, 0);
        assert_int_equal(r.learned.gaps & ~(unsigned)SPEC_LOG_NO_TIMES,
                         SPEC_LOG_OLD_MEANING | SPEC_LOG_NO_DEPTHS);
    }
}

static void seconds_of_V0_are_since_its_first_line(void **state)
{
    (void)state;
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

/* ---- V1 -------------------------------------------------------------------------------------- */

static void counts_alone_need_K(void **state)
{
    (void)state;
    static const char line[] =
        AT("24:50") V1 "Draft acceptance rate: 100.0%, Accepted: 66 tokens, Drafted: 66 tokens\n";
    const spec_observation *o = only(line, -1);
    assert_int_equal(o->K, -1);
    assert_nan(o->rounds);
    assert_same(o->accepted, 66);
    assert_int_equal(r.learned.generation, 1);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_ROUNDS | SPEC_LOG_NO_DEPTHS);
    assert_rounds(only(line, 3), 3, 22, 66, 66);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_ROUNDS | SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES);
    o = only(line, 4); /* a draft was shorter */
    assert_same(o->rounds, 17);
    assert_same(o->rounds_low, 17);
    assert_same(o->rounds_high, 66);
}

static void rounds_and_depths_are_recovered(void **state)
{
    (void)state;
    const spec_observation *o = only(AT("24:50") ROUNDS_59, -1);
    assert_rounds(o, 5, 59, 295, 262);
    assert_passed(o, 5, (const double[]){58, 56, 54, 52, 42});
    assert_within(o->seconds, 60.0, 0.1);
    assert_same(o->printed_length, 5.44);
    assert_near(o->printed_rate, 0.888, 1e-15);
    assert_int_equal(r.learned.generation, 2);
    assert_int_equal(r.learned.gaps, 0);
    assert_int_equal(o->label, 0);
    assert_nan(o->running);
    o = only(ROUNDS_1000, -1);
    assert_rounds(o, 3, 1000, 3000, 1590);
    assert_passed(o, 3, (const double[]){800, 500, 290});
    assert_same(o->seconds, 10);
    assert_int_equal(r.learned.generation, 3);
}

/* AEON-7, issue 6: DFlash with 15 draft tokens. */
static void zeros_behind_a_depth_are_read(void **state)
{
    (void)state;
    const spec_observation *o = only(
        AT("24:50") ENGINE("000", "0.0", "15.4", "1") AT("24:50") V1
        "Mean acceptance length: 2.37, Accepted throughput: 8.90 tokens/s, Drafted throughput: "
        "97.50 tokens/s, Accepted: 89 tokens, Drafted: 975 tokens, Per-position acceptance rate: "
        "0.600, 0.385, 0.215, 0.108, 0.062, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000, 0.000, "
        "0.000, 0.000, 0.000, Avg Draft acceptance rate: 9.1%\n",
        -1);
    assert_rounds(o, 15, 65, 975, 89);
    assert_passed(o, 15, (const double[15]){39, 25, 14, 7, 4});
    assert_prints(o->seconds, 1, "10.0");
    assert_same(o->running, 1);
    assert_same(o->emitted, 154);
    assert_same(o->passes, 65);
}

static void lengths_without_depths_are_read(void **state)
{
    (void)state;
    const spec_observation *o =
        only(V1 "Draft acceptance rate: 80.0%, Accepted: 8 tokens, Drafted: "
                "10 tokens, Mean acceptance length: 2.60\n",
             2);
    assert_rounds(o, 2, 5, 10, 8);
    assert_int_equal(o->depths, 0);
    assert_int_equal(r.learned.generation, 2);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES);
}

static void a_window_without_drafts_is_nan(void **state)
{
    (void)state;
    const spec_observation *o = only(
        AT("24:40") ENGINE("000", "0.0", "0.0", "1") AT("24:50") ENGINE("000", "0.0", "20.0", "1")
            AT("24:50") V1
        "Mean acceptance length: nan, Accepted throughput: 0.00 tokens/s, Drafted throughput: 0.00 "
        "tokens/s, Accepted: 0 tokens, Drafted: 0 tokens, Per-position acceptance rate: nan, nan, "
        "Avg Draft acceptance rate: nan%\n",
        -1);
    assert_rounds(o, 2, 0, 0, 0);
    assert_passed(o, 2, (const double[]){0, 0});
    assert_nan(o->printed_length);
    assert_nan(o->printed_rate);
    assert_same(o->passes, 200);
    assert_same(o->emitted, 200);
    assert_same(o->seconds, 10);
}

static void lines_within_json_are_read(void **state)
{
    (void)state;
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

/* ---- Lines of throughput --------------------------------------------------------------------- */

static void throughput_joins_the_speculation_behind_it(void **state)
{
    (void)state;
    read_lines_of(&r, &spec_reader_vllm_log,
                  AT("00:00") ENGINE("000", "9.1", "12.0", "3") AT("00:10")
                      ENGINE("000", "9.1", "260.0", "4") AT("00:10") ROUNDS_1000 AT("00:20")
                          ENGINE("000", "9.1", "400.0", "8") AT("00:20") ROUNDS_1000 AT("00:30")
                              ENGINE("000", "9.1", "230.0", "0") AT("00:30") ROUNDS_1000 AT("00:50")
                                  ENGINE("000", "9.1", "100.0", "1") AT("00:50") ROUNDS_1000,
                  -1);
    assert_int_equal(r.n, 4);
    const spec_observation *o = r.observation;
    /* 2600 tokens of 2590: the same. */
    assert_same(o[0].emitted, 2590);
    assert_same(o[0].passes, 1000);
    assert_same(o[0].running, 3.5);
    assert_same(o[0].seconds, 10);
    assert_int_equal(o[0].line, 3);
    assert_int_equal(o[0].label, spec_log_label("000", 3));
    /* Passes without a draft. */
    assert_same(o[1].emitted, 4000);
    assert_same(o[1].passes, 2410);
    assert_same(o[1].running, 6);
    /* The engine fell idle, and the throughput is a bit too low. */
    assert_nan(o[2].emitted);
    assert_nan(o[2].running);
    /* The counts are of more than this interval. */
    assert_nan(o[3].emitted);
    assert_nan(o[3].running);
    assert_same(o[3].seconds, 10);
}

static void first_tokens_are_no_passes_without_a_draft(void **state)
{
    (void)state;
    const spec_observation *o =
        only(AT("00:00") ENGINE("000", "0.0", "0.0", "2") AT("00:10")
                 ENGINE("000", "40.0", "280.0", "2") AT("00:10") ROUNDS_1000,
             -1);
    assert_same(o->passes, 1000); /* 8 % more tokens than rounds account for */
}

/* Half of the lines lost their process, as in a log without a line's beginning. A line that no
 * speculation joins would be plain decoding. */
static void lines_without_a_process_join_those_of_any(void **state)
{
    (void)state;
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

/* vLLM prints nothing while it is idle, but the next line of speculation covers that time. */
static void idle_time_is_left_out(void **state)
{
    (void)state;
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

static void engines_are_told_apart(void **state)
{
    (void)state;
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

/* The line of throughput that was printed last, and of the engine if the line names one. */
static void speculation_joins_the_last_line_before_it(void **state)
{
    (void)state;
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

/* Without stamps, the lines' own numbers tell the interval. */
static void counts_tell_the_interval(void **state)
{
    (void)state;
#define MINUTE                                                                                     \
    ENGINE("000", "0.0", "5.3", "1")                                                               \
    V1 "Mean acceptance length: 5.44, Accepted throughput: 4.37 tokens/s, Drafted throughput: "    \
       "4.92 tokens/s, Accepted: 262 tokens, Drafted: 295 tokens, Per-position acceptance rate: "  \
       "0.983, 0.949, 0.915, 0.881, 0.712, Avg Draft acceptance rate: 88.8%\n"
    read_lines_of(&r, &spec_reader_vllm_log, MINUTE MINUTE MINUTE, -1);
    assert_int_equal(r.n, 3);
    assert_nan(r.observation[0].running); /* more tokens than 10 s have */
    for (int i = 0; i < 3; i++) assert_prints(r.observation[i].seconds, 0, "60");
    for (int i = 1; i < 3; i++) assert_same(r.observation[i].running, 1);
}

static void a_log_without_speculation_is_plain(void **state)
{
    (void)state;
    read_lines_of(
        &r, &spec_reader_vllm_log,
        AT("00:00") ENGINE("000", "20.0", "12.0", "1") /* begins within the interval */
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

/* A server that speculates prints lines of throughput alone for three reasons. */
static void windows_of_prefills_are_not_plain(void **state)
{
    (void)state;
    read_lines_of(&r, &spec_reader_vllm_log,
                  AT("00:00") ENGINE("000", "51.0", "0.1", "1") /* prefills alone */
                  AT("00:10") ENGINE("000", "0.0", "259.0", "2") AT("00:10") ROUNDS_1000 AT("00:20")
                      ENGINE("000", "0.0", "200.0", "2")          /* speculation was off */
                  AT("00:30") ENGINE("000", "10.0", "190.0", "2") /* perhaps off */
                  AT("00:40") ENGINE("000", "0.0", "259.0", "2") AT("00:40") ROUNDS_1000 AT("00:50")
                      ENGINE("000", "0.0", "259.0", "2"), /* the next line is not here */
                  -1);
    assert_int_equal(r.n, 3);
    assert_same(r.observation[0].rounds, 1000);
    assert_rounds(&r.observation[1], 0, 0, 0, 0);
    assert_same(r.observation[1].emitted, 2000);
    assert_int_equal(r.observation[1].line, 4);
    assert_same(r.observation[2].rounds, 1000);
}

/* Early V1: the counts of an interval went on into the next line. */
static void counts_that_were_carried_leave_no_plain_window(void **state)
{
    (void)state;
    read_lines_of(&r, &spec_reader_vllm_log,
                  AT("00:00") ENGINE("000", "0.0", "130.0", "2") AT("00:10")
                      ENGINE("000", "0.0", "130.0", "2") AT("00:20")
                          ENGINE("000", "0.0", "130.0", "2") AT("00:20") ROUNDS_1000,
                  -1);
    assert_int_equal(r.n, 1);
    assert_same(r.observation[0].rounds, 1000);
    assert_nan(r.observation[0].running);
}

static void V0_may_leave_lines_of_speculation_out(void **state)
{
    (void)state;
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

static void the_interval_is_learned(void **state)
{
    (void)state;
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

/* More windows than are held, and more engines than have a place. */
static void many_windows_and_engines_are_bounded(void **state)
{
    (void)state;
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

/* ---- Malformed lines ------------------------------------------------------------------------- */

static void malformed_lines_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *line, *error;
    } cases[] = {
        {V1 "Draft acceptance rate: 100.0%, Accepted: 66 tokens\n",
         "x:1: SpecDecoding metrics: expected 'Drafted: N tokens' before the end; the line is cut"},
        {V1 "Mean acceptance length: 2.59, Accepted: 1590 tokens, Drafted: 3000 tokens, "
            "Per-position acceptance rate: 0.800, 0.500, 0.290\n",
         "x:1: SpecDecoding metrics: expected 'Avg Draft acceptance rate: N%' before the end; the "
         "line is cut"},
        {V1 "Draft acceptance rate: 50.0%, Accepted: 1 tokens, Drafted: 2 tok\n",
         "x:1: Drafted: expected 'tokens', not ' tok'"},
        {V1 "Mean acceptance length: 2.59, Accepted through" V1
            "Mean acceptance length: 2.59, Accepted: 1 tokens\n",
         "x:1: SpecDecoding metrics: expected a field such as 'Drafted: 295 tokens', not "
         "'Accepted throughSpecDeco'"},
        {V1 "Accepted: 1 tokens, Accepted: 1 tokens, Drafted: 2 tokens\n",
         "x:1: Accepted: occurs twice; two lines were written into each other"},
        {V1 "Draft acceptance rate: 50,0%, Accepted: 1 tokens, Drafted: 2 tokens\n",
         "x:1: Draft acceptance rate: expected a decimal point, not the comma of '50,0'; run the "
         "engine with LC_ALL=C"},
        {V0 "Draft acceptance rate: 0,607, System efficiency: 0,510\n",
         "x:1: Draft acceptance rate: expected a decimal point, not the comma of '0,6'; run the "
         "engine with LC_ALL=C"},
        {V1 "Draft acceptance rate: 50.0%, Accepted: -1 tokens, Drafted: 2 tokens\n",
         "x:1: Accepted: expected a whole number, not '-1 tokens, Drafted: 2 to'"},
        {V1 "Draft acceptance rate: 50.0%, Accepted: nan tokens, Drafted: 2 tokens\n",
         "x:1: Accepted: expected a whole number, not 'nan tokens, Drafted: 2 t'"},
        {V1 "Draft acceptance rate: 50.0%, Accepted: 9007199254740994 tokens, Drafted: 2 tokens\n",
         "x:1: Accepted: expected a number up to 2^53"},
        {V1 "Draft acceptance rate: 50.0%, Accepted: 3 tokens, Drafted: 2 tokens\n",
         "x:1: SpecDecoding metrics: 3 accepted of 2 drafted tokens contradicts the acceptance "
         "rate "
         "of 50%"},
        {V1 "Draft acceptance rate: 60.0%, Accepted: 1 tokens, Drafted: 2 tokens\n",
         "x:1: SpecDecoding metrics: 1 accepted of 2 drafted tokens contradicts the acceptance "
         "rate "
         "of 60%"},
        {V1 "Draft acceptance rate: 50.0%, Accepted: 1 tokens, Drafted: 2 tokens, Mean acceptance "
            "length: 3.10\n",
         "x:1: SpecDecoding metrics: no number of rounds agrees with 1 accepted and 2 drafted "
         "tokens and a mean acceptance length of 3.10"},
        {V1 "Draft acceptance rate: 50.0%, Accepted: 1 tokens, Drafted: 2 tokens, Mean acceptance "
            "length: 1.50, Per-position acceptance rate: nan\n",
         "x:1: SpecDecoding metrics: no number of rounds agrees with 1 accepted and 2 drafted "
         "tokens and a mean acceptance length of 1.50"},
        {V1 "Draft acceptance rate: 50.0%, Accepted: 1 tokens, Drafted: 2 tokens, Per-position "
            "acceptance rate: 0.500, 0.2\n",
         "x:1: Per-position acceptance rate: expected fractions of 3 decimals, not 0.2; the line "
         "is "
         "cut or has another one in it"},
        {V1 "Draft acceptance rate: 50.0%, Accepted: 1 tokens, Drafted: 2 tokens, Per-position "
            "acceptance rate: 1.500\n",
         "x:1: Per-position acceptance rate: expected fractions of 3 decimals, not 1.500; the line "
         "is cut or has another one in it"},
        {V1 "Accepted: 1 tokens, Drafted: 2 tokensINFO 05-01\n",
         "x:1: SpecDecoding metrics: expected the end of the line, not 'INFO 05-01'"},
        {V0 "Draft acceptance rate: 0.500\n",
         "x:1: Speculative metrics: expected ', System efficiency: ', not ''"},
        {V0 "Draft acceptance rate: 0.500, System efficiency: 0.667, Number of speculative tokens: "
            "2, Number of accepted tokens: 10, Number of draft tokens: 20, Number of emitted "
            "tokens: 2\n",
         "x:1: Number of emitted tokens: expected '.', not ''"},
        {V0 "Draft acceptance rate: 0.500, System efficiency: 0.667, Number of speculative tokens: "
            "65, Number of accepted tokens: 10, Number of draft tokens: 130, Number of emitted "
            "tokens: 20.\n",
         "x:1: Number of speculative tokens: expected 1 to 64, not 65"},
        {V0 "Draft acceptance rate: 0.500, System efficiency: 0.667, Number of speculative tokens: "
            "2, Number of accepted tokens: 10, Number of draft tokens: 21, Number of emitted "
            "tokens: 20.\n",
         "x:1: Number of draft tokens: expected a multiple of the 2 tokens of a round, not 21"},
        {V0 "Draft acceptance rate: 0.600, System efficiency: 0.667, Number of speculative tokens: "
            "2, Number of accepted tokens: 10, Number of draft tokens: 20, Number of emitted "
            "tokens: 20.\n",
         "x:1: Number of accepted tokens: 10 of 20 contradicts the acceptance rate of 0.6"},
        {V0 "Draft acceptance rate: 0.500, System efficiency: 0.667, Number of speculative tokens: "
            "2, Number of accepted tokens: 10, Number of draft tokens: 20, Number of emitted "
            "tokens: 9.\n",
         "x:1: Number of emitted tokens: 9 of 10 rounds contradicts K = 2 or the system efficiency "
         "of 0.667"},
        {"Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tok\n",
         "x:1: Avg generation throughput: expected 'tokens/s, Running: ', not ' tok'"},
        {"Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 2.0 tokens/s, Running: "
         "1.5 reqs\n",
         "x:1: Running: expected the end of the number, not '.5 reqs'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        read_lines_fails(&spec_reader_vllm_log, cases[i].line, GSL_EINVAL, cases[i].error);
}

/* Any beginning of a line is read or refused, and reads no byte beyond it. */
static void cut_lines_do_no_harm(void **state)
{
    (void)state;
    static const char *const lines[] = {ROUNDS_1000, ROUNDS_59, ENGINE("000", "0.0", "1.0", "1")};
    char cut[512];
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        for (size_t n = 0; n < strlen(lines[i]); n++) {
            snprintf(cut, sizeof cut, "%.*s", (int)n, lines[i]);
            read_lines_with(&r, &spec_reader_vllm_log, cut, -1);
            if (r.status != GSL_SUCCESS) assert_int_equal(strncmp(r.error.text, "x:1: ", 5), 0);
            if (i == 0 && n < strlen(lines[i]) - 1) assert_int_equal(r.n, 0);
        }
}

static void numbers_are_read_in_any_locale(void **state)
{
    (void)state;
    setlocale(LC_ALL, "de_DE.UTF-8");
    assert_rounds(only(ROUNDS_1000, -1), 3, 1000, 3000, 1590);
    setlocale(LC_ALL, "C");
}

static void other_lines_are_passed_over(void **state)
{
    (void)state;
    read_lines_of(&r, &spec_reader_vllm_log,
                  "INFO 05-01 14:24:50 [__init__.py:256] Automatically detected platform cuda.\n"
                  "Avg prompt throughput: of this machine\nspeculative metrics: none\n",
                  -1);
    assert_int_equal(r.n, 0);
    assert_int_equal(r.learned.generation, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alpha_of_V0_follows_from_emitted_tokens),
        cmocka_unit_test(seconds_of_V0_are_since_its_first_line),
        cmocka_unit_test(counts_alone_need_K),
        cmocka_unit_test(rounds_and_depths_are_recovered),
        cmocka_unit_test(zeros_behind_a_depth_are_read),
        cmocka_unit_test(lengths_without_depths_are_read),
        cmocka_unit_test(a_window_without_drafts_is_nan),
        cmocka_unit_test(lines_within_json_are_read),
        cmocka_unit_test(throughput_joins_the_speculation_behind_it),
        cmocka_unit_test(first_tokens_are_no_passes_without_a_draft),
        cmocka_unit_test(lines_without_a_process_join_those_of_any),
        cmocka_unit_test(idle_time_is_left_out),
        cmocka_unit_test(engines_are_told_apart),
        cmocka_unit_test(speculation_joins_the_last_line_before_it),
        cmocka_unit_test(counts_tell_the_interval),
        cmocka_unit_test(a_log_without_speculation_is_plain),
        cmocka_unit_test(windows_of_prefills_are_not_plain),
        cmocka_unit_test(counts_that_were_carried_leave_no_plain_window),
        cmocka_unit_test(V0_may_leave_lines_of_speculation_out),
        cmocka_unit_test(the_interval_is_learned),
        cmocka_unit_test(many_windows_and_engines_are_bounded),
        cmocka_unit_test(malformed_lines_are_refused),
        cmocka_unit_test(cut_lines_do_no_harm),
        cmocka_unit_test(numbers_are_read_in_any_locale),
        cmocka_unit_test(other_lines_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
