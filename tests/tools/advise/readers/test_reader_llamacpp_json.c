/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/log_format.h"

#include "tests/support/read_record.h"
#include "tests/support/support.h"

static const spec_log_format *const format = &spec_reader_llamacpp_response;

#define TIMINGS(counts)                                                                            \
    "{\"content\":\"a\",\"model\":\"m\",\"stop\":true,\"timings\":{\"cache_n\":0,\"prompt_n\":32," \
    "\"predicted_ms\":11082.606" counts "}}"

/* 200 tokens, of which 65 were drafted: 134 passes, including those without a draft. */
TEST(passes_are_tokens_that_were_not_drafted)
{
    static const char text[] =
        TIMINGS(",\"predicted_n\":200,\"draft_n\":347,\"draft_n_accepted\":65");
    read_record r = read_record_of(format, text, -1);
    const spec_observation *o = &r.observation[0];
    assert_int_equal(r.n, 1);
    assert_true(o->kind == SPEC_OBSERVED_REQUEST && o->label != 0);
    assert_counts(o, -1, (const double[]){NAN, 134, 347, 65, 200});
    assert_near(o->seconds, 11.082606, 1e-15);
    assert_same(o->prompt, 32.0);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_ROUNDS | SPEC_LOG_NO_DEPTHS);
    r = read_record_of(format, text, 3);
    assert_counts(&r.observation[0], 3, (const double[]){NAN, 134, 347, 65, 200});
    r = read_record_of(
        format, TIMINGS(",\"predicted_n\":260,\"draft_n\":297,\"draft_n_accepted\":171"), -1);
    assert_counts(&r.observation[0], -1, (const double[]){NAN, 88, 297, 171, 260});
}

/* Tokens that were in the cache are part of the context, too. */
TEST(a_prompt_has_its_cached_tokens)
{
    const read_record r = read_record_of(
        format,
        "{\"timings\":{\"cache_n\":700,\"prompt_n\":32,\"predicted_ms\":11.5,\"predicted_n\":200,"
        "\"draft_n\":347,\"draft_n_accepted\":65}}",
        -1);
    assert_same(r.observation[0].prompt, 732.0);
}

TEST(a_response_without_drafts_is_plain)
{
    const read_record r = read_record_of(format, TIMINGS(",\"predicted_n\":200"), 3);
    assert_counts(&r.observation[0], 0, (const double[]){0, 200, 0, 0, 200});
    assert_near(r.observation[0].seconds, 11.082606, 1e-15);
    /* A run whose drafter drafted nothing is not plain decoding. */
    const read_record none = read_record_of(
        format, TIMINGS(",\"predicted_n\":200,\"draft_n\":0,\"draft_n_accepted\":0"), -1);
    assert_counts(&none.observation[0], -1, (const double[]){NAN, 200, 0, 0, 200});
}

/* jq .timings, jq -s 'map(.timings)', and jq '{...}' with fewer keys. */
TEST(timings_are_read_without_their_response)
{
#define ALONE                                                                                      \
    "{\"predicted_n\":200,\"predicted_ms\":11082.606,\"draft_n\":347,\"draft_n_accepted\":65}"
    static const struct {
        const char *text;
        int n;
        double counts[5], seconds;
        unsigned gaps; /* gaps besides rounds and depths */
    } cases[] = {
        {ALONE, 1, {NAN, 134, 347, 65, 200}, 11.082606, 0},
        {"[\n " ALONE ",\n " ALONE "\n]", 2, {NAN, 134, 347, 65, 200}, 11.082606, 0},
        {"{\"predicted_n\":200,\"predicted_per_second\":25,\"draft_n\":347,"
         "\"draft_n_accepted\":65}",
         1,
         {NAN, 134, 347, 65, 200},
         8.0,
         0},
        {"{\"predicted_n\":200,\"draft_n\":347,\"draft_n_accepted\":65}",
         1,
         {NAN, 134, 347, 65, 200},
         NAN,
         SPEC_LOG_NO_TIMES},
        {"[{\"draft_n\":347,\"draft_n_accepted\":65}]",
         1,
         {NAN, NAN, 347, 65, NAN},
         NAN,
         SPEC_LOG_NO_TIMES},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const read_record r = read_record_of(format, cases[c].text, 3);
        const spec_observation *o = &r.observation[r.n - 1];
        assert_int_equal(r.n, cases[c].n);
        assert_counts(o, 3, cases[c].counts);
        if (isnan(cases[c].seconds))
            assert_true(isnan(o->seconds));
        else
            assert_near(o->seconds, cases[c].seconds, 1e-15);
        assert_int_equal(r.learned.gaps, SPEC_LOG_NO_ROUNDS | SPEC_LOG_NO_DEPTHS | cases[c].gaps);
    }
    const read_record plain =
        read_record_of(format, "{\"predicted_n\":200,\"predicted_per_second\":25}", -1);
    assert_counts(&plain.observation[0], 0, (const double[]){0, 200, 0, 0, 200});
}

