/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the protocol's answers in both encodings, and invalid ones. */
#include "tests/support/support.h"
#include "tests/tools/validate/protocol_rounds.h"

#include <string.h>

/* Reads an answer as the subject does; returns the first failing status, or 1 if more bytes are
 * needed. */
static int take(const spec_protocol *protocol, rounds *r, uint32_t scope, const void *bytes,
                size_t n, spec_error *error)
{
    const spec_question q = question_in(scope);
    size_t length;
    fill(r);
    int status = protocol->extent(&length, &q, bytes, n, error);
    if (status != GSL_SUCCESS) return status;
    return length > 0 ? protocol->take_steps(&r->batch, &q, bytes, length, error) : 1;
}

static void expect_two_rounds(const rounds *r)
{
    static const int32_t n_emitted[] = {0, 3, 1}, n_accepted[] = {0, 2, 0},
                         emitted[] = {0, 0, 0, 3, 1, 5, 6, 0, 0};
    assert_memory_equal(r->n_emitted, n_emitted, sizeof n_emitted);
    assert_memory_equal(r->n_accepted, n_accepted, sizeof n_accepted);
    assert_memory_equal(r->emitted, emitted, sizeof emitted);
}

static void expect_answer(const spec_protocol *protocol, rounds *r, uint32_t scope,
                          const void *bytes, size_t n)
{
    assert_works(take(protocol, r, scope, bytes, n, &error));
    expect_two_rounds(r);
}

TEST(answers_of_both_kinds_fill_their_rounds_and_no_others)
{
    rounds r;
    static const int32_t verified[] = {0x43455053, 2, 32, SERIAL, 3, 1, 2, 0, 3, 1, 5, 6};
    static const int32_t drafted[] = {0x43455053, 2, 44, SERIAL, 3, 1, 2, 0, 3, 1, 2, 3, 1, 5, 6};
    static const char line[] = "{\"serial\":7,\"emitted\":[[3,1,5],[6]]}\n",
                      counted[] = "{\"emitted\":[[3,1,5],[6]], \"serial\":7, \"accepted\":[2,0]}\n",
                      drew[] = "{\"serial\":7,\"emitted\":[[3,1,5],[6]],\"drafted\":[[3,1],[2]]}\n";
    static const int32_t token[] = {9, 9, 3, 1, 2, 8};
    expect_answer(&spec_protocol_binary, &r, SPEC_SCOPE_VERIFY, verified, sizeof verified);
    expect_answer(&spec_protocol_binary, &r, SPEC_SCOPE_DRAFT, drafted, sizeof drafted);
    assert_memory_equal(r.token, token, sizeof token);
    expect_answer(&spec_protocol_json, &r, SPEC_SCOPE_VERIFY, line, sizeof line - 1);
    expect_answer(&spec_protocol_json, &r, SPEC_SCOPE_VERIFY, counted, sizeof counted - 1);
    expect_answer(&spec_protocol_json, &r, SPEC_SCOPE_DRAFT, drew, sizeof drew - 1);
    assert_memory_equal(r.token, token, sizeof token);
}

/* An answer cut at any byte waits for the rest; bytes after it are left alone. */
TEST(an_answer_is_whole_or_waited_for)
{
    rounds r;
    size_t length;
    static const int32_t frame[] = {0x43455053, 2, 32, SERIAL, 3, 1, 2, 0, 3, 1, 5, 6, 0x43455053};
    static const char line[] = "{\"serial\":7,\"emitted\":[[3,1,5],[6]]}\n{\"ser";
    const spec_question q = question_in(SPEC_SCOPE_VERIFY);
    for (size_t n = 0; n < 48; n++)
        assert_int_equal(take(&spec_protocol_binary, &r, SPEC_SCOPE_VERIFY, frame, n, NULL), 1);
    assert_int_equal(
        spec_protocol_binary.extent(&length, &q, (const char *)frame, sizeof frame, NULL),
        GSL_SUCCESS);
    assert_int_equal(length, 48);
    for (size_t n = 0; n + 6 < sizeof line - 1; n++)
        assert_int_equal(take(&spec_protocol_json, &r, SPEC_SCOPE_VERIFY, line, n, NULL), 1);
    assert_int_equal(spec_protocol_json.extent(&length, &q, line, sizeof line - 1, NULL),
                     GSL_SUCCESS);
    assert_int_equal(length, sizeof line - 1 - 5);
}

/* Too many tokens are a mistake of the sampler, not of the protocol: as many as fit are kept, with
 * their count. */
TEST(too_many_tokens_do_not_overflow)
{
    rounds r;
    static const int32_t frame[] = {0x43455053, 2, 48, SERIAL, 7, 1, 2, 0, 1, 2, 3, 4, 5, 6, 7, 8};
    static const char line[] = "{\"serial\":7,\"emitted\":[[1,2,3,4,5,6,7],[9999999999]]}\n";
    assert_int_equal(take(&spec_protocol_binary, &r, SPEC_SCOPE_VERIFY, frame, sizeof frame, NULL),
                     GSL_SUCCESS);
    assert_int_equal(r.n_emitted[1], 7);
    assert_int_equal(r.emitted[5], 3);
    assert_int_equal(r.emitted[6], 8);
    assert_int_equal(r.emitted[7], 0);
    assert_int_equal(take(&spec_protocol_json, &r, SPEC_SCOPE_VERIFY, line, sizeof line - 1, NULL),
                     GSL_SUCCESS);
    assert_int_equal(r.n_emitted[1], 7);
    assert_int_equal(r.n_accepted[1], 6);
    assert_int_equal(r.emitted[5], 3);
    assert_int_equal(r.emitted[6], INT32_MAX);
}

