/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/alpha.h"
#include "experiments/advice/advice.h"
#include "experiments/advice/counter_differences.h"
#include "experiments/advice/readers/prometheus_sample.h"
#include "experiments/advice/readers/readers.h"
#include "tests/support/read_lines.h"

#include <locale.h>

#define VLLM(name, labels, value) "vllm:" name "{model_name=\"m\"" labels "} " value "\n"
/* 1000 rounds of 3 tokens. */
#define SCRAPE(engine, stamp)                                                                      \
    "# HELP vllm:spec_decode_num_drafts_total Number of spec decoding drafts.\n"                   \
    "# TYPE vllm:spec_decode_num_drafts_total counter\n" VLLM("spec_decode_num_drafts_total",      \
                                                              engine, "1000.0" stamp)              \
        VLLM("spec_decode_num_drafts_created", engine,                                             \
             "1.7e+09" stamp) VLLM("spec_decode_num_draft_tokens_total", engine, "3000.0" stamp)   \
            VLLM("spec_decode_num_accepted_tokens_total", engine, "1590.0" stamp) VLLM(            \
                "spec_decode_num_accepted_tokens_per_pos_total", engine ",position=\"0\"",         \
                "800.0" stamp) VLLM("spec_decode_num_accepted_tokens_per_pos_total",               \
                                    engine ",position=\"1\"", "500.0" stamp)                       \
                VLLM("spec_decode_num_accepted_tokens_per_pos_total", engine ",position=\"2\"",    \
                     "290.0" stamp) VLLM("generation_tokens_total", engine, "2.6e+03" stamp)       \
                    VLLM("num_requests_running", engine,                                           \
                         "4.0" stamp) "python_gc_objects_collected_total{generation=\"0\"} 5.0\n"  \
                                      "process_start_time_seconds 1.7e+09\n"

static read_lines r;

static const spec_observation *only(const spec_log_format *format, const char *text, int K)
{
    read_lines_of(&r, format, text, K);
    assert_int_equal(r.n, 1);
    assert_int_equal(r.observation[0].kind, SPEC_OBSERVED_TOTAL);
    return &r.observation[0];
}

static void assert_counts(const spec_observation *o, int K, const double counts[5])
{
    assert_int_equal(o->K, K);
    assert_same(o->rounds, counts[0]);
    assert_same(o->rounds_low, counts[0]);
    assert_same(o->rounds_high, counts[0]);
    assert_same(o->drafted, counts[1]);
    assert_same(o->accepted, counts[2]);
    assert_same(o->passes, counts[3]);
    assert_same(o->emitted, counts[4]);
}

/* ---- Samples --------------------------------------------------------------------------------- */

static spec_prometheus_sample sample(const char *text)
{
    spec_error error = {""};
    spec_prometheus_sample s;
    const spec_log_record record = {.bytes = text, .n = strlen(text), .file = "x", .line = 1};
    if (spec_prometheus_sample_read(&s, &record, &error) != GSL_SUCCESS) fail_msg("%s", error.text);
    return s;
}

static void numbers_have_all_forms(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } cases[] = {{"a 0", 0},
                 {"a -1.5", -1.5},
                 {"a\t+2", 2},
                 {"a 1.234567e+06", 1234567},
                 {"a 9.007199254740992e+15 ", 0x1p53},
                 {"a 5E-3", 0.005},
                 {"a .25", 0.25},
                 {"a 1.", 1},
                 {"a 12345678901234567890123", 12345678901234567890123.0},
                 {"a 0.1\r", 0.1},
                 {"a 1e999", INFINITY},
                 {"a 1e-999", 0},
                 {"a 1e99999999999999999999", INFINITY},
                 {"a NaN", NAN},
                 {"a +Inf", INFINITY},
                 {"a -Inf", -INFINITY},
                 {"a 3 # {trace_id=\"x\"} 0.67", 3}};
    setlocale(LC_ALL, "de_DE.UTF-8");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        near_check(sample(cases[i].text).value, cases[i].value, 1e-15 * fabs(cases[i].value),
                   cases[i].text, __FILE__, __LINE__);
    setlocale(LC_ALL, "C");
    assert_same(sample("a{} 1 1700000000500").stamp, 1700000000.5);
    assert_nan(sample("a 1").stamp);
}