TEST(parts_of_a_stream_are_passed_over)
{
#define STREAMED(end) "{" end ",\"timings\":{\"predicted_n\":5,\"predicted_ms\":3}}"
    static const struct {
        const char *text;
        int n;
    } cases[] = {
        {STREAMED("\"content\":\" a\",\"stop\":false"), 0},
        {STREAMED("\"content\":\"\",\"stop\":true"), 1},
        {STREAMED("\"choices\":[{\"finish_reason\":null,\"delta\":{}}]"), 0},
        {STREAMED("\"choices\":[{\"finish_reason\":\"stop\",\"delta\":{}}]"), 1},
        {STREAMED("\"choices\":[],\"usage\":{\"completion_tokens\":5}"), 1},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        assert_int_equal(read_record_of(format, cases[c].text, -1).n, cases[c].n);
}

TEST(contradictions_are_refused)
{
    static const struct {
        const char *text, *line;
    } cases[] = {
        {TIMINGS(",\"predicted_n\":200,\"draft_n\":64,\"draft_n_accepted\":65"),
         "x:7: 'draft_n_accepted' is 65, more than 'draft_n', 64"},
        {TIMINGS(",\"predicted_n\":60,\"draft_n\":347,\"draft_n_accepted\":65"),
         "x:7: 'draft_n_accepted' is 65, more than 'predicted_n', 60"},
        {TIMINGS(",\"predicted_n\":60,\"draft_n\":347"),
         "x:7: 'draft_n_accepted' is missing; it belongs with 'draft_n'"},
        {TIMINGS(",\"predicted_n\":60,\"draft_n_accepted\":3"),
         "x:7: 'draft_n' is missing; it belongs with 'draft_n_accepted'"},
        {TIMINGS(",\"predicted_n\":-60"),
         "x:7: 'predicted_n' is '-60': expected a whole number, at least 0 and below 2^53"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        read_record_fails(format, cases[c].text, cases[c].line);
}

/* 30 rounds of 3 draft tokens, of which 81 are accepted. */
TEST(mlx_vlm_counts_its_rounds)
{
    const read_record r =
        read_record_of(&spec_reader_mlx_vlm_response,
                       "{\"timings\":{\"predicted_n\":111,\"predicted_ms\":2000,\"draft_kind\":"
                       "\"mtp\",\"draft_rounds\":30,\"draft_n\":90,\"draft_n_accepted\":81}}",
                       -1);
    assert_counts(&r.observation[0], -1, (const double[]){30, 30, 90, 81, 111});
    assert_same(r.observation[0].seconds, 2.0);
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_DEPTHS);
    const read_record bare = read_record_of(
        &spec_reader_mlx_vlm_response,
        "{\"timings\":{\"draft_rounds\":30,\"draft_n\":90,\"draft_n_accepted\":81}}", -1);
    assert_counts(&bare.observation[0], -1, (const double[]){30, NAN, 90, 81, NAN});
    assert_int_equal(bare.learned.gaps, SPEC_LOG_NO_DEPTHS | SPEC_LOG_NO_TIMES);
    read_record_fails(&spec_reader_mlx_vlm_response,
                      "{\"timings\":{\"draft_rounds\":0,\"draft_n\":90,\"draft_n_accepted\":81}}",
                      "x:7: 'draft_n' is 90 without a round in 'draft_rounds'");
}
