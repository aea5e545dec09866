/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/log_format.h"

#include "tests/support/read_record.h"
#include "tests/support/support.h"

static const spec_log_format *const iterations = &spec_reader_tensorrt_iterations;
static const spec_log_format *const responses = &spec_reader_tensorrt_response;

#define ITERATION(batch, drafts)                                                                   \
    "{\"iter\":5,\"iterLatencyMS\":20.0,\"numActiveRequests\":8,\"inflightBatchingStats\":{" batch \
    "},\"specDecodingStats\":" drafts "}"
#define DECODING "\"numScheduledRequests\":8,\"numContextRequests\":0,\"numGenRequests\":8"
#define DRAFTS                                                                                     \
    "{\"numDraftTokens\":24,\"numAcceptedTokens\":13,\"numRequestsWithDraftTokens\":8,"            \
    "\"acceptanceLength\":2.625,\"iterLatencyMS\":2.5,\"draftOverhead\":0.125}"

TEST(an_iteration_is_a_round_of_each_request)
{
    const read_record r = read_record_of(iterations, ITERATION(DECODING, DRAFTS), -1);
    assert_int_equal(r.n, 1);
    const spec_observation *o = &r.observation[0];
    assert_true(o->kind == SPEC_OBSERVED_WINDOW);
    assert_counts(o, -1, (const double[]){8, 8, 24, 13, 21});
    assert_near(o->seconds, 0.020, 1e-15);
    assert_same(o->running, 8.0);
    assert_same(o->printed_length, 2.625);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_DEPTHS);
}

TEST(times_follow_from_the_overhead)
{
    /* If the latency of an iteration is missing, 2.5 ms are an eighth of 20 ms; if the batch is,
     * the drafting requests are counted. */
    read_record r = read_record_of(iterations, "[{\"specDecodingStats\":" DRAFTS "}]", -1);
    assert_counts(&r.observation[0], -1, (const double[]){8, NAN, 24, 13, NAN});
    assert_near(r.observation[0].seconds, 0.020, 1e-15);
    assert_same(r.observation[0].running, 8.0);
    /* With a prefill in the same iteration, its time is not that of a round. */
    r = read_record_of(iterations,
                       ITERATION("\"numContextRequests\":1,\"numGenRequests\":10", DRAFTS), -1);
    assert_counts(&r.observation[0], -1, (const double[]){8, 10, 24, 13, 23});
    assert_true(isnan(r.observation[0].seconds));
    assert_same(r.observation[0].running, 10.0);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_DEPTHS); /* the other iterations have a time */
    /* Whether fewer requests than drafts are possible is decided later, by the evidence. */
    r = read_record_of(iterations, ITERATION("\"numGenRequests\":7", DRAFTS), -1);
    assert_counts(&r.observation[0], -1, (const double[]){8, NAN, 24, 13, NAN});
}

TEST(iterations_without_drafts_are_plain_decoding)
{
    static const char *const drafts[] = {
        ITERATION(DECODING, "null"),
        ITERATION(DECODING, "{\"numDraftTokens\":0,\"numAcceptedTokens\":0,"
                            "\"numRequestsWithDraftTokens\":0,\"acceptanceLength\":0.0,"
                            "\"iterLatencyMS\":0,\"draftOverhead\":0}")};
    for (int i = 0; i < 2; i++) {
        const read_record r = read_record_of(iterations, drafts[i], -1);
        assert_counts(&r.observation[0], 0, (const double[]){0, 8, 0, 0, 8});
        assert_near(r.observation[0].seconds, 0.020, 1e-15);
        assert_same(r.observation[0].running, 8.0);
        assert_true(isnan(r.observation[0].printed_length));
    }
    /* Iterations with prefills only, or without the number of decoding requests. */
    assert_int_equal(
        read_record_of(iterations,
                       ITERATION("\"numContextRequests\":1,\"numGenRequests\":0", "null"), -1)
            .n,
        0);
    assert_int_equal(
        read_record_of(iterations, "{\"iterLatencyMS\":20,\"specDecodingStats\":null}", -1).n, 0);
}

TEST(copies_of_other_ranks_are_passed_over)
{
    assert_int_equal(
        read_record_of(iterations, "{\"attentionDpRank\":1,\"specDecodingStats\":" DRAFTS "}", -1)
            .n,
        0);
    assert_int_equal(
        read_record_of(iterations, "{\"attentionDpRank\":0,\"specDecodingStats\":" DRAFTS "}", -1)
            .n,
        1);
}

