/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/alpha.h"
#include "tests/support/read_lines.h"
#include "tests/support/support.h"
#include "tools/advise/advice.h"
#include "tools/advise/counter_differences.h"
#include "tools/advise/log_format.h"

static read_lines r;

static const spec_observation *only(const spec_log_format *format, const char *text, int K)
{
    const spec_observation *o = read_lines_only(&r, format, text, K);
    assert_int_equal(o->kind, SPEC_OBSERVED_TOTAL);
    return o;
}

/* ---- Counts ---------------------------------------------------------------------------------- */

/* In a log of V0 with the same numbers alpha is .655. */
TEST(K_of_vllm_V0_follows_from_its_efficiency)
{
#define V0(efficiency)                                                                             \
    "vllm:spec_decode_draft_acceptance_rate 0.606783\n"                                            \
    "vllm:spec_decode_efficiency " efficiency "\n"                                                 \
    "vllm:spec_decode_num_accepted_tokens_total 32594.0\n"                                         \
    "vllm:spec_decode_num_draft_tokens_total 53716.0\n"                                            \
    "vllm:spec_decode_num_emitted_tokens_total 34244.0\n"
    const spec_observation *o = only(&spec_reader_prometheus_vllm, V0("0.5100007446570854"), -1);
    assert_counts(o, 4, (const double[]){13429, 13429, 53716, 34244 - 13429, 34244});
    assert_prints(spec_alpha_from_emitted(o->emitted / o->rounds, o->K), 3, "0.655");
    assert_int_equal(r.learned.generation, 0);
    assert_int_equal(r.learned.gaps, SPEC_LOG_OLD_MEANING | SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES);
    /* A rounded efficiency: .598 * 13311 / 10616 is .7498. */
    o = only(&spec_reader_prometheus_vllm,
             "vllm:spec_decode_efficiency 0.598\n"
             "vllm:spec_decode_num_draft_tokens_total 13311.0\n"
             "vllm:spec_decode_num_emitted_tokens_total 10616.0\n",
             -1);
    assert_counts(o, 3, (const double[]){4437, 4437, 13311, 10616 - 4437, 10616});
    o = only(&spec_reader_prometheus_vllm, V0("0.3"), 4);
    assert_same(o->rounds, 13429);
    o = only(&spec_reader_prometheus_vllm, V0("0.3"), -1);
    assert_nan(o->rounds);
    assert_nan(o->accepted);
    assert_true((r.learned.gaps & SPEC_LOG_NO_ROUNDS) != 0);
}

TEST(sglang_counts_verify_calls)
{
    const spec_observation *o = only(&spec_reader_prometheus_sglang,
                                     "sglang:spec_verify_calls_total{model_name=\"m\"} 188.0\n"
                                     "sglang:generation_tokens_total{model_name=\"m\"} 199.0\n"
                                     "sglang:spec_accept_length{model_name=\"m\"} 1.06\n"
                                     "sglang:spec_accept_rate{model_name=\"m\"} 0.0117\n"
                                     "sglang:spec_num_steps{model_name=\"m\"} 5\n"
                                     "sglang:spec_num_draft_tokens{model_name=\"m\"} 6\n"
                                     "sglang:spec_cap_length{model_name=\"m\"} 0\n"
                                     "sglang:num_running_reqs{model_name=\"m\"} 2\n",
                                     -1);
    assert_counts(o, 5, (const double[]){188, 188, 940, 11, 199});
    assert_same(o->printed_length, 1.06);
    assert_same(o->printed_rate, 0.0117);
    assert_same(o->running, 2);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES);
    assert_string_equal(r.learned.note, "");
    o = only(&spec_reader_prometheus_sglang,
             "sglang:spec_verify_calls_total 10\nsglang:generation_tokens_total 20\n"
             "sglang:spec_num_steps 3\nsglang:spec_num_draft_tokens 16\n",
             -1);
    assert_true((r.learned.gaps & SPEC_LOG_TREE) != 0);
    o = only(&spec_reader_prometheus_sglang,
             "sglang:spec_accept_length 0.0\nsglang:generation_tokens_total 20\n", -1);
    assert_counts(o, 0, (const double[]){0, 20, 0, 0, 20});
}

