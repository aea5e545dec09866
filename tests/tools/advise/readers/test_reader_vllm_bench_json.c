/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/log_format.h"

#include "tests/support/read_record.h"
#include "tests/support/support.h"

/* 1000 rounds of 3 tokens: 800, 500 and 290 accept each depth. The rate is in per cent. */
TEST(a_benchmark_is_a_window)
{
    const read_record r = read_record_of(
        &spec_reader_vllm_bench,
        "{\"date\":\"20260101\",\"duration\":12.5,\"completed\":100,\"max_concurrency\":8,\n"
        "\"total_output_tokens\":2690,\"mean_tpot_ms\":25.0,"
        "\"spec_decode_acceptance_rate\":53.0,\"spec_decode_acceptance_length\":2.59,"
        "\"spec_decode_num_drafts\":1000,\"spec_decode_draft_tokens\":3000,"
        "\"spec_decode_accepted_tokens\":1590,"
        "\"spec_decode_per_position_acceptance_rates\":[0.8,0.5,0.29]}",
        -1);
    const spec_observation *o = &r.observation[0];
    assert_true(o->kind == SPEC_OBSERVED_WINDOW);
    assert_counts(o, -1, (const double[]){1000, 1000, 3000, 1590, 2590});
    assert_passed(o, 3, (const double[]){800, 500, 290});
    assert_near(o->printed_rate, 0.53, 1e-15);
    assert_same(o->seconds, 12.5);
    assert_near(o->running, 2590 * 0.025 / 12.5, 1e-12); /* not 8, the maximum at a time */
    assert_int_equal(r.learned.gaps, 0);
    const read_record bare = read_record_of(
        &spec_reader_vllm_bench,
        "{\"spec_decode_num_drafts\":2,\"spec_decode_draft_tokens\":6,\"max_concurrency\":null,"
        "\"spec_decode_accepted_tokens\":1}",
        -1);
    assert_counts(&bare.observation[0], -1, (const double[]){2, NAN, 6, 1, NAN});
    assert_int_equal(bare.learned.gaps, SPEC_LOG_NO_TIMES | SPEC_LOG_NO_DEPTHS);
#define RATES(counts)                                                                              \
    "{\"spec_decode_num_drafts\":10,\"spec_decode_draft_tokens\":30,"                              \
    "\"spec_decode_accepted_tokens\":13,\"spec_decode_per_position_acceptance_rates\":[" counts    \
    "]}"
    static const struct {
        const char *text, *line;
    } cases[] = {
        {RATES("0.8,0.55"), "x:7: 'spec_decode_per_position_acceptance_rates' has 0.55, expected a "
                            "share of 10 rounds that does not rise"},
        {RATES("0.6,0.7"), "x:7: 'spec_decode_per_position_acceptance_rates' has 0.7, expected a "
                           "share of 10 rounds that does not rise"},
        {RATES("1.1"), "x:7: 'spec_decode_per_position_acceptance_rates' has 1.1, expected a "
                       "share of 10 rounds that does not rise"},
        {RATES("0.8,0.4"), "x:7: 'spec_decode_per_position_acceptance_rates' has 12 accepted "
                           "tokens, expected 13"},
        {"{\"spec_decode_num_drafts\":10,\"spec_decode_draft_tokens\":30}",
         "x:7: the count 'spec_decode_accepted_tokens' is missing; it belongs with "
         "'spec_decode_num_drafts'"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        read_record_fails(&spec_reader_vllm_bench, cases[c].text, cases[c].line);
}

/* The members of the results that remain without --save-detailed. */
#define PLAIN(more)                                                                                \
    "{\"date\":\"20260101-000000\",\"endpoint_type\":\"openai\",\"backend\":\"openai\","           \
    "\"label\":null,\"model_id\":\"m\",\"tokenizer_id\":\"m\",\"num_prompts\":100,"                \
    "\"request_rate\":\"inf\",\"burstiness\":1.0,\"max_concurrency\":8,\"duration\":25.0,"         \
    "\"completed\":100,\"failed\":0,\"total_input_tokens\":900,\"total_output_tokens\":2600,"      \
    "\"max_concurrent_requests\":8,\"rtfx\":0.0,\"mean_tpot_ms\":40.0,\"mean_itl_ms\":40.0" more   \
    "}"

TEST(a_benchmark_without_counts_of_drafts_is_plain)
{
    read_record r = read_record_of(&spec_reader_vllm_bench, PLAIN(""), -1);
    const spec_observation *o = &r.observation[0];
    assert_int_equal(r.n, 1);
    assert_true(o->kind == SPEC_OBSERVED_WINDOW && o->K == 0);
    assert_same(o->emitted, 2500);
    assert_same(o->passes, 2500);
    assert_same(o->seconds, 25);
    assert_int_equal(r.learned.generation, -1);
    assert_near(o->running, 4.0, 1e-12); /* 2500 tokens of 40 ms in 25 s */
    assert_int_equal(r.learned.gaps, 0);
    r = read_record_of(&spec_reader_vllm_bench,
                       "[" PLAIN("") "," PLAIN(",\"spec_decode_num_drafts\":1000,"
                                               "\"spec_decode_draft_tokens\":3000,"
                                               "\"spec_decode_accepted_tokens\":1500") "]",
                       -1);
    assert_int_equal(r.n, 2);
    assert_int_equal(r.observation[0].K, 0);
    assert_same(r.observation[1].rounds, 1000);
    assert_same(r.observation[1].emitted, 2500);
    read_record_fails(&spec_reader_vllm_bench, PLAIN(",\"spec_decode_draft_tokens\":3000"),
                      "x:7: the count 'spec_decode_num_drafts' is missing; it belongs with "
                      "'spec_decode_draft_tokens'");
    /* Without any one of these keys the file counts as another program's. */
    static const char *const keys[] = {"rtfx",      "burstiness",          "tokenizer_id",
                                       "completed", "total_output_tokens", "num_prompts",
                                       "duration",  "mean_tpot_ms"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        char text[] = PLAIN(""), key[40];
        snprintf(key, sizeof key, "\"%s\"", keys[i]);
        strstr(text, key)[1] = 'X';
        for (int k = 0; spec_log_formats[k] != NULL; k++)
            assert_false(spec_log_formats[k]->concerns(text, strlen(text)));
    }
    r = read_record_of(&spec_reader_vllm_bench, "[{\"rtfx\":1}," PLAIN("") "]", -1);
    assert_int_equal(r.n, 1);
}

/* --save-detailed: three requests that succeeded, one that failed, one of a single token, one with
 * more chunks than tokens. */
#define DETAILED(itls)                                                                             \
    ",\"output_lens\":[3,5,2,0,1,2],\"ttfts\":[0.1,0.1,0.1,0,0.1],\"itls\":" itls                  \
    ",\"errors\":[\"\",\"\",\"\",\"boom\",\"\"]"

TEST(requests_of_a_plain_benchmark_are_read)
{
    const read_record r = read_record_of(
        &spec_reader_vllm_bench,
        PLAIN(DETAILED("[[0.04,0.06],[0.04,0.04,0.04,0.05],[0.05],[],[],[0.1,0.1]]")), -1);
    assert_int_equal(r.n, 3);
    static const double emitted[] = {2, 4, 1}, seconds[] = {0.10, 0.17, 0.05};
    for (int i = 0; i < 3; i++) {
        const spec_observation *o = &r.observation[i];
        assert_true(o->kind == SPEC_OBSERVED_REQUEST && o->K == 0);
        assert_same(o->emitted, emitted[i]);
        assert_same(o->passes, emitted[i]);
        assert_near(o->seconds, seconds[i], 1e-12);
        assert_near(o->running, 4.0, 1e-12);
    }
}

/* 7 tokens in 4 chunks: (2, 2), (4, 1) and (1, 1). Deviations from the ratio 1.75 are -1.5, 2.25
 * and -0.75: half of the interval is t(2) sqrt(3/2 (1.5^2 + 2.25^2 + .75^2)) / 4. */
TEST(requests_of_a_benchmark_with_drafts_give_an_interval)
{
    const read_record r =
        read_record_of(&spec_reader_vllm_bench,
                       PLAIN(",\"spec_decode_num_drafts\":4,\"spec_decode_draft_tokens\":12,"
                             "\"spec_decode_accepted_tokens\":3" DETAILED(
                                 "[[0.04,0.06],[0.17],[0.05],[],[],[0.1,0.1]]")),
                       -1);
    char expected[160];
    const double half = 4.302652729911275 * sqrt(1.5 * (2.25 + 5.0625 + 0.5625)) / 4.0;
    snprintf(expected, sizeof expected,
             "its 3 requests emit %.2f to %.2f tokens per step (95 %%); a chunk of a stream is a "
             "step",
             1.75 - half, 1.75 + half);
    assert_int_equal(r.n, 1);
    assert_string_equal(r.learned.note, expected);
    assert_true(r.observation[0].kind == SPEC_OBSERVED_WINDOW);
}