TEST(invalid_frames_are_refused)
{
    static const struct {
        uint32_t scope;
        int32_t frame[18];
        const char *says;
    } wrong[] = {
        {SPEC_SCOPE_VERIFY, {0x43455052}, "a frame must begin with 'SPEC', but 'RPEC"},
        {SPEC_SCOPE_VERIFY,
         {0x43455053, 3, 0, SERIAL},
         "an answer of type 3 came to a question of type 2"},
        {SPEC_SCOPE_VERIFY, {0x43455053, 2, 0, 8}, "answer 8 came to question 7"},
        {SPEC_SCOPE_VERIFY,
         {0x43455053, 2, 137, SERIAL},
         "an answer has 137 bytes, but at most 136 make sense here"},
        {SPEC_SCOPE_VERIFY,
         {0x43455053, 2, 0, SERIAL},
         "an answer of 0 bytes is too short for 2 rounds"},
        {SPEC_SCOPE_VERIFY,
         {0x43455053, 2, 4, SERIAL, 1},
         "an answer of 4 bytes is too short for 2 rounds"},
        {SPEC_SCOPE_VERIFY,
         {0x43455053, 2, 12, SERIAL, 1, 1, 0},
         "an answer of 12 bytes is too short for 2 rounds"},
        {SPEC_SCOPE_VERIFY,
         {0x43455053, 2, 20, SERIAL, 1, 1, 0, 0, 5},
         "an answer of 20 bytes is too short"},
        {SPEC_SCOPE_VERIFY,
         {0x43455053, 2, 20, SERIAL, 2, 0, 0, 0, 5},
         "an answer of 20 bytes is too short"},
        {SPEC_SCOPE_VERIFY,
         {0x43455053, 2, 24, SERIAL, 1, 0, 0, 0, 5, 6},
         "an answer of 24 bytes is too long by 4"},
        {SPEC_SCOPE_VERIFY,
         {0x43455053, 2, 25, SERIAL, 1, 1, 0, 0, 5, 6},
         "an answer of 25 bytes is too long by 1"},
        {SPEC_SCOPE_VERIFY,
         {0x43455053, 2, 24, SERIAL, 2, -1, 0, 0, 5, 6},
         "it says that round 1 emitted -1 tokens"},
        {SPEC_SCOPE_DRAFT,
         {0x43455053, 2, 20, SERIAL, 1, 1, 0, 0, 5},
         "an answer of 20 bytes is too short"},
        {SPEC_SCOPE_DRAFT,
         {0x43455053, 2, 24, SERIAL, 1, 1, 0, 0, 5, 6},
         "an answer of 24 bytes is too short"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rounds r;
        spec_error error = {{0}};
        assert_int_equal(take(&spec_protocol_binary, &r, wrong[i].scope, wrong[i].frame,
                              sizeof wrong[i].frame, &error),
                         GSL_EFAILED);
        if (strstr(error.text, wrong[i].says) == NULL)
            fail_msg("%s: %s", wrong[i].says, error.text);
    }
}

/* 136 bytes are the longest valid answer, in which round 1 emits all of its tokens. A round that
 * emits none is a valid answer, and is judged later. */
TEST(the_longest_frame_and_the_emptiest_round_are_read)
{
    rounds r;
    int32_t frame[38] = {0x43455053, 2, 136, SERIAL, 30, 0, 29, 0};
    const spec_question q = question_in(SPEC_SCOPE_VERIFY);
    assert_int_equal(q.most, 136);
    assert_int_equal(take(&spec_protocol_binary, &r, SPEC_SCOPE_VERIFY, frame, sizeof frame, NULL),
                     GSL_SUCCESS);
    assert_int_equal(r.n_emitted[1], 30);
    assert_int_equal(r.n_emitted[2], 0);
}

TEST(invalid_lines_are_refused)
{
    static const char *const wrong[][2] = {
        {"step 1\n",
         "its answer is not a line of JSON, but 'step 1'; only answers may go to standard output"},
        {"\n", "its answer is not a line of JSON, but ''"},
        {"[7]\n", "its answer is not a line of JSON, but '[7]'"},
        {"{\"emitted\":[[3],[6]]}\n", "its answer has no \"serial\": '{\"emitted\":[[3],[6]]}'"},
        {"{\"serial\":8,\"emitted\":[[3],[6]]}\n", "answer 8 came to question 7"},
        {"{\"serial\":-1,\"emitted\":[[3],[6]]}\n", "answer -1 came to question 7"},
        {"{\"serial\":7}\n", "its answer's \"emitted\" must be a list of 2"},
        {"{\"serial\":7,\"emitted\":[[3]]}\n", "its answer's \"emitted\" must be a list of 2"},
        {"{\"serial\":7,\"emitted\":[3,6]}\n", "\"emitted\" of round 0 must be a list of tokens"},
        {"{\"serial\":7,\"emitted\":[[3],[6.0]]}\n",
         "\"emitted\" of round 1 must be a list of tokens"},
        {"{\"serial\":7,\"emitted\":[[3],[\"6\"]]}\n",
         "\"emitted\" of round 1 must be a list of tokens"},
        {"{\"serial\":7,\"emitted\":[[3],[6]],\"accepted\":[0]}\n",
         "its answer's \"accepted\" must be a list of 2"},
        {"{\"serial\":7,\"emitted\":[[3],[6]],\"accepted\":[0,null]}\n", "\"accepted\" of round 1"},
        {"{\"serial\":7,\"emitted\":[[3],[6]]}\n", "its answer's \"drafted\" must be a list of 2"},
        {"{\"serial\":7,\"emitted\":[[3],[6]],\"drafted\":[[1,2],[1,2]]}\n",
         "\"drafted\" of round 1 has 2 tokens instead of 1"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rounds r;
        spec_error error = {{0}};
        const uint32_t scope =
            strstr(wrong[i][1], "drafted") != NULL ? SPEC_SCOPE_DRAFT : SPEC_SCOPE_VERIFY;
        assert_int_equal(
            take(&spec_protocol_json, &r, scope, wrong[i][0], strlen(wrong[i][0]), &error),
            GSL_EFAILED);
        if (strstr(error.text, wrong[i][1]) == NULL) fail_msg("%s: %s", wrong[i][0], error.text);
    }
}

TEST(an_endless_line_is_refused)
{
    static char line[1 << 16];
    rounds r;
    spec_error error = {{0}};
    memset(line, 'x', sizeof line);
    assert_int_equal(take(&spec_protocol_json, &r, SPEC_SCOPE_VERIFY, line, 4096, &error), 1);
    assert_int_equal(take(&spec_protocol_json, &r, SPEC_SCOPE_VERIFY, line, sizeof line, &error),
                     GSL_EFAILED);
    line[sizeof line - 1] = '\n';
    assert_fails_with(take(&spec_protocol_json, &r, SPEC_SCOPE_VERIFY, line, sizeof line, &error),
                      GSL_EFAILED, "longer than any answer: 'xxxx");
}

TEST(texts_and_counters_have_their_length)
{
    const spec_question text =
        spec_protocol_question(SPEC_FRAME_GENERATE, 1, SPEC_SCOPE_STREAM, 0, 3, 0);
    const spec_question count = spec_protocol_question(SPEC_FRAME_COUNTERS, 2, 0, 0, 3, 0);
    static const int32_t words[] = {0x43455053, 3, 12, 1, 4, -5, 6},
                         counters[] = {0x43455053, 4, 24, 2, 6, 0, 3, 0, 7, 0};
    const char *frame = (const char *)words;
    static const char line[] = "{\"serial\":1,\"tokens\":[4,-5,6]}\n",
                      few[] = "{\"serial\":1,\"tokens\":[4,5]}\n",
                      counted[] = "{\"serial\":2,\"drafted\":6,\"accepted\":3,\"emitted\":7}\n",
                      below[] = "{\"serial\":2,\"drafted\":6,\"accepted\":-3,\"emitted\":7}\n";
    int32_t token[3] = {0};
    uint64_t counter[3] = {0};
    spec_error error = {{0}};
    assert_int_equal(spec_protocol_binary.take_text(token, &text, frame, sizeof words, NULL),
                     GSL_SUCCESS);
    assert_true(token[0] == 4 && token[1] == -5 && token[2] == 6);
    assert_int_equal(spec_protocol_binary.take_text(token, &text, frame, 24, &error), GSL_EFAILED);
    assert_string_equal(error.text, "an answer of 8 bytes is too short for 3 numbers");
    token[0] = token[1] = token[2] = 0;
    assert_int_equal(spec_protocol_json.take_text(token, &text, line, sizeof line - 1, NULL),
                     GSL_SUCCESS);
    assert_true(token[0] == 4 && token[1] == -5 && token[2] == 6);
    assert_int_equal(spec_protocol_json.take_text(token, &text, few, sizeof few - 1, NULL),
                     GSL_EFAILED);
    assert_int_equal(spec_protocol_binary.take_counters(counter, &count, (const char *)counters,
                                                        sizeof counters, NULL),
                     GSL_SUCCESS);
    assert_true(counter[0] == 6 && counter[1] == 3 && counter[2] == 7);
    memset(counter, 0, sizeof counter);
    assert_int_equal(
        spec_protocol_json.take_counters(counter, &count, counted, sizeof counted - 1, NULL),
        GSL_SUCCESS);
    assert_true(counter[0] == 6 && counter[1] == 3 && counter[2] == 7);
    assert_int_equal(
        spec_protocol_json.take_counters(counter, &count, below, sizeof below - 1, NULL),
        GSL_EFAILED);
}
