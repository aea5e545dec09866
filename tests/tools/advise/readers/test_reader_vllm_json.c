/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/log_format.h"

#include "tests/support/read_record.h"
#include "tests/support/support.h"

#define RESPONSE(counts)                                                                           \
    "{\"id\":\"a\",\"model\":\"m\",\"choices\":[{\"text\":\"\\\"speculative_decoding\\\": "        \
    "{}\"}],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":54},\"metrics\":"                 \
    "{\"speculative_decoding\":{" counts "}}}"

/* The example of the documentation: 39 + 1 + 3 = 43 rounds, 1 + 3 x 3 = 10 accepted. */
#define SUMMARY                                                                                    \
    "\"mean_acceptance_length\":1.2325581395348837,\"draft_acceptance_rate\":0.07751937984496124," \
    "\"acceptance_histogram\":[39,1,0,3],\"num_spec_steps\":43,\"num_accepted_draft_tokens\":10,"  \
    "\"num_draft_tokens\":129,\"num_spec_tokens\":3"

TEST(a_summary_has_rounds_and_depths)
{
    const read_record r = read_record_of(&spec_reader_vllm_response, RESPONSE(SUMMARY), -1);
    assert_int_equal(r.n, 1);
    const spec_observation *o = &r.observation[0];
    assert_true(o->kind == SPEC_OBSERVED_REQUEST && o->line == 7 && o->label != 0);
    assert_counts(o, 3, (const double[]){43, 43, 129, 10, 54});
    assert_passed(o, 3, (const double[]){4, 3, 3});
    assert_near(o->printed_length, 1.0 + 10.0 / 43.0, 1e-15);
    assert_near(o->printed_rate, 10.0 / 129.0, 1e-15);
    assert_true(isnan(o->seconds) && isnan(o->running));
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_TIMES);
    assert_int_equal(r.learned.generation, 0);
}

/* 1000 rounds: 800 accept one or more, 500 two or more, 290 all three; 1590 of 3000. */
TEST(details_agree_with_the_summary)
{
    const read_record r = read_record_of(
        &spec_reader_vllm_response,
        "{\"metrics\":{\"speculative_decoding\":{\"mean_acceptance_length\":2.59,"
        "\"draft_acceptance_rate\":0.53,\"acceptance_histogram\":[200,300,210,290],"
        "\"num_spec_steps\":1000,\"num_accepted_draft_tokens\":1590,\"num_draft_tokens\":3000,"
        "\"num_spec_tokens\":3}}}",
        -1);
    assert_counts(&r.observation[0], 3, (const double[]){1000, NAN, 3000, 1590, NAN});
    assert_passed(&r.observation[0], 3, (const double[]){800, 500, 290});

    /* Four rounds, with short drafts; the prompt's end accepted nothing. */
    const read_record d = read_record_of(
        &spec_reader_vllm_response,
        RESPONSE("\"acceptance_histogram\":{\"0\":2,\"1\":1,\"3\":1},\"num_spec_steps\":4,"
                 "\"num_accepted_draft_tokens\":4,\"num_draft_tokens\":8,\"num_spec_tokens\":3,"
                 "\"per_step_accepted\":[0, 1, 3, 0],\"per_step_drafted\":[3, 1, 3, 1]"),
        -1);
    /* 54 tokens: the prefill's, 4 accepted, and 49 passes of which 45 had no draft. */
    assert_counts(&d.observation[0], 3, (const double[]){4, 49, 8, 4, 54});
    assert_passed(&d.observation[0], 3, (const double[]){2, 1, 1});
}

/* Counts by index leave out those that are 0, also at the end. */
TEST(depths_are_those_of_the_draft_length)
{
    const read_record r =
        read_record_of(&spec_reader_vllm_response,
                       RESPONSE("\"acceptance_histogram\":{\"0\":2,\"1\":1},\"num_spec_steps\":3,"
                                "\"num_accepted_draft_tokens\":1,\"num_draft_tokens\":9,"
                                "\"num_spec_tokens\":3"),
                       -1);
    assert_counts(&r.observation[0], 3, (const double[]){3, 52, 9, 1, 54});
    assert_passed(&r.observation[0], 3, (const double[]){1, 0, 0});
}

TEST(a_request_without_a_draft_has_its_passes)
{
    const read_record r =
        read_record_of(&spec_reader_vllm_response,
                       RESPONSE("\"acceptance_histogram\":[0,0,0,0],\"num_spec_steps\":0,"
                                "\"num_accepted_draft_tokens\":0,\"num_draft_tokens\":0,"
                                "\"num_spec_tokens\":3"),
                       -1);
    assert_counts(&r.observation[0], 3, (const double[]){0, 53, 0, 0, 54});
}

