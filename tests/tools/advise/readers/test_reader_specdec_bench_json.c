/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/log_format.h"

#include "tests/support/read_record.h"
#include "tests/support/support.h"

#define RESULTS                                                                                    \
    "[\n {\n  \"Request_AL\": {\"0\": 2.0, \"1\": 2.5},\n  \"Average_AL\": 2.25,\n"                \
    "  \"Acceptance_Length_Histogram\": {\"1\": 200, \"2\": 300, \"3\": 210, \"4\": 290},\n"       \
    "  \"Conditional_Acceptance_Rate\": {\"1\": 1.0, \"2\": 0.8, \"3\": 0.625, \"4\": 0.58}\n "    \
    "}\n]"

/* A length includes the target's own token: 800, 500 and 290 rounds accept each depth. */
TEST(a_histogram_of_lengths_has_all_depths)
{
    read_record r = read_record_of(&spec_reader_specdec_bench, RESULTS, -1);
    assert_int_equal(r.n, 1);
    assert_true(r.observation[0].kind == SPEC_OBSERVED_WINDOW);
    assert_counts(&r.observation[0], -1, (const double[]){1000, NAN, NAN, 1590, NAN});
    assert_passed(&r.observation[0], 3, (const double[]){800, 500, 290});
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_TIMES);
    assert_int_equal(r.learned.generation, 0);
    /* The user may know that the run drafted more; a length below what was accepted is an error. */
    r = read_record_of(&spec_reader_specdec_bench, RESULTS, 5);
    assert_counts(&r.observation[0], 5, (const double[]){1000, NAN, NAN, 1590, NAN});
    assert_passed(&r.observation[0], 5, (const double[]){800, 500, 290, 0, 0});
    r = read_record_of(&spec_reader_specdec_bench, RESULTS, 2);
    assert_counts(&r.observation[0], -1, (const double[]){1000, NAN, NAN, 1590, NAN});
}

#define PROFILE(K, histogram)                                                                      \
    "{\"schema_version\":\"1.0\",\"measured\":true,\"num_speculative_tokens\":" K                  \
    ",\"conditional_accept_rates\":[0.8,0.625,0.58],\"mean_accept_length\":2.59,"                  \
    "\"acceptance_length_histogram\":" histogram "}"

TEST(a_profile_has_the_draft_length)
{
    const read_record r = read_record_of(
        &spec_reader_specdec_bench, PROFILE("4", "{\"1\":200,\"2\":300,\"3\":210,\"4\":290}"), -1);
    assert_counts(&r.observation[0], 4, (const double[]){1000, NAN, NAN, 1590, NAN});
    assert_passed(&r.observation[0], 4, (const double[]){800, 500, 290, 0});
    assert_same(r.observation[0].printed_length, 2.59);
    const read_record user =
        read_record_of(&spec_reader_specdec_bench, PROFILE("4", "{\"1\":200,\"4\":290}"), 5);
    assert_int_equal(user.observation[0].K, 4); /* the file states it */
    assert_int_equal(r.learned.generation, 1);
    assert_int_equal(read_record_of(&spec_reader_specdec_bench, PROFILE("4", "null"), -1).n, 0);
    read_record_fails(&spec_reader_specdec_bench, PROFILE("2", "{\"1\":200,\"4\":290}"),
                      "x:7: 'acceptance_length_histogram' has 4 entries, 'num_speculative_tokens' "
                      "is 2: expected 3");
    read_record_fails(&spec_reader_specdec_bench, PROFILE("2", "{\"1\":-200}"),
                      "x:7: 'acceptance_length_histogram' is '-200': expected a whole number, at "
                      "least 0 and below 2^53");
}

#define RESPONSE(lengths)                                                                          \
    "{\"question_id\": 81, \"category\": \"writing\", \"turns\": [\"a\"], "                        \
    "\"acceptance_lengths\": " lengths ", \"choices\": [{\"index\": 0, \"turns\": [\"b\"]}]}"

TEST(a_response_is_a_request_with_its_rounds)
{
    const read_record r =
        read_record_of(&spec_reader_specdec_bench_response, RESPONSE("[1, 4, 2, 2, 1]"), 4);
    assert_int_equal(r.n, 1);
    assert_true(r.observation[0].kind == SPEC_OBSERVED_REQUEST);
    assert_counts(&r.observation[0], 4, (const double[]){5, NAN, NAN, 5, NAN});
    assert_passed(&r.observation[0], 4, (const double[]){3, 1, 1, 0});
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_TIMES);
    assert_int_equal(read_record_of(&spec_reader_specdec_bench_response, RESPONSE("[]"), 4).n, 0);
}

TEST(mistakes_of_responses_are_refused)
{
    static const struct {
        const char *text, *line;
        int K, status;
    } cases[] = {
        {RESPONSE("[0]"),
         "x:7: 'acceptance_lengths' has a length 0: expected 1 to 65, the target's own token "
         "included",
         3, GSL_EINVAL},
        {RESPONSE("[66]"),
         "x:7: 'acceptance_lengths' has a length 66: expected 1 to 65, the target's own token "
         "included",
         3, GSL_EINVAL},
        {RESPONSE("[1.5]"),
         "x:7: 'acceptance_lengths' is '1.5': expected a whole number, at least 0 and below 2^53",
         3, GSL_EINVAL},
        {RESPONSE("[1]"),
         "x: the draft length does not follow from acceptance lengths; give it, as in "
         "--current 3",
         -1, GSL_EUNSUP},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const read_record r =
            read_record_with(&spec_reader_specdec_bench_response, cases[c].text, cases[c].K);
        assert_int_equal(r.status, cases[c].status);
        assert_string_equal(r.error.text, cases[c].line);
    }
}
