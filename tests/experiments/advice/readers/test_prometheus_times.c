/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/advice.h"
#include "experiments/advice/counter_differences.h"
#include "tests/experiments/advice/readers/prometheus_totals.h"

#define ITL "vllm:inter_token_latency_seconds"
#define TPOT "vllm:time_per_output_token_seconds"

/* 10 requests of 26 tokens, 4 at a time: each has one token of its prefill, and 10 passes that
 * verify 3 draft tokens and emit 25 together. A pass takes 20 ms. By the definitions, the time of
 * decoding is 10 times 10 passes of 20 ms. 26 steps have 100 passes and the prefills in them. */
#define TIMED(name)                                                                                \
    "vllm:spec_decode_num_drafts_total 100\nvllm:spec_decode_num_draft_tokens_total 300\n"         \
    "vllm:spec_decode_num_accepted_tokens_total 150\nvllm:generation_tokens_total 260\n" name      \
    "_bucket{le=\"0.025\"} 100\n" name "_bucket{le=\"+Inf\"} 100\n" name "_count 100\n" name       \
    "_sum 2.0\nvllm:time_to_first_token_seconds_count 10\nvllm:iteration_tokens_total_count 26\n"

static void latencies_of_vllm_are_the_time_of_its_passes(void **state)
{
    (void)state;
    static const char *const texts[] = {TIMED(ITL), TIMED(TPOT), TIMED(ITL) TPOT "_sum 2\n"};
    for (int i = 0; i < 3; i++) {
        const spec_observation *o = only(&spec_reader_prometheus_vllm, texts[i], 3);
        assert_counts(o, 3, (const double[]){100, 300, 150, NAN, 250});
        assert_same(o->busy, 2.0);
        assert_same(o->steps, 26);
        assert_nan(o->seconds);
        assert_int_equal(r.learned.gaps, SPEC_LOG_NO_DEPTHS);
        assert_string_equal(r.learned.note, "");
    }
    /* Passes are counted, so that a few without a draft are believed. */
    const spec_observation *o = only(
        &spec_reader_prometheus_vllm,
        "vllm:spec_decode_num_drafts_total 100\nvllm:spec_decode_num_draft_tokens_total 300\n"
        "vllm:spec_decode_num_accepted_tokens_total 150\nvllm:generation_tokens_total 255\n" ITL
        "_count 105\n" ITL "_sum 2.1\n",
        3);
    assert_counts(o, 3, (const double[]){100, 300, 150, 105, 255});
    /* Without counters of drafts all passes are of plain decoding. */
    o = only(&spec_reader_prometheus_vllm,
             "vllm:generation_tokens_total 260\nvllm:time_to_first_token_seconds_count 10\n" ITL
             "_count 250\n" ITL "_sum 4.5\nvllm:num_requests_running 0\n",
             -1);
    assert_counts(o, 0, (const double[]){0, 0, 0, 250, 250});
    assert_same(o->busy, 4.5);
    assert_int_equal(r.learned.gaps, 0);
    /* Latencies without tokens are no scrape. */
    read_lines_of(&r, &spec_reader_prometheus_vllm, ITL "_count 250\n" ITL "_sum 4.5\n", -1);
    assert_int_equal(r.n, 0);
    read_lines_fails(
        &spec_reader_prometheus_vllm,
        "vllm:generation_tokens_total 9\nvllm:time_to_first_token_seconds_count 10\n", GSL_EINVAL,
        "x:2: counters: 10 first tokens of requests exceed the 9 tokens of the output");
    read_lines_fails(&spec_reader_prometheus_vllm, ITL "_sum 1e300\n", GSL_EINVAL,
                     "x:1: " ITL "_sum: expected a number of 0 to 2^53, not 1e+300");
}

/* Scrapes before and after a run, each in a file of its own, of an engine that drafts 3 tokens and
 * of one that does not. Passes of 20 ms give 2.5 tokens, and plain ones of 18 ms one: the speed-up
 * is 2.5 times 18 / 20. No request runs at the time of a scrape. */