TEST(gauges_of_sglang_alone_cannot_answer)
{
    read_lines_fails(&spec_reader_prometheus_sglang,
                     "sglang:generation_tokens_total 20\nsglang:spec_accept_length 2.5\n",
                     GSL_EUNSUP,
                     "x:2: sglang:spec_accept_length only covers the last interval, and cannot be "
                     "averaged without weights; without sglang:spec_verify_calls_total and "
                     "sglang:generation_tokens_total give the server's log instead");
    read_lines_fails(&spec_reader_prometheus_sglang,
                     "sglang:spec_verify_calls_total 30\nsglang:generation_tokens_total 20\n",
                     GSL_EINVAL, "x:2: counters: 20 generated tokens of 30 verify calls");
}

/* llama.cpp's D 87, A 70 55 42; 20 rounds had no draft. */
TEST(llama_counts_rounds_without_a_draft)
{
    static const char text[] =
        "llamacpp:tokens_predicted_total 274\nllamacpp:tokens_predicted_seconds_total 9.5\n"
        "llamacpp:requests_processing 0\nllamacpp:n_busy_slots_per_decode 1\n"
        "llamacpp:spec_decode_num_drafts_total 87\n"
        "llamacpp:spec_decode_num_draft_tokens_total 259\n"
        "llamacpp:spec_decode_num_accepted_tokens_total 167\n"
        "llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position=\"0\"} 70\n"
        "llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position=\"1\"} 55\n"
        "llamacpp:spec_decode_num_accepted_tokens_per_pos_total{position=\"2\"} 42\n";
    const spec_observation *o = only(&spec_reader_prometheus_llama, text, -1);
    assert_counts(o, 3, (const double[]){87, 107, 259, 167, 274});
    assert_same(o->busy, 9.5);
    assert_nan(o->seconds);
    assert_same(o->running, 1);
    assert_same(o->passed[2], 42);
    assert_int_equal(r.learned.gaps, 0);
    assert_int_equal(r.learned.generation, 1);
}

TEST(forks_of_llama_count_no_rounds)
{
    const spec_observation *o =
        only(&spec_reader_prometheus_llama,
             "llamacpp:tokens_predicted_total 200\nllamacpp:tokens_predicted_seconds_total 11\n"
             "llamacpp:n_busy_slots_per_decode 2.5\nllamacpp:n_drafted_total 347\n"
             "llamacpp:n_drafted_accepted_total 65\n",
             4);
    assert_int_equal(o->K, 4);
    assert_nan(o->rounds);
    assert_same(o->passes, 135);
    assert_same(o->busy, 11); /* over all slots together */
    assert_same(o->running, 2.5);
    assert_int_equal(r.learned.generation, 0);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_ROUNDS | SPEC_LOG_NO_DEPTHS);
    o = only(&spec_reader_prometheus_llama,
             "llamacpp:tokens_predicted_total 200\nllamacpp:tokens_predicted_seconds_total 11\n"
             "llamacpp:spec_decode_num_draft_tokens_total 0\n",
             -1);
    assert_counts(o, 0, (const double[]){0, 200, 0, 0, 200});
    assert_same(o->busy, 11);
    assert_nan(o->running);
}

TEST(tgi_is_refused)
{
    read_lines_fails(&spec_reader_prometheus_tgi,
                     "# TYPE tgi_request_skipped_tokens histogram\ntgi_batch_current_size 1\n"
                     "tgi_request_skipped_tokens_bucket{le=\"1\"} 7\n",
                     GSL_EUNSUP,
                     "x:3: tgi_request_skipped_tokens only has the last step of each request, a "
                     "biased sample; TGI counts no accepted tokens: measure tokens/s with and "
                     "without --speculate");
}