static void labels_become_hashes(void **state)
{
    (void)state;
    const spec_prometheus_sample a = sample("a{model_name=\"m\",engine=\"0\"} 1");
    const spec_prometheus_sample b = sample("a{engine=\"0\", model_name=\"m\", } 1");
    const spec_prometheus_sample c = sample("a{engine=\"1\",model_name=\"m\"} 1");
    const spec_prometheus_sample d = sample("a{engine=\"1\",model_name=\"m\",rank=\"\\\"}\"} 1");
    const spec_prometheus_sample e = sample("a{position=\"12\",rank=\"2\"} 1");
    assert_true(a.label == b.label && a.series == b.series);
    assert_true(a.label != c.label && a.series != c.series);
    assert_true(d.label == c.label && d.series != c.series);
    assert_int_equal(e.label, 0);
    assert_int_equal(e.position, 12);
    assert_int_equal(a.position, -1);
    assert_true(e.series == sample("a{rank=\"2\",position=\"1\"} 1").series);
    assert_true(e.series != sample("b{rank=\"2\",position=\"1\"} 1").series);
}

/* ---- vLLM ------------------------------------------------------------------------------------ */

static void a_scrape_of_vllm_is_a_total(void **state)
{
    (void)state;
    const spec_observation *o = only(&spec_reader_prometheus_vllm, SCRAPE(",engine=\"0\"", ""), -1);
    assert_counts(o, 3, (const double[]){1000, 3000, 1590, NAN, 2600});
    assert_int_equal(o->depths, 3);
    assert_same(o->passed[0], 800);
    assert_same(o->passed[1], 500);
    assert_same(o->passed[2], 290);
    assert_same(o->running, 4);
    assert_nan(o->seconds);
    assert_true(o->label != 0);
    assert_int_equal(o->line, 11);
    assert_int_equal(r.learned.generation, 1);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_TIMES);
    assert_string_equal(r.learned.note, "");
    /* Names without _total, too. */
    o = only(&spec_reader_prometheus_vllm,
             "vllm:spec_decode_num_drafts 10\nvllm:spec_decode_num_draft_tokens 20\n"
             "vllm:spec_decode_num_accepted_tokens 5\nvllm:generation_tokens 40\n",
             2);
    assert_counts(o, 2, (const double[]){10, 20, 5, 35, 40}); /* 25 passes without a draft */
    assert_int_equal(o->label, 0);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_TIMES | SPEC_LOG_NO_DEPTHS);
}

static void scrapes_and_engines_of_a_file_are_told_apart(void **state)
{
    (void)state;
    static const char *const scrapes[] = {
        SCRAPE(",engine=\"0\"", " 5000"),  SCRAPE(",engine=\"1\"", " 5000"),
        SCRAPE(",engine=\"0\"", " 20000"), SCRAPE(",engine=\"1\"", " 20000"),
        SCRAPE(",engine=\"0\"", " 35000"),
    };
    char text[8000] = "";
    for (int i = 0; i < 5; i++) strcat(text, scrapes[i]);
    read_lines_of(&r, &spec_reader_prometheus_vllm, text, -1);
    static const double time[] = {5, 5, 20, 20, 35};
    assert_int_equal(r.n, 5);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(r.observation[i].label, r.observation[i % 2].label);
        assert_same(r.observation[i].rounds, 1000);
        assert_same(r.observation[i].time, time[i]);
        assert_nan(r.observation[i].seconds);
    }
    assert_true(r.observation[0].label != r.observation[1].label);
    assert_int_equal(r.learned.gaps, 0);
    /* Engines print each name for all engines. */
    read_lines_of(
        &r, &spec_reader_prometheus_vllm,
        "vllm:generation_tokens{engine=\"0\"} 1\nvllm:generation_tokens{engine=\"1\"} 2\n"
        "vllm:num_requests_running{engine=\"0\"} 3\n"
        "vllm:num_requests_running{engine=\"1\"} 4\n"
        "vllm:generation_tokens{engine=\"0\"} 5\nvllm:generation_tokens{engine=\"1\"} 6\n",
        -1);
    static const double emitted[] = {1, 2, 5, 6}, running[] = {3, 4, NAN, NAN};
    assert_int_equal(r.n, 4);
    for (int i = 0; i < 4; i++) {
        assert_same(r.observation[i].emitted, emitted[i]);
        assert_same(r.observation[i].running, running[i]);
    }
}