static void scrapes_before_and_after_give_a_speedup(void **state)
{
    (void)state;
#define PLAIN(tokens, first, count, sum, steps)                                                    \
    "vllm:num_requests_running 0\nvllm:generation_tokens_total " tokens                            \
    "\nvllm:time_to_first_token_seconds_count " first "\n" ITL "_count " count "\n" ITL            \
    "_sum " sum "\nvllm:iteration_tokens_total_count " steps "\n"
#define DRAFTS(rounds, drafted, accepted)                                                          \
    "vllm:spec_decode_num_drafts_total " rounds                                                    \
    "\nvllm:spec_decode_num_draft_tokens_total " drafted                                           \
    "\nvllm:spec_decode_num_accepted_tokens_total " accepted "\n"
    static const char *const files[] = {
        PLAIN("0", "0", "0", "0", "0") DRAFTS("0", "0", "0"),
        PLAIN("260", "10", "100", "2.0", "26") DRAFTS("100", "300", "150"),
        PLAIN("1000", "5", "995", "9", "995"),
        PLAIN("1260", "15", "1245", "13.5", "1058"),
    };
    spec_observed_sums sums = {0};
    spec_counter_differences differences = {.to = spec_observed_sums_observer(&sums)};
    const spec_observer to = spec_counter_differences_observer(&differences);
    for (int i = 0; i < 4; i++) {
        const spec_observation *o = only(&spec_reader_prometheus_vllm, files[i], 3);
        /* plain decoding is a run of its own, as behind --plain */
        if (i == 2) assert_int_equal(spec_counter_differences_end(&differences, NULL), GSL_SUCCESS);
        assert_int_equal(to.take(to.self, o, NULL), GSL_SUCCESS);
    }
    assert_int_equal(spec_counter_differences_end(&differences, NULL), GSL_SUCCESS);
    assert_int_equal(differences.averages, 0);
    assert_int_equal(sums.n, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sums.series[i].K, i == 0 ? 3 : 0);
        assert_int_equal(sums.series[i].batch, 3); /* 100 / 26 and 250 / 63 requests at a time */
        assert_near(sums.series[i].column[SPEC_SUM_BUSY], i == 0 ? 2.0 : 4.5, 1e-12);
        assert_same(sums.series[i].column[SPEC_SUM_BUSY_EMITTED], 250);
        assert_same(sums.series[i].column[SPEC_SUM_BUSY_ROUNDS], i == 0 ? 100 : 250);
    }
    const spec_advice_question question = SPEC_ADVICE_QUESTION;
    static spec_advice advice;
    assert_int_equal(spec_advice_of(&advice, &sums, NULL, &question, NULL), GSL_SUCCESS);
    assert_int_equal(advice.K, 3);
    for (int i = 0; i < advice.n; i++)
        if (advice.length[i].K == 3) assert_near(advice.length[i].speedup, 2.5 * 18 / 20, 1e-12);
    spec_counter_differences_free(&differences);
    spec_observed_sums_free(&sums);
}

/* Each sample of SGLang stands for a token. A request that does not stream is timed from its 50th
 * token on. */
static void latencies_of_sglang_count_where_they_are_of_all_tokens(void **state)
{
    (void)state;
#define SGLANG(count)                                                                              \
    "sglang:spec_verify_calls_total 100\nsglang:generation_tokens_total 260\n"                     \
    "sglang:spec_num_steps 3\nsglang:inter_token_latency_seconds_sum 2.0\n"                        \
    "sglang:inter_token_latency_seconds_count " count "\n"
    const spec_observation *o = only(&spec_reader_prometheus_sglang, SGLANG("250"), -1);
    assert_counts(o, 3, (const double[]){100, 300, 160, 100, 260});
    assert_same(o->busy, 2.0);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_DEPTHS);
    o = only(&spec_reader_prometheus_sglang, SGLANG("200"), -1);
    assert_nan(o->busy);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES);
}

static void a_comment_is_the_time_of_its_scrape(void **state)
{
    (void)state;
    read_lines_of(&r, &spec_reader_prometheus_llama,
                  "# time 1732690000.5\nllamacpp:tokens_predicted_total 10\n"
                  "# time 1732690010\nllamacpp:tokens_predicted_total 20\n"
                  "# time 1732690020\r\nllamacpp:tokens_predicted_total 30 1732690021000\n"
                  "llamacpp:tokens_predicted_total 40\n",
                  -1);
    static const double time[] = {1732690000.5, 1732690010, 1732690021, 1732690020};
    assert_int_equal(r.n, 4);
    for (int i = 0; i < 4; i++) assert_same(r.observation[i].time, time[i]);
    /* A new time begins a scrape, even where no series repeats. */
    read_lines_of(&r, &spec_reader_prometheus_vllm,
                  "vllm:generation_tokens_total 10\n# time 1732690010\n"
                  "vllm:num_requests_running 2\nvllm:generation_tokens_total 20\n",
                  -1);
    assert_int_equal(r.n, 2);
    assert_nan(r.observation[0].time);
    assert_nan(r.observation[0].running);
    assert_same(r.observation[1].time, 1732690010);
    static const char *const bad[] = {
        "12:30:05", "1732690000,5", "1732690000.N", "-5", "1732690000500", "1.7e9", "0", "1.", "."};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[80];
        snprintf(text, sizeof text, "# time %s\nsglang:generation_tokens_total 10\n", bad[i]);
        read_lines_fails(&spec_reader_prometheus_sglang, text, GSL_EINVAL,
                         "x:2: the comment '# time' above this line has no seconds since 1970; "
                         "write one with: echo \"# time $(date +%s)\"");
    }
    static const char *const other[] = {"# time 5 minutes", "# time",     "# time ",
                                        "# times 5",        "# time s 5", " # time 5"};
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        double seconds;
        assert_false(spec_time_comment(&seconds, other[i], strlen(other[i])));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(latencies_of_vllm_are_the_time_of_its_passes),
        cmocka_unit_test(scrapes_before_and_after_give_a_speedup),
        cmocka_unit_test(latencies_of_sglang_count_where_they_are_of_all_tokens),
        cmocka_unit_test(a_comment_is_the_time_of_its_scrape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
