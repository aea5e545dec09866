/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/readers/prometheus_scrape.h"

#include "tests/support/read_lines.h"
#include "tests/support/support.h"
#include "tools/advise/log_format.h"

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
    const spec_observation *o = read_lines_only(&r, format, text, K);
    assert_int_equal(o->kind, SPEC_OBSERVED_TOTAL);
    return o;
}

TEST(a_scrape_of_vllm_is_a_total)
{
    const spec_observation *o = only(&spec_reader_prometheus_vllm, SCRAPE(",engine=\"0\"", ""), -1);
    assert_counts(o, 3, (const double[]){1000, NAN, 3000, 1590, 2600});
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
    /* Names are also accepted without _total. */
    o = only(&spec_reader_prometheus_vllm,
             "vllm:spec_decode_num_drafts 10\nvllm:spec_decode_num_draft_tokens 20\n"
             "vllm:spec_decode_num_accepted_tokens 5\nvllm:generation_tokens 40\n",
             2);
    assert_counts(o, 2, (const double[]){10, 35, 20, 5, 40}); /* 25 passes without a draft */
    assert_int_equal(o->label, 0);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_TIMES | SPEC_LOG_NO_DEPTHS);
}

TEST(scrapes_and_engines_of_a_file_are_told_apart)
{
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
    /* Each name is printed for all engines in turn. */
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

TEST(a_second_rank_of_an_engine_does_not_begin_a_scrape)
{
    const spec_observation *o = only(&spec_reader_prometheus_sglang,
                                     "sglang:spec_verify_calls_total{tp_rank=\"0\"} 188\n"
                                     "sglang:spec_verify_calls_total{tp_rank=\"1\"} 189\n"
                                     "sglang:generation_tokens_total 199\n"
                                     "sglang:spec_accept_length 1.06\n",
                                     -1);
    assert_same(o->rounds, 188);
}

TEST(a_time_of_creation_gives_seconds)
{
    const spec_observation *o = only(&spec_reader_prometheus_vllm,
                                     "vllm:generation_tokens_created 1000\n"
                                     "vllm:generation_tokens_total 500 1100500\n",
                                     -1);
    assert_counts(o, 0, (const double[]){0, 500, 0, 0, 500});
    assert_same(o->seconds, 100.5);
    assert_same(o->time, 1100.5);
    /* A time stamp belongs to its own scrape. */
    read_lines_of(&r, &spec_reader_prometheus_vllm,
                  "vllm:generation_tokens_created 1000\n"
                  "vllm:generation_tokens_total 500 1100500\nvllm:generation_tokens_total 600\n",
                  -1);
    assert_int_equal(r.n, 2);
    assert_nan(r.observation[1].seconds);
    assert_nan(r.observation[1].time);
}

TEST(a_comment_is_the_time_of_its_scrape)
{
    read_lines_of(&r, &spec_reader_prometheus_llama,
                  "# time 1732690000.5\nllamacpp:tokens_predicted_total 10\n"
                  "# time 1732690010\nllamacpp:tokens_predicted_total 20\n"
                  "# time 1732690020\r\nllamacpp:tokens_predicted_total 30 1732690021000\n"
                  "llamacpp:tokens_predicted_total 40\n",
                  -1);
    static const double time[] = {1732690000.5, 1732690010, 1732690021, 1732690020};
    assert_int_equal(r.n, 4);
    for (int i = 0; i < 4; i++) assert_same(r.observation[i].time, time[i]);
    /* A new time stamp begins a new scrape, even if no series repeats. */
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
        assert_false(spec_log_time_comment(&seconds, other[i], strlen(other[i])));
    }
}

TEST(names_that_are_not_known_are_in_the_note)
{
    char text[2000] = "";
    for (int i = 0; i < 20; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "vllm:spec_decode_new_%d_bucket{le=\"1\"} 1\nvllm:e2e_request_latency 1\n", i / 2);
    read_lines_of(&r, &spec_reader_prometheus_vllm, text, -1);
    assert_int_equal(r.n, 0);
    assert_string_equal(r.learned.note,
                        "unknown counters: vllm:spec_decode_new_0_bucket, "
                        "vllm:spec_decode_new_1_bucket, vllm:spec_decode_new_2_bucket, "
                        "vllm:spec_decode_new_3_bucket");
}

TEST(values_and_positions_have_a_range)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
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
        {"vllm:spec_decode_num_accepted_tokens_per_pos_total{position=\"1\"} 1\n",
         "x:1: counters of accepted tokens by position: expected positions from 0 on without gaps"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        read_lines_fails(&spec_reader_prometheus_vllm, cases[i].text, GSL_EINVAL, cases[i].error);
}

TEST(engines_are_bounded)
{
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