TEST(counters_may_contradict_one_another)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"vllm:spec_decode_num_drafts_total 10\nvllm:spec_decode_num_draft_tokens_total 20\n",
         "x:2: counters: expected vllm:spec_decode_num_accepted_tokens_total; the scrape is "
         "truncated"},
        {"vllm:spec_decode_num_drafts_total 10\n",
         "x:1: counters: expected vllm:spec_decode_num_draft_tokens_total; the scrape is "
         "truncated"},
        {"vllm:spec_decode_num_draft_tokens_total 10\n",
         "x:1: counters: expected vllm:spec_decode_num_drafts_total; the scrape is truncated"},
        {"vllm:spec_decode_num_drafts_total 10\nvllm:spec_decode_num_draft_tokens_total 20\n"
         "vllm:spec_decode_num_accepted_tokens_total 21\n",
         "x:3: counters: 21 accepted tokens exceed 20 drafted ones"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        read_lines_fails(&spec_reader_prometheus_vllm, cases[i].text, GSL_EINVAL, cases[i].error);
    read_lines_fails(&spec_reader_prometheus_llama,
                     "llamacpp:n_drafted_total 20\nllamacpp:n_accepted_total 10\n"
                     "llamacpp:tokens_predicted_total 9\n",
                     GSL_EINVAL,
                     "x:3: counters: 10 accepted tokens exceed the 9 tokens of the output");
    read_lines_fails(&spec_reader_prometheus_llama,
                     "llamacpp:spec_decode_num_draft_tokens_total 20\n", GSL_EINVAL,
                     "x:1: counters: expected llamacpp:spec_decode_num_accepted_tokens_total; the "
                     "scrape is truncated");
}

TEST(counters_of_V0_may_contradict_K)
{
    read_lines_with(&r, &spec_reader_prometheus_vllm, V0("0.3"), 3);
    assert_int_equal(r.status, GSL_EINVAL);
    assert_string_equal(r.error.text,
                        "x:5: counters: 53716 drafted and 34244 emitted tokens contradict K = 3");
}

/* ---- Times ----------------------------------------------------------------------------------- */

#define ITL "vllm:inter_token_latency_seconds"
#define TPOT "vllm:time_per_output_token_seconds"

/* 10 requests of 26 tokens, 4 at a time: each has one token of its prefill, and 10 passes that
 * verify 3 draft tokens and emit 25 together. A pass takes 20 ms. By the definitions, the time of
 * decoding is 10 times 10 passes of 20 ms. The 26 steps contain the 100 passes and the prefills. */
#define TIMED(name)                                                                                \
    "vllm:spec_decode_num_drafts_total 100\nvllm:spec_decode_num_draft_tokens_total 300\n"         \
    "vllm:spec_decode_num_accepted_tokens_total 150\nvllm:generation_tokens_total 260\n" name      \
    "_bucket{le=\"0.025\"} 100\n" name "_bucket{le=\"+Inf\"} 100\n" name "_count 100\n" name       \
    "_sum 2.0\nvllm:time_to_first_token_seconds_count 10\nvllm:iteration_tokens_total_count 26\n"

