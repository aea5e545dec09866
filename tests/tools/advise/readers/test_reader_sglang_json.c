/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/log_format.h"

#include "tests/support/read_record.h"
#include "tests/support/support.h"

#define META(counts) "{\"text\":\"a\",\"meta_info\":{\"id\":\"a\"," counts ",\"cached_tokens\":0}}"

static const spec_log_format *const format = &spec_reader_sglang_response;

/* 1 + 188 + 11 = 200 tokens: the first one comes from the prefill. */
TEST(a_response_of_2025_has_rounds_times_width)
{
    const read_record r =
        read_record_of(format,
                       META("\"prompt_tokens\":814,\"completion_tokens\":200,\"spec_accept_rate\":"
                            "0.011702127659574468,"
                            "\"spec_accept_length\":1.0638297872340425,\"spec_verify_ct\":188,"
                            "\"spec_accept_token_num\":11,\"spec_draft_token_num\":940,"
                            "\"e2e_latency\":3.25"),
                       -1);
    const spec_observation *o = &r.observation[0];
    assert_int_equal(r.n, 1);
    assert_true(o->kind == SPEC_OBSERVED_REQUEST);
    assert_counts(o, 5, (const double[]){188, NAN, 940, 11, 200});
    assert_int_equal(o->depths, 0);
    assert_near(o->printed_length, 200.0 / 188.0, 1e-15);
    assert_near(o->printed_rate, 11.0 / 940.0, 1e-15);
    assert_same(o->seconds, 3.25);
    assert_same(o->prompt, 814.0);
    assert_int_equal(r.learned.generation, 1);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_DEPTHS);
}

/* 43 + 63 = 106 tokens: this generation of SGLang does not count the prefill's token. */
TEST(a_response_of_2026_has_a_histogram)
{
    const read_record r =
        read_record_of(format,
                       META("\"completion_tokens\":106,\"spec_num_correct_drafts\":63,"
                            "\"spec_num_proposed_drafts\":215,\"spec_verify_ct\":43,"
                            "\"spec_correct_drafts_histogram\":[11,14,11,4,0,3]"),
                       -1);
    assert_counts(&r.observation[0], 5, (const double[]){43, NAN, 215, 63, 106});
    assert_passed(&r.observation[0], 5, (const double[]){32, 18, 7, 3, 3});
    assert_int_equal(r.learned.generation, 2);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_TIMES);
    assert_string_equal(r.learned.note, "");

    const read_record s = read_record_of(
        format,
        "{\"choices\":[{\"text\":\"\"}],\"usage\":{\"completion_tokens\":2590},\"sglext\":"
        "{\"spec_tokens_details\":{\"spec_accept_rate\":0.53,\"spec_accept_length\":2.6,"
        "\"spec_num_correct_drafts\":1590,\"spec_num_proposed_drafts\":3000,\"spec_verify_ct\":"
        "1000,"
        "\"spec_correct_drafts_histogram\":[200,300,210,290],\"spec_cap_length\":null}}}",
        -1);
    assert_counts(&s.observation[0], 3, (const double[]){1000, NAN, 3000, 1590, 2590});
    assert_passed(&s.observation[0], 3, (const double[]){800, 500, 290});
}

/* Names that existed for a few months each, and two generations in one response. */
TEST(older_names_have_the_same_depths)
{
    static const struct {
        const char *names[3];
        int generation;
    } cases[] = {
        {{"spec_accept_token_num", "spec_draft_token_num", "spec_accept_histogram"}, 1},
        {{"spec_accepted_drafts", "spec_proposed_drafts", "spec_accept_histogram"}, 2},
        {{"spec_num_correct_drafts", "spec_proposed_drafts", "spec_correct_drafts_histogram"}, 2},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char text[512];
        const char *const *name = cases[c].names;
        snprintf(text, sizeof text,
                 META("\"completion_tokens\":106,\"%s\":63,\"%s\":215,\"spec_verify_ct\":43,"
                      "\"%s\":[11,14,11,4,0,3]"),
                 name[0], name[1], name[2]);
        const read_record r = read_record_of(format, text, -1);
        assert_counts(&r.observation[0], 5, (const double[]){43, NAN, 215, 63, 106});
        assert_passed(&r.observation[0], 5, (const double[]){32, 18, 7, 3, 3});
        assert_int_equal(r.learned.generation, cases[c].generation);
        assert_int_equal(r.learned.gaps, SPEC_LOG_NO_TIMES);
    }
    /* The histogram alone also gives the accepted tokens. */
    const read_record r = read_record_of(
        format, META("\"spec_verify_ct\":43,\"spec_accept_histogram\":[11,14,11,4,0,3]"), -1);
    assert_counts(&r.observation[0], -1, (const double[]){43, NAN, NAN, 63, NAN});
    assert_passed(&r.observation[0], 5, (const double[]){32, 18, 7, 3, 3});
}