TEST(contradictions_of_iterations_are_refused)
{
    static const struct {
        const char *text, *line;
    } cases[] = {
        {"{\"specDecodingStats\":{\"numDraftTokens\":24}}",
         "x:7: the count 'numRequestsWithDraftTokens' is missing; it belongs with "
         "'numDraftTokens'"},
        {"{\"specDecodingStats\":3}", "x:7: 'specDecodingStats' is not a JSON object"},
        {"{\"specDecodingStats\":{\"numDraftTokens\":3,\"numAcceptedTokens\":4,"
         "\"numRequestsWithDraftTokens\":8}}",
         "x:7: 'numAcceptedTokens' is 4, more than 'numDraftTokens', 3"},
        {"{\"specDecodingStats\":{\"numDraftTokens\":3,\"numAcceptedTokens\":1,"
         "\"numRequestsWithDraftTokens\":0}}",
         "x:7: 'numDraftTokens' is 3 without a round in 'numRequestsWithDraftTokens'"},
        {"{\"iterLatencyMS\":-1,\"specDecodingStats\":null}",
         "x:7: 'iterLatencyMS' is '-1': expected a number, at least 0"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        read_record_fails(iterations, cases[c].text, cases[c].line);
}

#define CHOICE(steps, width)                                                                       \
    "{\"index\":0,\"text\":\"\",\"avg_decoded_tokens_per_iter\":2.4,\"speculative_decoding\":"     \
    "{\"acceptance_rate\":0.5,\"total_accepted_draft_tokens\":30,\"total_draft_tokens\":60,"       \
    "\"num_spec_steps\":" steps ",\"acceptance_histogram\":[8,0,6,6],\"num_spec_tokens\":" width   \
    "}}"

TEST(a_choice_has_rounds_and_depths)
{
    const read_record r = read_record_of(
        responses, "{\"choices\":[" CHOICE("20", "3") "],\"usage\":{\"completion_tokens\":51}}",
        -1);
    assert_counts(&r.observation[0], 3, (const double[]){20, 20, 60, 30, 51});
    assert_passed(&r.observation[0], 3, (const double[]){12, 12, 6});
    assert_same(r.observation[0].printed_rate, 0.5);
    assert_same(r.observation[0].printed_length, 2.4);
    assert_int_equal(r.learned.generation, 1);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_TIMES);
    /* A schedule of draft lengths has no bound. Two choices share the tokens in `usage`. */
    const read_record two = read_record_of(responses,
                                           "{\"choices\":[" CHOICE("20", "null") "," CHOICE(
                                               "20", "null") "],\"usage\":{\"completion_tokens\":"
                                                             "102}}",
                                           -1);
    assert_int_equal(two.n, 2);
    assert_counts(&two.observation[0], -1, (const double[]){20, NAN, 60, 30, NAN});
    assert_passed(&two.observation[0], 3, (const double[]){12, 12, 6});
    assert_true(isnan(two.observation[0].printed_length));
}

TEST(contradictions_of_choices_are_refused)
{
    read_record_fails(responses, CHOICE("19", "null"),
                      "x:7: 'acceptance_histogram' has 20 rounds, 'num_spec_steps' is 19");
    read_record_fails(
        responses, CHOICE("20", "4"),
        "x:7: 'acceptance_histogram' has 4 entries, 'num_spec_tokens' is 4: expected 5");
    read_record_fails(responses, "{\"total_accepted_draft_tokens\":1,\"total_draft_tokens\":2}",
                      "x:7: the count 'num_spec_steps' is missing; it belongs with "
                      "'total_accepted_draft_tokens'");
}

/* 200 tokens in 80 passes; the mean, with three digits, does not give a whole number of passes. */
TEST(the_mean_gives_passes_where_it_is_exact)
{
    read_record r = read_record_of(responses,
                                   "{\"choices\":[{\"avg_decoded_tokens_per_iter\":2.5}],"
                                   "\"usage\":{\"completion_tokens\":200}}",
                                   -1);
    assert_counts(&r.observation[0], -1, (const double[]){NAN, 80, NAN, 120, 200});
    assert_same(r.observation[0].printed_length, 2.5);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_ROUNDS | SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES);
    assert_int_equal(r.learned.generation, 0);
    r = read_record_of(responses,
                       "{\"choices\":[{\"avg_decoded_tokens_per_iter\":2.41}],"
                       "\"usage\":{\"completion_tokens\":200}}",
                       -1);
    assert_counts(&r.observation[0], -1, (const double[]){NAN, NAN, NAN, NAN, 200});
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_ROUNDS | SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES |
                                         SPEC_LOG_ROUNDED);
    assert_int_equal(
        read_record_of(responses, "{\"choices\":[{\"avg_decoded_tokens_per_iter\":null}]}", -1).n,
        0);
    assert_int_equal(
        read_record_of(responses,
                       "{\"choices\":[{\"avg_decoded_tokens_per_iter\":2.5,"
                       "\"finish_reason\":null}],\"usage\":{\"completion_tokens\":200}}",
                       -1)
            .n,
        0);
}
