/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/log_format.h"

#include "tests/support/read_record.h"
#include "tests/support/support.h"

static const spec_log_format *const format = &spec_reader_lmstudio_response;

#define STATS(counts)                                                                              \
    "{\"stats\":{\"stopReason\":\"eosFound\",\"tokensPerSecond\":25.0,\"predictedTokensCount\":"   \
    "200" counts "}}"

/* 200 tokens, of which 120 were drafted: 80 passes. */
TEST(stats_have_passes_and_a_time)
{
    const read_record r =
        read_record_of(format,
                       STATS(",\"totalDraftTokensCount\":240,\"acceptedDraftTokensCount\":120,"
                             "\"rejectedDraftTokensCount\":110,\"ignoredDraftTokensCount\":10"),
                       3);
    assert_int_equal(r.n, 1);
    assert_true(r.observation[0].kind == SPEC_OBSERVED_REQUEST);
    assert_counts(&r.observation[0], 3, (const double[]){NAN, 80, 240, 120, 200});
    assert_same(r.observation[0].seconds, 8.0);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_ROUNDS | SPEC_LOG_NO_DEPTHS);
}

TEST(stats_without_drafts_are_plain)
{
    const read_record r = read_record_of(format, STATS(""), 3);
    assert_counts(&r.observation[0], 0, (const double[]){0, 200, 0, 0, 200});
    assert_same(r.observation[0].seconds, 8.0);
    const read_record none = read_record_of(format, STATS(",\"totalDraftTokensCount\":null"), 3);
    assert_counts(&none.observation[0], 0, (const double[]){0, 200, 0, 0, 200});
}

#define USAGE "\"usage\":{\"prompt_tokens\":66,\"completion_tokens\":300"
#define SPEED "\"stats\":{\"tokens_per_second\":15.0,\"time_to_first_token\":1.2,"

/* The REST interface has the counts in `usage` or in `stats`. */
TEST(the_rest_interface_has_names_of_its_own)
{
    static const char *const texts[] = {
        "{" USAGE ",\"total_draft_tokens_count\":492,\"accepted_draft_tokens_count\":176,"
        "\"rejected_draft_tokens_count\":316}," SPEED "\"generation_time\":20}}",
        "{" USAGE "}," SPEED "\"generation_time\":20,\"total_draft_tokens_count\":492,"
        "\"accepted_draft_tokens_count\":176}}"};
    for (int i = 0; i < 2; i++) {
        const read_record r = read_record_of(format, texts[i], -1);
        assert_counts(&r.observation[0], -1, (const double[]){NAN, 123, 492, 176, 300});
        assert_same(r.observation[0].seconds, 20.0);
    }
    const read_record plain =
        read_record_of(format, "{" USAGE "}," SPEED "\"generation_time\":20}}", -1);
    assert_counts(&plain.observation[0], 0, (const double[]){0, 300, 0, 0, 300});
    const read_record bare = read_record_of(
        format, "{\"total_draft_tokens_count\":492,\"accepted_draft_tokens_count\":176}", -1);
    assert_counts(&bare.observation[0], -1, (const double[]){NAN, NAN, 492, 176, NAN});
    assert_int_equal(bare.learned.gaps,
                     SPEC_LOG_NO_ROUNDS | SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES);
    /* With two responses in an object, neither has the other's tokens. */
    char two[1024];
    snprintf(two, sizeof two, "{\"all\":[%s,%s]}", texts[0], texts[1]);
    const read_record r = read_record_of(format, two, -1);
    assert_int_equal(r.n, 1); /* the first one has a speed but no counts */
    assert_counts(&r.observation[0], -1, (const double[]){NAN, NAN, 492, 176, NAN});
}

TEST(contradictions_are_refused)
{
    static const struct {
        const char *text, *line;
    } cases[] = {
        {STATS(",\"totalDraftTokensCount\":100,\"acceptedDraftTokensCount\":120"),
         "x:7: 'acceptedDraftTokensCount' is 120, more than 'totalDraftTokensCount', 100"},
        {STATS(",\"totalDraftTokensCount\":300,\"acceptedDraftTokensCount\":220"),
         "x:7: 'acceptedDraftTokensCount' is 220, more than 'predictedTokensCount', 200"},
        {STATS(",\"totalDraftTokensCount\":100"),
         "x:7: 'acceptedDraftTokensCount' is missing; it belongs with 'totalDraftTokensCount'"},
        {STATS(",\"totalDraftTokensCount\":100,\"acceptedDraftTokensCount\":50,"
               "\"rejectedDraftTokensCount\":50,\"ignoredDraftTokensCount\":1"),
         "x:7: accepted, rejected and ignored draft tokens are 101, 'totalDraftTokensCount' is "
         "100"},
        {STATS(",\"totalDraftTokensCount\":1.5"),
         "x:7: 'totalDraftTokensCount' is '1.5': expected a whole number, at least 0 and below "
         "2^53"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        read_record_fails(format, cases[c].text, cases[c].line);
}