TEST(rounds_alone_give_the_accepted_tokens)
{
    const read_record r =
        read_record_of(format, META("\"spec_verify_ct\":188,\"completion_tokens\":200"), -1);
    assert_counts(&r.observation[0], -1, (const double[]){188, NAN, NAN, 11, 200});
    assert_int_equal(r.learned.generation, 0);
    /* The draft length is the user's if the file does not state it. */
    const read_record given =
        read_record_of(format, META("\"spec_verify_ct\":188,\"completion_tokens\":200"), 3);
    assert_counts(&given.observation[0], 3, (const double[]){188, NAN, NAN, 11, 200});
    /* As many tokens as rounds: the first one was not counted, and none was accepted. */
    const read_record all =
        read_record_of(format, META("\"spec_verify_ct\":200,\"completion_tokens\":200"), -1);
    assert_counts(&all.observation[0], -1, (const double[]){200, NAN, NAN, 0, 200});
    /* Whether fewer tokens than rounds are possible is decided later, by the evidence. */
    const read_record less =
        read_record_of(format, META("\"spec_verify_ct\":200,\"completion_tokens\":190"), -1);
    assert_counts(&less.observation[0], -1, (const double[]){200, NAN, NAN, NAN, 190});
}

/* If both identities are broken, the numbers are passed on unchanged. */
TEST(broken_identities_are_passed_on)
{
    const read_record r =
        read_record_of(format,
                       META("\"completion_tokens\":150,\"spec_num_correct_drafts\":63,"
                            "\"spec_num_proposed_drafts\":215,\"spec_verify_ct\":43"),
                       -1);
    assert_counts(&r.observation[0], 5, (const double[]){43, NAN, 215, 63, 150});
}

TEST(widths_that_vary_leave_drafted_open)
{
    const read_record r =
        read_record_of(format,
                       META("\"completion_tokens\":106,\"spec_num_correct_drafts\":63,"
                            "\"spec_num_proposed_drafts\":129,\"spec_verify_ct\":43,"
                            "\"spec_correct_drafts_histogram\":[11,14,11,4,0,3]"),
                       -1);
    assert_counts(&r.observation[0], 5, (const double[]){43, NAN, NAN, 63, 106});
    assert_passed(&r.observation[0], 5, (const double[]){32, 18, 7, 3, 3});
    assert_string_equal(r.learned.note,
                        "proposed drafts are rounds times a width of 3, but a round accepted 5: "
                        "widths vary, and the drafted tokens are not known");
    /* Without a histogram there are 63 tokens in 43 rounds, so one round accepted 2. */
    const read_record a =
        read_record_of(format,
                       META("\"completion_tokens\":106,\"spec_num_correct_drafts\":63,"
                            "\"spec_num_proposed_drafts\":43,\"spec_verify_ct\":43"),
                       -1);
    assert_counts(&a.observation[0], 2, (const double[]){43, NAN, NAN, 63, 106});
    assert_true(strstr(a.learned.note, "a round accepted 2:") != NULL);
    /* A histogram that ends early does not show another width. */
    const read_record s =
        read_record_of(format,
                       META("\"completion_tokens\":5,\"spec_num_correct_drafts\":1,"
                            "\"spec_num_proposed_drafts\":12,\"spec_verify_ct\":4,"
                            "\"spec_correct_drafts_histogram\":[3,1]"),
                       -1);
    assert_counts(&s.observation[0], 3, (const double[]){4, NAN, 12, 1, 5});
    /* Real counts of an engine that varies its width. */
    const read_record v =
        read_record_of(format,
                       META("\"completion_tokens\":5,\"spec_num_correct_drafts\":1,"
                            "\"spec_num_proposed_drafts\":9,\"spec_verify_ct\":4"),
                       -1);
    assert_counts(&v.observation[0], -1, (const double[]){4, NAN, 9, 1, 5});
}

TEST(a_request_without_rounds_is_plain)
{
    const read_record r = read_record_of(
        format,
        META("\"completion_tokens\":50,\"spec_num_correct_drafts\":0,\"spec_verify_ct\":0,"
             "\"spec_num_proposed_drafts\":0,\"spec_correct_drafts_histogram\":[],"
             "\"e2e_latency\":2"),
        -1);
    assert_counts(&r.observation[0], 0, (const double[]){0, 50, 0, 0, 50});
    assert_int_equal(r.observation[0].depths, 0);
    assert_int_equal(read_record_of(format, META("\"spec_verify_ct\":null"), -1).n, 0);
}

