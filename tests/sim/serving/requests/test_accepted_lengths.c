/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/requests/accepted_lengths.h"

#include "sim/chance/rng.h"
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

static int read_text(spec_accepted_lengths *lengths, const char *text, const char *opt_field,
                     spec_error *error)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    assert_non_null(file);
    const int status = spec_accepted_lengths_read(lengths, file, "x", opt_field, error);
    fclose(file);
    return status;
}

static spec_accepted_lengths lengths_of(const char *text, const char *opt_field)
{
    spec_accepted_lengths lengths;
    assert_works(read_text(&lengths, text, opt_field, &error));
    return lengths;
}

/* The first n rounds of a request accept these numbers. */
static void replays(const spec_accepted_lengths *lengths, int request, int K, int n,
                    const int *accepted)
{
    int32_t place = 0;
    for (int i = 0; i < n; i++)
        assert_int_equal(spec_accepted_lengths_next(lengths, request, &place, K), accepted[i]);
}

TEST(plain_lengths_are_those_of_rounds_in_order)
{
    OWNED(spec_accepted_lengths) lengths = lengths_of("# rounds\n3 0 5,1\n\n 127\t2 \r\n0\n", NULL);
    assert_true(lengths.n == 3 && lengths.most == 127 && !lengths.by_position);
    assert_true(lengths.prompt == NULL && lengths.output == NULL);
    replays(&lengths, 0, 9, 6, (const int[]){3, 0, 5, 1, 3, 0});
    replays(&lengths, 0, 2, 6, (const int[]){2, 0, 2, 1, 2, 0});
    replays(&lengths, 0, 0, 3, (const int[]){0, 0, 0});
    replays(&lengths, 1, 200, 3, (const int[]){127, 2, 127});
    replays(&lengths, 2, 5, 3, (const int[]){0, 0, 0});
    assert_near(lengths.alpha[0], 9.0 / 13.0, 1e-7); /* a rejected token is tested, too */
    assert_near(lengths.alpha[1], 129.0 / 130.0, 1e-7);
    assert_same(lengths.alpha[2], 0.0);
}

/* As in SpecDecode-Bench: the accepted lengths at the tokens of the output, with the bonus token;
 * the first token comes from the prefill. */
#define LINE(name, list)                                                                           \
    "{\"id\": \"134\", \"prompt_token_ids\": [5, 6, 7], \"generated_token_ids\": [1], \"" name     \
    "\": {\"acc_len\": " list "}}\n"

TEST(a_round_takes_the_length_of_the_token_where_it_begins)
{
    OWNED(spec_accepted_lengths) lengths =
        lengths_of(LINE("acc_eagle", "[1, 5, 4, 3, 2, 1, 3, 1]") LINE("acc_eagle", "[1]"), NULL);
    assert_true(lengths.n == 2 && lengths.most == 4 && lengths.by_position);
    assert_true(lengths.prompt[0] == 3 && lengths.output[0] == 8 && lengths.output[1] == 1);
    replays(&lengths, 0, 9, 3, (const int[]){4, 2, 3}); /* 5 + 3 tokens, one past the end */
    replays(&lengths, 0, 2, 4, (const int[]){2, 1, 2, 2});
    replays(&lengths, 0, 1, 5, (const int[]){1, 1, 0, 1, 1});
    replays(&lengths, 0, 0, 8, (const int[]){0, 0, 0, 0, 0, 0, 0, 0});
    replays(&lengths, 1, 9, 2, (const int[]){0, 0});
    const spec_accepted_count count = spec_accepted_lengths_count(&lengths, 0, 2);
    assert_true(count.rounds == 3 && count.accepted == 5 && count.tested == 6);
}

TEST(a_field_is_chosen_by_name, .setup = spec_folder_enter, .teardown = spec_folder_leave)
{
    static const char both[] =
        "{\"acc_eagle\": {\"acc_len\": [1, 2]}, \"acc_ngram\": {\"acc_len\": "
        "[1, 4]}, \"mine\": [1, 7]}\n";
    spec_accepted_lengths lengths = lengths_of(both, "acc_ngram");
    assert_int_equal(lengths.most, 3);
    assert_null(lengths.prompt);
    spec_accepted_lengths_free(&lengths);
    lengths = lengths_of(both, "mine");
    assert_int_equal(lengths.most, 6);
    spec_accepted_lengths_free(&lengths);

    spec_file_write("a.jsonl", both);
    assert_works(spec_accepted_lengths_load(&lengths, "a.jsonl?field=acc_eagle", &error));
    assert_int_equal(lengths.most, 1);
    spec_accepted_lengths_free(&lengths);
    assert_fails(spec_accepted_lengths_load(&lengths, "a.jsonl", &error), GSL_EINVAL,
                 "a.jsonl:1: has lengths in acc_eagle, acc_ngram: choose one, as "
                 "in FILE?field=acc_ngram");
    assert_fails(spec_accepted_lengths_load(&lengths, "b.jsonl?field=a", &error), GSL_EFAILED,
                 "b.jsonl: No such file or directory");
}