TEST(records_hold_several_requests)
{
    /* In an array of responses, each has its own tokens. */
    read_record r = read_record_of(&spec_reader_vllm_response,
                                   "[" RESPONSE(SUMMARY) ",\n" RESPONSE(SUMMARY) "]", -1);
    assert_int_equal(r.n, 2);
    for (int i = 0; i < 2; i++)
        assert_counts(&r.observation[i], 3, (const double[]){43, 43, 129, 10, 54});
    /* In an object of responses, the tokens of neither are known. */
    r = read_record_of(&spec_reader_vllm_response,
                       "{\"all\":[" RESPONSE(SUMMARY) "," RESPONSE(SUMMARY) "]}", -1);
    assert_int_equal(r.n, 2);
    for (int i = 0; i < 2; i++)
        assert_counts(&r.observation[i], 3, (const double[]){43, NAN, 129, 10, NAN});
}

/* If the last round is cut, it emits fewer tokens than rounds + accepted + 1: then passes are not
 * known, and the evidence decides. */
TEST(a_cut_end_leaves_the_passes_open)
{
    const read_record r = read_record_of(
        &spec_reader_vllm_response,
        "{\"usage\":{\"completion_tokens\":52},\"metrics\":{\"speculative_decoding\":{" SUMMARY
        "}}}",
        -1);
    assert_counts(&r.observation[0], 3, (const double[]){43, NAN, 129, 10, 52});
}