static void a_time_of_creation_gives_seconds(void **state)
{
    (void)state;
    const spec_observation *o = only(&spec_reader_prometheus_vllm,
                                     "vllm:generation_tokens_created 1000\n"
                                     "vllm:generation_tokens_total 500 1100500\n",
                                     -1);
    assert_counts(o, 0, (const double[]){0, 0, 0, 500, 500});
    assert_same(o->seconds, 100.5);
    assert_same(o->time, 1100.5);
    /* A stamp is of its own scrape. */
    read_lines_of(&r, &spec_reader_prometheus_vllm,
                  "vllm:generation_tokens_created 1000\n"
                  "vllm:generation_tokens_total 500 1100500\nvllm:generation_tokens_total 600\n",
                  -1);
    assert_int_equal(r.n, 2);
    assert_nan(r.observation[1].seconds);
    assert_nan(r.observation[1].time);
}

static void a_second_rank_of_an_engine_does_not_begin_a_scrape(void **state)
{
    (void)state;
    const spec_observation *o = only(&spec_reader_prometheus_sglang,
                                     "sglang:spec_verify_calls_total{tp_rank=\"0\"} 188\n"
                                     "sglang:spec_verify_calls_total{tp_rank=\"1\"} 189\n"
                                     "sglang:generation_tokens_total 199\n"
                                     "sglang:spec_accept_length 1.06\n",
                                     -1);
    assert_same(o->rounds, 188);
}

/* A log of V0 with the same numbers has alpha = .655. */
static void K_of_vllm_V0_follows_from_its_efficiency(void **state)
{
    (void)state;
#define V0(efficiency)                                                                             \
    VLLM("spec_decode_draft_acceptance_rate", "", "0.606783")                                      \
    VLLM("spec_decode_efficiency", "", efficiency)                                                 \
    VLLM("spec_decode_num_accepted_tokens_total", "", "32594.0")                                   \
    VLLM("spec_decode_num_draft_tokens_total", "", "53716.0")                                      \
    VLLM("spec_decode_num_emitted_tokens_total", "", "34244.0")
    const spec_observation *o = only(&spec_reader_prometheus_vllm, V0("0.5100007446570854"), -1);
    assert_counts(o, 4, (const double[]){13429, 53716, 34244 - 13429, 13429, 34244});
    assert_prints(spec_alpha_from_emitted(o->emitted / o->rounds, o->K), 3, "0.655");
    assert_int_equal(r.learned.generation, 0);
    assert_int_equal(r.learned.gaps, SPEC_LOG_OLD_MEANING | SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES);
    o = only(&spec_reader_prometheus_vllm, V0("0.3"), 4);
    assert_same(o->rounds, 13429);
    o = only(&spec_reader_prometheus_vllm, V0("0.3"), -1);
    assert_nan(o->rounds);
    assert_nan(o->accepted);
    assert_true((r.learned.gaps & SPEC_LOG_NO_ROUNDS) != 0);
}

