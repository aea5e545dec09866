/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/alpha.h"
#include "tests/support/support.h"
#include "tests/tools/advise/readers/vllm_log.h"

#include <locale.h>

/* Logs that users of vLLM 0.4 to 0.8 posted; alphas computed from rounds and emitted tokens with
 * another program. */
TEST(alpha_of_V0_follows_from_emitted_tokens)
{
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

/* Early versions say "tokens tokens". */
TEST(both_spellings_of_V0_are_read)
{
    const spec_observation *o =
        only(V0 "Draft acceptance rate: 0.642, System efficiency: 0.598, Number of speculative "
                "tokens: 3, Number of accepted tokens: 8547, Number of draft tokens tokens: 13311, "
                "Number of emitted tokens tokens: 10616.\n",
             -1);
    assert_int_equal(o->kind, SPEC_OBSERVED_TOTAL);
    assert_rounds(o, 3, 4437, 13311, 6179);
    assert_same(o->emitted, 10616);
}

/* The first line of V1, of an interval, as a fraction (vLLM pull request 15902). */
TEST(the_first_line_of_V1_has_the_words_of_V0)
{
    static const char line[] = V0 "Draft acceptance rate: 0.500, Number of accepted tokens: 33, "
                                  "Number of draft tokens: 66, \n";
    const spec_observation *o = only(line, 3);
    assert_int_equal(o->kind, SPEC_OBSERVED_WINDOW);
    assert_rounds(o, 3, 22, 66, 33);
    assert_same(o->printed_rate, 0.5);
    assert_int_equal(r.learned.generation, 1);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_ROUNDS | SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES);
    assert_int_equal(only(line, -1)->K, -1);
    read_lines_fails(&spec_reader_vllm_log,
                     V0 "Draft acceptance rate: 0.600, Number of accepted tokens: 33, Number of "
                        "draft tokens: 66, \n",
                     GSL_EINVAL,
                     "x:1: Speculative metrics: 33 accepted of 66 drafted tokens contradicts the "
                     "acceptance rate of 0.6");
}

TEST(counts_alone_need_K)
{
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

TEST(rounds_and_depths_are_recovered)
{
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
TEST(zeros_behind_a_depth_are_read)
{
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

TEST(lengths_without_depths_are_read)
{
    const spec_observation *o =
        only(V1 "Draft acceptance rate: 80.0%, Accepted: 8 tokens, Drafted: "
                "10 tokens, Mean acceptance length: 2.60\n",
             2);
    assert_rounds(o, 2, 5, 10, 8);
    assert_int_equal(o->depths, 0);
    assert_int_equal(r.learned.generation, 2);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES);
}

TEST(a_window_without_drafts_is_nan)
{
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

TEST(malformed_lines_are_refused)
{
    static const struct {
        const char *line, *error;
    } cases[] = {
        {V1 "Draft acceptance rate: 100.0%, Accepted: 66 tokens\n",
         "x:1: SpecDecoding metrics: expected 'Drafted: ' before the end; the line is truncated"},
        {V1 "Mean acceptance length: 2.59, Accepted: 1590 tokens, Drafted: 3000 tokens, "
            "Per-position acceptance rate: 0.800, 0.500, 0.290\n",
         "x:1: SpecDecoding metrics: expected 'Avg Draft acceptance rate: ' before the end; the "
         "line is truncated"},
        {V1 "Draft acceptance rate: 50.0%, Accepted: 1 tokens, Drafted: 2 tok\n",
         "x:1: Drafted: expected 'tokens', not ' tok'"},
        {V1 "Mean acceptance length: 2.59, Accepted through" V1
            "Mean acceptance length: 2.59, Accepted: 1 tokens\n",
         "x:1: SpecDecoding metrics: expected a field such as 'Accepted: ', not 'Accepted "
         "through'"},
        {V1 "Accepted: 1 tokens, Accepted: 1 tokens, Drafted: 2 tokens\n",
         "x:1: Accepted: occurs twice; two lines are mixed up"},
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
         "is truncated or has another one in it"},
        {V1 "Draft acceptance rate: 50.0%, Accepted: 1 tokens, Drafted: 2 tokens, Per-position "
            "acceptance rate: 1.500\n",
         "x:1: Per-position acceptance rate: expected fractions of 3 decimals, not 1.500; the line "
         "is truncated or has another one in it"},
        {V1 "Accepted: 1 tokens, Drafted: 2 tokensINFO 05-01\n",
         "x:1: Drafted: expected 'tokens', not ' tokensINFO 05-01'"},
        {V0 "Draft acceptance rate: 0.500\n",
         "x:1: Speculative metrics: expected 'Number of accepted tokens: ' before the end; the "
         "line is truncated"},
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
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        read_lines_fails(&spec_reader_vllm_log, cases[i].line, GSL_EINVAL, cases[i].error);
}

/* Any beginning of a line is read or refused, and no byte beyond it is read. */
TEST(cut_lines_do_no_harm)
{
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

TEST(numbers_are_read_in_any_locale)
{
    setlocale(LC_ALL, "de_DE.UTF-8");
    assert_rounds(only(ROUNDS_1000, -1), 3, 1000, 3000, 1590);
    setlocale(LC_ALL, "C");
}