TEST(contradictions_are_refused)
{
    static const struct {
        const char *text, *line;
    } cases[] = {
        {RESPONSE("\"num_accepted_draft_tokens\":1,\"num_draft_tokens\":3"),
         "x:7: the count 'num_spec_steps' is missing; it belongs with "
         "'num_accepted_draft_tokens'"},
        {RESPONSE("\"num_accepted_draft_tokens\":1,\"num_spec_steps\":3"),
         "x:7: the count 'num_draft_tokens' is missing; it belongs with "
         "'num_accepted_draft_tokens'"},
        {RESPONSE("\"num_accepted_draft_tokens\":null,\"num_spec_steps\":3"),
         "x:7: the count 'num_accepted_draft_tokens' is missing; it belongs with "
         "'num_spec_steps'"},
        {RESPONSE("\"num_accepted_draft_tokens\":-1,\"num_spec_steps\":3,\"num_draft_tokens\":3"),
         "x:7: 'num_accepted_draft_tokens' is '-1': expected a whole number, at least 0 and below "
         "2^53"},
        {RESPONSE("\"num_accepted_draft_tokens\":4,\"num_spec_steps\":3,\"num_draft_tokens\":3"),
         "x:7: 'num_accepted_draft_tokens' is 4, more than 'num_draft_tokens', 3"},
        {RESPONSE("\"num_accepted_draft_tokens\":0,\"num_spec_steps\":0,\"num_draft_tokens\":3"),
         "x:7: 'num_draft_tokens' is 3 without a round in 'num_spec_steps'"},
        {RESPONSE("\"num_accepted_draft_tokens\":4,\"num_spec_steps\":3,\"num_draft_tokens\":10,"
                  "\"num_spec_tokens\":3"),
         "x:7: 'num_draft_tokens' is 10, more than 3 rounds of 3 tokens"},
        {RESPONSE("\"num_accepted_draft_tokens\":4,\"num_spec_steps\":3,\"num_draft_tokens\":10,"
                  "\"num_spec_tokens\":65"),
         "x:7: 'num_spec_tokens' is 65: expected at most 64"},
        {RESPONSE("\"num_accepted_draft_tokens\":10,\"num_spec_steps\":43,\"num_draft_tokens\":129,"
                  "\"num_spec_tokens\":3,\"acceptance_histogram\":[39,1,0,3,0]"),
         "x:7: 'acceptance_histogram' has 5 entries, 'num_spec_tokens' is 3: expected 4"},
        {RESPONSE("\"num_accepted_draft_tokens\":1,\"num_spec_steps\":40,\"num_draft_tokens\":120,"
                  "\"num_spec_tokens\":3,\"acceptance_histogram\":[39,1]"),
         "x:7: 'acceptance_histogram' has 2 entries, 'num_spec_tokens' is 3: expected 4"},
        {RESPONSE("\"num_accepted_draft_tokens\":10,\"num_spec_steps\":42,\"num_draft_tokens\":129,"
                  "\"acceptance_histogram\":[39,1,0,3]"),
         "x:7: 'acceptance_histogram' has 43 rounds, 'num_spec_steps' is 42"},
        {RESPONSE("\"num_accepted_draft_tokens\":11,\"num_spec_steps\":43,\"num_draft_tokens\":129,"
                  "\"acceptance_histogram\":[39,1,0,3]"),
         "x:7: 'acceptance_histogram' has 10 accepted tokens, 'num_accepted_draft_tokens' is 11"},
        {RESPONSE("\"num_accepted_draft_tokens\":1,\"num_spec_steps\":2,\"num_draft_tokens\":4,"
                  "\"per_step_accepted\":[1,0],\"per_step_drafted\":[4]"),
         "x:7: 'per_step_accepted' and 'per_step_drafted' have different lengths"},
        {RESPONSE("\"num_accepted_draft_tokens\":1,\"num_spec_steps\":2,\"num_draft_tokens\":4,"
                  "\"per_step_accepted\":[1,0],\"per_step_drafted\":[0,4]"),
         "x:7: 'per_step_accepted' and 'per_step_drafted': a round accepts 1 of 0 tokens"},
        {RESPONSE("\"num_accepted_draft_tokens\":1,\"num_spec_steps\":2,\"num_draft_tokens\":4,"
                  "\"per_step_accepted\":[1,0],\"per_step_drafted\":[3,2]"),
         "x:7: 'per_step_accepted' and 'per_step_drafted' have 2 rounds, 1 of 5 tokens: expected "
         "2, 1 of 4"},
        {RESPONSE("\"num_accepted_draft_tokens\":1,\"num_spec_steps\":2,\"num_draft_tokens\":4,"
                  "\"per_step_accepted\":[1,1],\"per_step_drafted\":[3,1]"),
         "x:7: 'per_step_accepted' and 'per_step_drafted' have 2 rounds, 2 of 4 tokens: expected "
         "2, 1 of 4"},
        {RESPONSE("\"num_accepted_draft_tokens\":1,\"num_spec_steps\":2,\"num_draft_tokens\":4,"
                  "\"per_step_accepted\":[1],\"per_step_drafted\":[4]"),
         "x:7: 'per_step_accepted' and 'per_step_drafted' have 1 rounds, 1 of 4 tokens: expected "
         "2, 1 of 4"},
        {RESPONSE("\"num_accepted_draft_tokens\":1,\"num_spec_steps\":2,\"num_draft_tokens\":4,"
                  "\"per_step_accepted\":[1,-1],\"per_step_drafted\":[3,2]"),
         "x:7: 'per_step_accepted' is '-1': expected a whole number, at least 0 and below 2^53"},
        {RESPONSE(SUMMARY ",\"num_spec_steps\":43"),
         "x:7: malformed JSON: duplicate object key near '\"num_spec_steps\"'"},
        {"{\"metrics\":{\"speculative_decoding\":{" SUMMARY,
         "x:7: the JSON object with 'num_accepted_draft_tokens' has no end; is the record "
         "truncated?"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        read_record_fails(&spec_reader_vllm_response, cases[c].text, cases[c].line);
}

TEST(words_in_texts_are_not_counts)
{
    static const char *const texts[] = {
        "{\"text\":\"\\\"speculative_decoding\\\": {\\\"num_accepted_draft_tokens\\\": 3}\"}",
        "{\"metrics\":{\"speculative_decoding\":null}}",
        "INFO num_accepted_draft_tokens speculative_decoding",
        "",
    };
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        for (int i = 0; spec_log_formats[i] != NULL; i++)
            assert_false(spec_log_formats[i]->concerns(texts[t], strlen(texts[t])));
    }
}

#define AIPERF(engine, ms)                                                                         \
    "{\"metadata\":{},\"metrics\":{\"request_latency\":{\"value\":2250.0,\"unit\":\"" ms           \
    "\"},\"time_to_first_token\":{\"value\":250,\"unit\":\"ms\"}},\"spec_decode_acceptance\":{"    \
    "\"engine\":\"" engine "\",\"mean_acceptance_length\":1.2325581395348837,"                     \
    "\"draft_acceptance_rate\":0.0775,\"acceptance_histogram\":{\"0\":39,\"1\":1,\"3\":3},"        \
    "\"num_accepted_draft_tokens\":10,\"num_draft_tokens\":129,\"num_spec_steps\":43,"             \
    "\"num_spec_tokens\":null,\"completion_tokens\":54,\"per_step_accepted\":null}}"

TEST(records_of_aiperf_have_times)
{
    read_record r = read_record_of(&spec_reader_aiperf, AIPERF("vllm", "ms"), -1);
    const spec_observation *o = &r.observation[0];
    assert_counts(o, -1, (const double[]){43, 43, 129, 10, 54});
    assert_passed(o, 3, (const double[]){4, 3, 3});
    assert_near(o->seconds, 2.0, 1e-15); /* from the first token on */
    assert_int_equal(r.learned.gaps, 0);
    const uint64_t vllm = o->label;
    /* Even with the engine's response beside it, the record counts as one of AIPerf. */
    static const char both[] = "{\"speculative_decoding\":{},\"spec_decode_acceptance\":"
                               "{\"num_accepted_draft_tokens\":1}}";
    assert_true(spec_reader_aiperf.concerns(both, strlen(both)));
    assert_false(spec_reader_vllm_response.concerns(both, strlen(both)));
    r = read_record_of(&spec_reader_aiperf, AIPERF("sglang", "min"), -1);
    assert_true(r.observation[0].label != vllm && isnan(r.observation[0].seconds));
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_TIMES);
}

