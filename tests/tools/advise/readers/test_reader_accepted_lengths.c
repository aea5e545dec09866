/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/log_format.h"

#include "sim/chance/rng.h"
#include "sim/serving/requests/accepted_lengths.h"
#include "tests/support/read_record.h"
#include "tests/support/support.h"

static const spec_log_format *const format = &spec_reader_accepted_lengths;

#define LINE(name, list)                                                                           \
    "{\"id\": \"134\", \"prompt_token_ids\": [5, 6, 7], \"" name "\": {\"acc_len\": " list "}}"

/* Rounds begin at the second entry: 3 tokens, then 1, then 4, of which K = 2 allows 3. */
TEST(rounds_begin_where_the_one_before_ended)
{
    const read_record r =
        read_record_of(format, LINE("acc_eagle", "[9, 3, 9, 9, 1, 4, 9, 9, 2]"), 2);
    assert_int_equal(r.n, 1);
    assert_true(r.observation[0].kind == SPEC_OBSERVED_REQUEST);
    assert_counts(&r.observation[0], 2, (const double[]){4, NAN, 8, 5, 9});
    assert_passed(&r.observation[0], 2, (const double[]){3, 2});
    assert_int_equal(r.learned.gaps, SPEC_LOG_NO_TIMES);
    assert_string_equal(r.learned.note, "");
    assert_int_equal(read_record_of(format, LINE("acc_eagle", "[1]"), 2).n, 0);
    assert_int_equal(read_record_of(format, "{\"acc_ngram\": [1, 1]}", 2).n, 1);
    assert_int_equal(read_record_of(format, LINE("acc", "[1, 1]"), 2).n, 1);
}

TEST(the_first_of_several_lists_is_read)
{
    const read_record r = read_record_of(
        format, "{\"acc_ngram\": {\"acc_len\": [1, 1]}, \"acc_eagle\": {\"acc_len\": [1, 2]}}", 3);
    assert_int_equal(r.n, 1);
    assert_counts(&r.observation[0], 3, (const double[]){1, NAN, 3, 1, 2});
    assert_string_equal(
        r.learned.note,
        "reads acc_eagle, not acc_ngram; for that one: jq -c 'del(.acc_eagle)' FILE");
    const read_record other = read_record_of(format, LINE("acc_ngram", "[1, 1]"), 3);
    assert_true(other.observation[0].label != r.observation[0].label);
}

TEST(a_draft_length_is_needed)
{
    for (int K = -1; K <= SPEC_OBSERVED_DEPTHS + 1; K += K == 0 ? SPEC_OBSERVED_DEPTHS + 1 : 1) {
        const read_record r = read_record_with(format, LINE("acc_eagle", "[1, 2]"), K);
        assert_int_equal(r.status, GSL_EUNSUP);
        assert_string_equal(r.error.text,
                            "x: accepted lengths are valid for any draft length up to 64; choose "
                            "the one to replay, as in --current 5");
    }
}

TEST(mistakes_are_refused)
{
    static const struct {
        const char *text, *line;
    } cases[] = {
        {LINE("acc_eagle", "[1, 0]"),
         "x:7: 'acc_eagle' has a length 0: expected 1 to 128, the bonus token included"},
        {LINE("acc_eagle", "[1, 129]"),
         "x:7: 'acc_eagle' has a length 129: expected 1 to 128, the bonus token included"},
        {LINE("acc_eagle", "[1, 1.5]"),
         "x:7: 'acc_eagle' is '1.5': expected a whole number, at least 0 and below 2^53"},
        {"{\"acc_eagle\": {\"acc_len\": [1, 1",
         "x:7: the JSON object with 'acc_eagle' has no end; is the record truncated?"},
        {LINE("acc_eagle", "[1, 1"), "x:7: malformed JSON: ']' expected near '}'"},
        {LINE("acc_eagle", "[]"), "x:7: 'acc_eagle' is not a list of accepted lengths"},
        {LINE("acc_eagle", "[1 2]"), "x:7: malformed JSON: ']' expected near '2'"},
        {LINE("acc_eagle", "3"), "x:7: 'acc_eagle' is not a list of accepted lengths"},
        {"{\"acc_eagle\": null}", "x:7: 'acc_eagle' is not a list of accepted lengths"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const read_record r = read_record_with(format, cases[c].text, 3);
        assert_int_equal(r.status, GSL_EINVAL);
        assert_string_equal(r.error.text, cases[c].line);
    }
}

/* A second route: the module that replays these files in `serve`. */
TEST(counts_are_those_of_a_replay)
{
    OWNED_RNG *rng = spec_rng_alloc();
    assert_non_null(rng);
    spec_rng_stream(rng, spec_test_seed(), 0);
    for (int i = 0; i < 200; i++) {
        char text[4096] = "{\"acc_eagle_three\": [1";
        for (int n = 1 + (int)gsl_rng_uniform_int(rng, 300), k = 0; k < n; k++) {
            const size_t used = strlen(text);
            snprintf(text + used, sizeof text - used, ", %lu", 1 + gsl_rng_uniform_int(rng, 8));
        }
        strcat(text, "]}\n");
        OWNED(spec_accepted_lengths) lengths;
        FILE *file = fmemopen(text, strlen(text), "r");
        assert_non_null(file);
        assert_int_equal(spec_accepted_lengths_read(&lengths, file, "x", NULL, NULL), GSL_SUCCESS);
        fclose(file);
        for (int K = 1; K <= 9; K += 4) {
            const read_record r = read_record_of(format, text, K);
            const spec_accepted_count count = spec_accepted_lengths_count(&lengths, 0, K);
            assert_counts(&r.observation[0], K,
                          (const double[]){(double)count.rounds, NAN, (double)count.rounds * K,
                                           (double)count.accepted,
                                           (double)(count.rounds + count.accepted)});
            double sum = 0.0;
            for (int j = 0; j < K; j++) sum += r.observation[0].passed[j];
            assert_same(sum, (double)count.accepted);
        }
    }
}