TEST(a_batch_has_a_request_per_element)
{
    const read_record r = read_record_of(
        format,
        "[" META("\"spec_verify_ct\":188,\"completion_tokens\":200") "," META(
            "\"spec_verify_ct\":40,\"completion_tokens\":101,\"spec_accept_token_num\":60") "]",
        -1);
    assert_int_equal(r.n, 2);
    assert_counts(&r.observation[0], -1, (const double[]){188, NAN, NAN, 11, 200});
    assert_counts(&r.observation[1], -1, (const double[]){40, NAN, NAN, 60, 101});
}

TEST(parts_of_a_stream_are_passed_over)
{
#define PART(end)                                                                                  \
    "{\"text\":\"\",\"meta_info\":{\"finish_reason\":" end                                         \
    ",\"spec_verify_ct\":4,\"completion_tokens\":7}}"
    assert_int_equal(read_record_of(format, PART("null"), -1).n, 0);
    assert_int_equal(read_record_of(format, PART("{\"type\":\"stop\"}"), -1).n, 1);
    const read_record two =
        read_record_of(format, "{\"all\":[" PART("null") "," PART("{}") "]}", -1);
    assert_int_equal(two.n, 1);
    assert_int_equal(
        read_record_of(
            format,
            "{\"choices\":[{\"finish_reason\":null}],\"sglext\":{\"spec_tokens_details\":"
            "{\"spec_verify_ct\":4}}}",
            -1)
            .n,
        0);
}

/* If there are two choices, the tokens in `usage` belong to neither. */
TEST(choices_do_not_share_the_tokens_of_the_usage)
{
#define CHOICE "{\"meta_info\":{\"spec_verify_ct\":40,\"spec_accept_token_num\":60}}"
    const read_record r = read_record_of(
        format, "{\"choices\":[" CHOICE "," CHOICE "],\"usage\":{\"completion_tokens\":202}}", -1);
    assert_int_equal(r.n, 2);
    assert_counts(&r.observation[1], -1, (const double[]){40, NAN, NAN, 60, NAN});
    const read_record one = read_record_of(
        format, "{\"choices\":[" CHOICE "],\"usage\":{\"completion_tokens\":101}}", -1);
    assert_counts(&one.observation[0], -1, (const double[]){40, NAN, NAN, 60, 101});
}

TEST(contradictions_are_refused)
{
    static const struct {
        const char *text, *line;
    } cases[] = {
        {META("\"spec_verify_ct\":-1"),
         "x:7: 'spec_verify_ct' is '-1': expected a whole number, at least 0 and below 2^53"},
        {META("\"spec_verify_ct\":1.5"),
         "x:7: 'spec_verify_ct' is '1.5': expected a whole number, at least 0 and below 2^53"},
        {META("\"spec_verify_ct\":42,\"spec_num_correct_drafts\":63,"
              "\"spec_correct_drafts_histogram\":[11,14,11,4,0,3]"),
         "x:7: 'spec_correct_drafts_histogram' has 43 rounds, 'spec_verify_ct' is 42"},
        {META("\"spec_verify_ct\":43,\"spec_num_correct_drafts\":62,"
              "\"spec_correct_drafts_histogram\":[11,14,11,4,0,3]"),
         "x:7: 'spec_correct_drafts_histogram' has 63 accepted tokens, 'spec_num_correct_drafts' "
         "is 62"},
        {"{\"meta_info\":{\"spec_verify_ct\":43",
         "x:7: the JSON object with 'spec_verify_ct' has no end; is the record truncated?"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        read_record_fails(format, cases[c].text, cases[c].line);
}

TEST(server_info_has_a_mean_without_counts)
{
    const read_record on = read_record_with(
        &spec_reader_sglang_server_info,
        "{\"speculative_num_steps\":3,\"internal_states\":[{\"avg_spec_accept_length\":null},"
        "{\"avg_spec_accept_length\":2.54}]}",
        -1);
    assert_int_equal(on.status, GSL_EUNSUP);
    assert_string_equal(on.error.text,
                        "x:7: avg_spec_accept_length, 2.54, is a mean without its number of "
                        "rounds; give the server's log, or responses: their meta_info has counts");
    read_record_fails(&spec_reader_sglang_server_info,
                      "{\"internal_states\":[{\"avg_spec_accept_length\":\"high\"}]}",
                      "x:7: 'avg_spec_accept_length' is '\"high\"': expected a number, at least 0");
    const read_record off =
        read_record_of(&spec_reader_sglang_server_info,
                       "{\"internal_states\":[{\"avg_spec_accept_length\":null}]}", -1);
    assert_int_equal(off.n, 0);
}