#define AIPERF_OF(before, after)                                                                   \
    "{\"metadata\":{\"session_num\":1" before "}" after ",\"spec_decode_acceptance\":{"            \
    "\"num_accepted_draft_tokens\":10,\"num_draft_tokens\":129,\"num_spec_steps\":43}}"

/* This agrees with AIPerf's own reports. */
TEST(warm_up_and_failures_of_aiperf_are_passed_over)
{
    static const struct {
        const char *text;
        int n;
    } cases[] = {
        {AIPERF_OF("", ""), 1},
        {AIPERF_OF(",\"benchmark_phase\":\"profiling\"", ",\"error\":null"), 1},
        {AIPERF_OF(",\"benchmark_phase\":\"warmup\"", ""), 0},
        {AIPERF_OF("", ",\"error\":{\"code\":500,\"message\":\"\"}"), 0},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        assert_int_equal(read_record_of(&spec_reader_aiperf, cases[c].text, -1).n, cases[c].n);
}

/* The numbers of AIPerf's own test: two requests of 8 steps, with 18 of 32 tokens accepted. */
TEST(a_summary_of_aiperf_is_a_window)
{
    static const char text[] =
        "{\"schema_version\":\"1\",\"warmup_metrics\":{\"total_spec_decode_steps\":{\"avg\":99}},"
        "\"request_count\":{\"unit\":\"requests\",\"avg\":2.0},"
        "\"spec_decode_token_weighted_acceptance_length\":{\"unit\":\"ratio\",\"avg\":3.25},"
        "\"spec_decode_overall_draft_acceptance_rate\":{\"unit\":\"%\",\"avg\":56.25},"
        "\"total_spec_decode_steps\":{\"avg\":16.0},\"total_accepted_draft_tokens\":{\"avg\":36.0},"
        "\"total_draft_tokens\":{\"avg\":64.0},\"benchmark_duration\":{\"unit\":\"sec\","
        "\"avg\":2.0},\"inter_token_latency\":{\"unit\":\"ms\",\"avg\":20.0},"
        "\"total_osl\":{\"avg\":54},"
        "\"pooled_spec_decode_acceptance_histogram\":{\"0\":2,\"1\":2,\"2\":4,\"3\":6,\"4\":2}}";
    const read_record r = read_record_of(&spec_reader_aiperf_summary, text, -1);
    const spec_observation *o = &r.observation[0];
    assert_int_equal(r.n, 1);
    assert_true(o->kind == SPEC_OBSERVED_WINDOW);
    assert_counts(o, -1, (const double[]){16, 16, 64, 36, 52});
    assert_passed(o, 4, (const double[]){14, 12, 8, 2});
    assert_near(o->printed_rate, 0.5625, 1e-15);
    assert_same(o->seconds, 2.0);
    assert_near(o->running, 52 * 0.020 / 2.0, 1e-12);
    assert_int_equal(r.learned.gaps, 0);
}

TEST(a_speed_bench_report_has_means_without_counts)
{
    const read_record r =
        read_record_with(&spec_reader_speed_bench_report, "Model,coding,math,Overall", -1);
    assert_int_equal(r.status, GSL_EUNSUP);
    assert_string_equal(r.error.text,
                        "x:7: a SPEED-Bench report has means without their numbers of rounds; give "
                        "profile_export.jsonl or profile_export_aiperf.json of its runs");
    assert_false(spec_reader_speed_bench_report.concerns("Model,a,Overalls", 16));
    assert_false(spec_reader_speed_bench_report.concerns("Model,Overall", 13));
}