static void names_that_are_not_known_are_in_the_note(void **state)
{
    (void)state;
    char text[2000] = "";
    for (int i = 0; i < 20; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "vllm:spec_decode_new_%d_bucket{le=\"1\"} 1\nvllm:e2e_request_latency 1\n", i / 2);
    read_lines_of(&r, &spec_reader_prometheus_vllm, text, -1);
    assert_int_equal(r.n, 0);
    assert_string_equal(r.learned.note,
                        "counters that are not known: vllm:spec_decode_new_0_bucket, "
                        "vllm:spec_decode_new_1_bucket, vllm:spec_decode_new_2_bucket, "
                        "vllm:spec_decode_new_3_bucket");
}

/* ---- SGLang ---------------------------------------------------------------------------------- */

static void sglang_counts_verify_calls(void **state)
{
    (void)state;
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
    assert_counts(o, 5, (const double[]){188, 940, 11, 188, 199});
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
    assert_counts(o, 0, (const double[]){0, 0, 0, 20, 20});
}

static void gauges_of_sglang_alone_cannot_answer(void **state)
{
    (void)state;
    read_lines_fails(&spec_reader_prometheus_sglang,
                     "sglang:generation_tokens_total 20\nsglang:spec_accept_length 2.5\n",
                     GSL_EUNSUP,
                     "x:2: sglang:spec_accept_length is of the last interval alone, and a mean of "
                     "it has no weights; without sglang:spec_verify_calls_total and "
                     "sglang:generation_tokens_total give the server's log instead");
    read_lines_fails(&spec_reader_prometheus_sglang,
                     "sglang:spec_verify_calls_total 30\nsglang:generation_tokens_total 20\n",
                     GSL_EINVAL, "x:2: counters: 20 generated tokens of 30 verify calls");
}

/* ---- llama.cpp ------------------------------------------------------------------------------- */

/* D 87: A 70 55 42 of llama.cpp; 20 rounds had no draft. */
static void llama_counts_rounds_without_a_draft(void **state)
{
    (void)state;
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
    assert_counts(o, 3, (const double[]){87, 259, 167, 107, 274});
    assert_same(o->busy, 9.5);
    assert_nan(o->seconds);
    assert_same(o->running, 1);
    assert_same(o->passed[2], 42);
    assert_int_equal(r.learned.gaps, 0);
    assert_int_equal(r.learned.generation, 1);
}

static void forks_of_llama_count_no_rounds(void **state)
{
    (void)state;
    const spec_observation *o =
        only(&spec_reader_prometheus_llama,
             "llamacpp:tokens_predicted_total 200\nllamacpp:tokens_predicted_seconds_total 11\n"
             "llamacpp:n_busy_slots_per_decode 2.5\nllamacpp:n_drafted_total 347\n"
             "llamacpp:n_drafted_accepted_total 65\n",
             4);
    assert_int_equal(o->K, 4);
    assert_nan(o->rounds);
    assert_same(o->passes, 135);
    assert_same(o->busy, 11); /* of all slots together */
    assert_same(o->running, 2.5);
    assert_int_equal(r.learned.generation, 0);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_ROUNDS | SPEC_LOG_NO_DEPTHS);
    o = only(&spec_reader_prometheus_llama,
             "llamacpp:tokens_predicted_total 200\nllamacpp:tokens_predicted_seconds_total 11\n"
             "llamacpp:spec_decode_num_draft_tokens_total 0\n",
             -1);
    assert_counts(o, 0, (const double[]){0, 0, 0, 200, 200});
    assert_same(o->busy, 11);
    assert_nan(o->running);
}

static void tgi_is_refused(void **state)
{
    (void)state;
    read_lines_fails(&spec_reader_prometheus_tgi,
                     "# TYPE tgi_request_skipped_tokens histogram\ntgi_batch_current_size 1\n"
                     "tgi_request_skipped_tokens_bucket{le=\"1\"} 7\n",
                     GSL_EUNSUP,
                     "x:3: tgi_request_skipped_tokens has the last step of each request alone, a "
                     "biased sample; TGI counts no accepted tokens: measure tokens/s with and "
                     "without --speculate");
}