/* Random lengths in both forms: the rounds give the same numbers of tokens as a loop over the
 * lengths. */
TEST(random_lengths_come_back_and_are_counted, .setup = spec_folder_enter,
     .teardown = spec_folder_leave)
{
    enum { N = 1500, MOST = 40 };
    spec_rng_state rng = spec_rng_stream_state(spec_test_seed(), 2);
    static int written[N][MOST], n[N];
    for (int json = 0; json < 2; json++) {
        FILE *file = fopen("lengths", "w");
        assert_non_null(file);
        for (int r = 0; r < N; r++) {
            n[r] = 1 + (int)(spec_rng_next(&rng) % (MOST - 1));
            fputs(json ? "{\"acc\": {\"acc_len\": [1" : "", file);
            for (int i = 0; i < n[r]; i++) {
                written[r][i] = (int)(spec_rng_next(&rng) % 12);
                fprintf(file, json ? ", %d" : "%d ", written[r][i] + json);
            }
            fputs(json ? "]}}\n" : "\n", file);
        }
        assert_int_equal(fclose(file), 0);
        OWNED(spec_accepted_lengths) lengths;
        assert_int_equal(spec_accepted_lengths_load(&lengths, "lengths", NULL), GSL_SUCCESS);
        assert_int_equal(lengths.n, N);
        for (int r = 0; r < N; r++) {
            const int K = r % 9;
            spec_accepted_count expected = {0};
            assert_int_equal(lengths.first[r + 1] - lengths.first[r], n[r]);
            for (int i = 0; i < n[r]; i++)
                assert_int_equal(lengths.length[lengths.first[r] + i], written[r][i]);
            for (int i = 0, accepted; i < n[r]; i += json ? accepted + 1 : 1) {
                accepted = written[r][i] < K ? written[r][i] : K;
                expected.rounds++;
                expected.accepted += accepted;
                expected.tested += accepted == K ? K : accepted + 1;
            }
            const spec_accepted_count count = spec_accepted_lengths_count(&lengths, r, K);
            assert_memory_equal(&count, &expected, sizeof count);
        }
    }
}

TEST(every_mistake_has_its_line)
{
    static const struct {
        const char *text, *field, *error;
    } cases[] = {
        {"\n", NULL, "x: is empty"},
        {"1 2\n, ,\n", NULL, "x:2: has no length"},
        {"1 -2\n", NULL, "x:1: '-2' is not a number of accepted tokens, 0 to 127"},
        {"1 128\n", NULL, "x:1: '128' is not a number of accepted tokens, 0 to 127"},
        {"1 99999999999999999999\n", NULL,
         "x:1: '99999999999999999999' is not a number of accepted tokens, 0 to 127"},
        {"1.5\n", NULL, "x:1: '1.5' is not a number of accepted tokens, 0 to 127"},
        {"1 2\n", "acc", "x:1: is plain text: it has no field 'acc'"},
        {"{\"id\": 1}\n", NULL,
         "x:1: has no accepted lengths: name their field, as in FILE?field=acc_eagle"},
        {"{\"id\": 1}\n", "id", "x:1: has no list of lengths 'id', nor 'id' with a list 'acc_len'"},
        {LINE("acc", "[]"), NULL, "x:1: has no length"},
        {LINE("acc", "[1, 0]"), NULL,
         "x:1: 'acc' has a length that is not a whole number from 1 to 128, the bonus token "
         "included"},
        {LINE("acc", "[1, 129]"), NULL,
         "x:1: 'acc' has a length that is not a whole number from 1 to 128, the bonus token "
         "included"},
        {LINE("acc", "[1, 2.0]"), NULL,
         "x:1: 'acc' has a length that is not a whole number from 1 to 128, the bonus token "
         "included"},
        {LINE("acc", "[1, 2]") LINE("acc_ngram", "[1]"), NULL,
         "x:2: has no list of lengths 'acc', nor 'acc' with a list 'acc_len'"},
        {LINE("acc", "[1, 2]") "3 4\n", NULL, "x:2: '[' or '{' expected near '3' at byte 1"},
        {LINE("acc", "[1, 2]") "[]\n", NULL, "x:2: is not a JSON object"},
        {LINE("acc", "[1, 2]"),
         "a_name_that_is_longer_than_any_field_of_any_file_that_anybody_has_written",
         "x: the name of the field is too long"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spec_accepted_lengths lengths;
        assert_fails(read_text(&lengths, cases[c].text, cases[c].field, &error), GSL_EINVAL,
                     cases[c].error);
        assert_true(lengths.n == 0 && lengths.first == NULL && lengths.length == NULL);
    }
}