TEST(latencies_of_vllm_are_the_time_of_its_passes)
{
    static const char *const texts[] = {TIMED(ITL), TIMED(TPOT), TIMED(ITL) TPOT "_sum 2\n"};
    for (int i = 0; i < 3; i++) {
        const spec_observation *o = only(&spec_reader_prometheus_vllm, texts[i], 3);
        assert_counts(o, 3, (const double[]){100, NAN, 300, 150, 250});
        assert_same(o->busy, 2.0);
        assert_same(o->steps, 26);
        assert_nan(o->seconds);
        assert_int_equal(r.learned.gaps, SPEC_LOG_NO_DEPTHS);
        assert_string_equal(r.learned.note, "");
    }
    /* Passes are counted, so a few without a draft are believed. */
    const spec_observation *o = only(
        &spec_reader_prometheus_vllm,
        "vllm:spec_decode_num_drafts_total 100\nvllm:spec_decode_num_draft_tokens_total 300\n"
        "vllm:spec_decode_num_accepted_tokens_total 150\nvllm:generation_tokens_total 255\n" ITL
        "_count 105\n" ITL "_sum 2.1\n",
        3);
    assert_counts(o, 3, (const double[]){100, 105, 300, 150, 255});
    /* Without counters of drafts, all passes count as plain decoding. */
    o = only(&spec_reader_prometheus_vllm,
             "vllm:generation_tokens_total 260\nvllm:time_to_first_token_seconds_count 10\n" ITL
             "_count 250\n" ITL "_sum 4.5\nvllm:num_requests_running 0\n",
             -1);
    assert_counts(o, 0, (const double[]){0, 250, 0, 0, 250});
    assert_same(o->busy, 4.5);
    assert_int_equal(r.learned.gaps, 0);
    /* A scrape with latencies but no tokens is refused. */
    read_lines_of(&r, &spec_reader_prometheus_vllm, ITL "_count 250\n" ITL "_sum 4.5\n", -1);
    assert_int_equal(r.n, 0);
    read_lines_fails(
        &spec_reader_prometheus_vllm,
        "vllm:generation_tokens_total 9\nvllm:time_to_first_token_seconds_count 10\n", GSL_EINVAL,
        "x:2: counters: 10 first tokens of requests exceed the 9 tokens of the output");
    read_lines_fails(&spec_reader_prometheus_vllm, ITL "_sum 1e300\n", GSL_EINVAL,
                     "x:1: " ITL "_sum: expected a number of 0 to 2^53, not 1e+300");
}

/* In SGLang each sample stands for a token. A request that does not stream is timed from its 50th
 * token on. */
TEST(latencies_of_sglang_count_where_they_are_of_all_tokens)
{
#define SGLANG(count)                                                                              \
    "sglang:spec_verify_calls_total 100\nsglang:generation_tokens_total 260\n"                     \
    "sglang:spec_num_steps 3\nsglang:inter_token_latency_seconds_sum 2.0\n"                        \
    "sglang:inter_token_latency_seconds_count " count "\n"
    const spec_observation *o = only(&spec_reader_prometheus_sglang, SGLANG("250"), -1);
    assert_counts(o, 3, (const double[]){100, 100, 300, 160, 260});
    assert_same(o->busy, 2.0);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_DEPTHS);
    o = only(&spec_reader_prometheus_sglang, SGLANG("200"), -1);
    assert_nan(o->busy);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES);
}

/* Scrapes before and after a run, each in a file of its own, of an engine that drafts 3 tokens and
 * of one that does not. A pass takes 20 ms and gives 2.5 tokens, and a plain one takes 18 ms and
 * gives one, so the speed-up is 2.5 times 18 / 20. No request runs at the time of a scrape. */
TEST(scrapes_before_and_after_give_a_speedup)
{
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
    OWNED(spec_observed_sums) sums = {0};
    OWNED(spec_counter_differences) differences = {.to = spec_observed_sums_observer(&sums)};
    const spec_observer to = spec_counter_differences_observer(&differences);
    for (int i = 0; i < 4; i++) {
        const spec_observation *o = only(&spec_reader_prometheus_vllm, files[i], 3);
        /* plain decoding is a separate run, as after --plain */
        if (i == 2) assert_int_equal(spec_counter_differences_end(&differences, NULL), GSL_SUCCESS);
        assert_int_equal(to.take(to.self, o, NULL), GSL_SUCCESS);
    }
    assert_int_equal(spec_counter_differences_end(&differences, NULL), GSL_SUCCESS);
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
        if (advice.length[i].K == 3)
            assert_near(advice.length[i].speedup.value, 2.5 * 18 / 20, 1e-12);
}