/* ---- Times ----------------------------------------------------------------------------------- */

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

/* ---- Malformed ------------------------------------------------------------------------------- */

static void malformed_samples_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"vllm:generation_tokens_total{model_name=\"m\n",
         "x:1: Prometheus sample: expected '\"' behind a label; the line is cut, not ''"},
        {"vllm:generation_tokens_total{model_name=\"m\"\n",
         "x:1: Prometheus sample: expected ',' or '}' behind a label, not ''"},
        {"vllm:generation_tokens_total{model_name\n",
         "x:1: Prometheus sample: expected '=\"', not ''"},
        {"vllm:generation_tokens_total{\"m\"} 1\n",
         "x:1: Prometheus sample: expected a label or '}', not '\"m\"} 1'"},
        {"vllm:generation_tokens_total{} \n",
         "x:1: Prometheus sample: expected a number; the line is cut or has another one in it, not "
         "''"},
        {"vllm:generation_tokens_total 1e+\n",
         "x:1: Prometheus sample: expected a number; the line is cut or has another one in it, not "
         "'1e+'"},
        {"vllm:generation_tokens_total 12vllm:x 1\n",
         "x:1: Prometheus sample: expected a number; the line is cut or has another one in it, not "
         "'12vllm:x 1'"},
        {"vllm:generation_tokens_total 1 2x\n",
         "x:1: Prometheus sample: expected a number; the line is cut or has another one in it, not "
         "'2x'"},
        {"vllm:num_requests_running 12,5\n",
         "x:1: Prometheus sample: expected a decimal point in place of the comma, not '12,5'"},
        {"vllm:generation_tokens_total -1\n",
         "x:1: vllm:generation_tokens_total: expected a whole number up to 2^53, not -1"},
        {"vllm:generation_tokens_total 1.5\n",
         "x:1: vllm:generation_tokens_total: expected a whole number up to 2^53, not 1.5"},
        {"vllm:generation_tokens_total 9007199254740994\n",
         "x:1: vllm:generation_tokens_total: expected a whole number up to 2^53, not "
         "9007199254740994"},
        {"vllm:generation_tokens_total NaN\n",
         "x:1: vllm:generation_tokens_total: expected a whole number up to 2^53, not nan"},
        {"vllm:num_requests_running -1\n",
         "x:1: vllm:num_requests_running: expected a number of 0 to 2^53, not -1"},
        {"vllm:num_requests_running +Inf\n",
         "x:1: vllm:num_requests_running: expected a number of 0 to 2^53, not inf"},
        {"vllm:spec_decode_num_accepted_tokens_per_pos_total 1\n",
         "x:1: vllm:spec_decode_num_accepted_tokens_per_pos_total: expected a position of 0 to 63"},
        {"vllm:spec_decode_num_accepted_tokens_per_pos_total{position=\"64\"} 1\n",
         "x:1: vllm:spec_decode_num_accepted_tokens_per_pos_total: expected a position of 0 to 63"},
        {"vllm:spec_decode_num_accepted_tokens_per_pos_total{position=\"-1\"} 1\n",
         "x:1: Prometheus sample: expected a whole number as position, not '-1\"} 1'"},
        {"vllm:spec_decode_num_accepted_tokens_per_pos_total{position=\"1\"} 1\n",
         "x:1: counters of accepted tokens by position: expected positions from 0 on without gaps"},
        {"vllm:spec_decode_num_drafts_total 10\nvllm:spec_decode_num_draft_tokens_total 20\n",
         "x:2: counters: expected vllm:spec_decode_num_accepted_tokens_total; the scrape is cut"},
        {"vllm:spec_decode_num_drafts_total 10\n",
         "x:1: counters: expected vllm:spec_decode_num_draft_tokens_total; the scrape is cut"},
        {"vllm:spec_decode_num_draft_tokens_total 10\n",
         "x:1: counters: expected vllm:spec_decode_num_drafts_total; the scrape is cut"},
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
                     "scrape is cut");
}

