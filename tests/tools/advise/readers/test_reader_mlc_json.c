/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/log_format.h"

#include "tests/support/read_record.h"
#include "tests/support/support.h"

static const spec_log_format *const format = &spec_reader_mlc_metrics;

#define METRICS(drafted, accepted)                                                                 \
    "{\"usage\":{\"extra\":{\"engine_decode_time_sum\":12.5,\"spec_decode\":{\"draft_count\":"     \
    "[" drafted "],\"accept_count\":[" accepted                                                    \
    "],\"accept_prob\":{\"accept_prob{step=0}\":1.0}}}}}"

/* 1010 passes, 1000 of them with a draft; the target's own token is the first of each list. */
TEST(lists_are_by_depth_and_begin_with_passes)
{
    const read_record r =
        read_record_of(format, METRICS("1010,1000,1000,900", "1010,800,500,290"), -1);
    const spec_observation *o = &r.observation[0];
    assert_int_equal(r.n, 1);
    assert_true(o->kind == SPEC_OBSERVED_TOTAL);
    assert_counts(o, 3, (const double[]){1000, 1010, 2900, 1590, 2600});
    assert_passed(o, 3, (const double[]){800, 500, 290});
    assert_same(o->seconds, 12.5);
    assert_int_equal(r.learned.gaps, 0);
    const read_record bare =
        read_record_of(format, "{\"draft_count\":[7],\"accept_count\":[7]}", -1);
    assert_counts(&bare.observation[0], 0, (const double[]){0, 7, 0, 0, 7});
    assert_int_equal(bare.learned.gaps, SPEC_LOG_NO_TIMES);
    assert_int_equal(read_record_of(format, METRICS("", ""), -1).n, 0);
}

TEST(drafts_beyond_the_depths_of_an_observation_are_summed)
{
    char text[2048] = "{\"draft_count\":[2";
    for (int i = 0; i < 70; i++) strcat(text, ",2");
    strcat(text, "],\"accept_count\":[2");
    for (int i = 0; i < 70; i++) strcat(text, ",1");
    strcat(text, "]}");
    const read_record r = read_record_of(format, text, -1);
    assert_counts(&r.observation[0], -1, (const double[]){2, 2, 140, 70, 72});
    assert_int_equal(r.observation[0].depths, SPEC_OBSERVED_DEPTHS);
}

TEST(contradictions_are_refused)
{
    static const struct {
        const char *text, *line;
    } cases[] = {
        {METRICS("10,9", "10"), "x:7: 'draft_count' has 2 entries, 'accept_count' 1"},
        {METRICS("10,9", "9,9"),
         "x:7: 'accept_count' begins with 9, 'draft_count' with 10: expected the same number of "
         "passes"},
        {METRICS("10,9,8", "10,5,6"),
         "x:7: 'accept_count' and 'draft_count' have 6 of 8 at 2: expected lists that do not rise, "
         "accepted at most drafted"},
        {METRICS("10,9", "10,10"),
         "x:7: 'accept_count' and 'draft_count' have 10 of 9 at 1: expected lists that do not "
         "rise, accepted at most drafted"},
        {METRICS("10,11", "10,4"),
         "x:7: 'accept_count' and 'draft_count' have 4 of 11 at 1: expected lists that do not "
         "rise, accepted at most drafted"},
        {METRICS("10,-1", "10,4"),
         "x:7: 'draft_count' is '-1': expected a whole number, at least 0 and below 2^53"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        read_record_fails(format, cases[c].text, cases[c].line);
}