static void counters_of_V0_may_contradict_K(void **state)
{
    (void)state;
    read_lines_with(&r, &spec_reader_prometheus_vllm, V0("0.3"), 3);
    assert_int_equal(r.status, GSL_EINVAL);
    assert_string_equal(r.error.text,
                        "x:5: counters: 53716 drafted and 34244 emitted tokens contradict K = 3");
}

static void engines_are_bounded(void **state)
{
    (void)state;
    enum { ENGINES = 257 };
    char *text = malloc(ENGINES * 80), *at = text;
    for (int i = 0; i < ENGINES; i++)
        at += sprintf(at, "vllm:generation_tokens_total{engine=\"%d\"} 1\n", i);
    read_lines_fails(&spec_reader_prometheus_vllm, text, GSL_EINVAL,
                     "x:257: counters of more than 256 engines and models; give fewer at a time");
    *strstr(text, "vllm:generation_tokens_total{engine=\"256\"}") = '\0';
    read_lines_of(&r, &spec_reader_prometheus_vllm, text, -1);
    assert_int_equal(r.n, 256);
    free(text);
}

/* Any beginning of a sample is read or refused, and reads no byte beyond it. */
static void cut_samples_do_no_harm(void **state)
{
    (void)state;
    static const char line[] = "vllm:spec_decode_num_accepted_tokens_per_pos_total{model_name=\"a\\"
                               "\"b\",engine=\"0\",position=\"0\"} 1.25e+03 1700000000000";
    char cut[sizeof line];
    for (size_t n = 0; n < sizeof line; n++) {
        snprintf(cut, sizeof cut, "%.*s", (int)n, line);
        read_lines_with(&r, &spec_reader_prometheus_vllm, cut, -1);
    }
}

static void other_lines_are_passed_over(void **state)
{
    (void)state;
    read_lines_of(&r, &spec_reader_prometheus_vllm,
                  "vllm: error: unrecognized arguments\nvllm:\nvllm:x\nvllm:x y\n# vllm:x 1\n", -1);
    assert_int_equal(r.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_have_all_forms),
        cmocka_unit_test(labels_become_hashes),
        cmocka_unit_test(a_scrape_of_vllm_is_a_total),
        cmocka_unit_test(scrapes_and_engines_of_a_file_are_told_apart),
        cmocka_unit_test(a_time_of_creation_gives_seconds),
        cmocka_unit_test(a_second_rank_of_an_engine_does_not_begin_a_scrape),
        cmocka_unit_test(K_of_vllm_V0_follows_from_its_efficiency),
        cmocka_unit_test(names_that_are_not_known_are_in_the_note),
        cmocka_unit_test(sglang_counts_verify_calls),
        cmocka_unit_test(gauges_of_sglang_alone_cannot_answer),
        cmocka_unit_test(llama_counts_rounds_without_a_draft),
        cmocka_unit_test(forks_of_llama_count_no_rounds),
        cmocka_unit_test(tgi_is_refused),
        cmocka_unit_test(latencies_of_vllm_are_the_time_of_its_passes),
        cmocka_unit_test(scrapes_before_and_after_give_a_speedup),
        cmocka_unit_test(latencies_of_sglang_count_where_they_are_of_all_tokens),
        cmocka_unit_test(a_comment_is_the_time_of_its_scrape),
        cmocka_unit_test(malformed_samples_are_refused),
        cmocka_unit_test(counters_of_V0_may_contradict_K),
        cmocka_unit_test(engines_are_bounded),
        cmocka_unit_test(cut_samples_do_no_harm),
        cmocka_unit_test(other_lines_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
