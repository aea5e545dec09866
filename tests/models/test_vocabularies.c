/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/vocabularies.h"
#include "tests/support/support.h"

#include <string.h>

/* Makes a model whose tokens are the words of a list. */
typedef struct {
    spec_model head;
    const char *const *word;
} listed;

static size_t token_text(const spec_model *model, int token, char *buffer, size_t size)
{
    const char *word = ((const listed *)model)->word[token];
    const int length = snprintf(buffer, size, "%s", word);
    return (size_t)length;
}

static size_t tokenize(const spec_model *model, const char *text, size_t length, int *token,
                       size_t capacity)
{
    (void)model, (void)text;
    if (capacity > 0) token[0] = 0;
    return length;
}

static size_t speechless(const spec_model *model, const char *text, size_t length, int *token,
                         size_t capacity)
{
    (void)model, (void)text, (void)length, (void)token, (void)capacity;
    return 0;
}

static const spec_model_kind with_text = {.name = "listed",
                                          .token_text = token_text,
                                          .tokenize = tokenize},
                             without = {.name = "listed"},
                             without_vocabulary = {.name = "listed",
                                                   .token_text = token_text,
                                                   .tokenize = speechless};

static void check(const listed *target, const listed *draft, const char *line)
{
    spec_error error = {""};
    const int status = spec_vocabularies_check(&target->head, &draft->head, &error);
    assert_int_equal(status, line[0] == '\0' ? GSL_SUCCESS : GSL_EINVAL);
    assert_string_equal(error.text, line);
}

TEST(the_first_token_that_differs_is_named)
{
    const char *const words[] = {"a", " b", "\xc3\xa9"}, *const others[] = {"a", " b", "\xc3\n"};
    listed target = {{.kind = &with_text, .vocab = 3}, words},
           draft = {{.kind = &with_text, .vocab = 3}, words};
    check(&target, &draft, "");
    draft.word = others;
    check(&target, &draft,
          "token 2 is '\\xc3\\x0a' to the draft and '\\xc3\\xa9' to the target: they must share "
          "one vocabulary, or the draft takes vocabulary=target");
    draft.head.vocab = 2;
    check(&target, &draft,
          "the draft has 2 tokens and the target 3: they must share one vocabulary, or the draft "
          "takes vocabulary=target");
    draft.head.kind = &without;
    check(&target, &draft,
          "the draft has 2 tokens and the target 3: they must share one vocabulary");
    draft.head = (spec_model){.kind = &without, .vocab = 3};
    assert_false(spec_vocabularies_speaks(&draft.head));
    check(&target, &draft, ""); /* a model without text cannot differ in it */
    draft.head.kind = &without_vocabulary;
    assert_false(spec_vocabularies_speaks(&draft.head));
    check(&target, &draft, "");
    assert_true(spec_vocabularies_speaks(&target.head));
}

TEST(long_tokens_differ_by_their_length_or_their_front)
{
    char a[600], b[600];
    memset(a, 'x', sizeof a);
    memset(b, 'x', sizeof b);
    a[599] = b[599] = '\0';
    const char *const one[] = {a}, *const other[] = {b};
    const listed target = {{.kind = &with_text, .vocab = 1}, one},
                 draft = {{.kind = &with_text, .vocab = 1}, other};
    check(&target, &draft, "");
    b[254] = 'y';
    spec_error error = {""};
    assert_int_equal(spec_vocabularies_check(&target.head, &draft.head, &error), GSL_EINVAL);
    assert_true(strlen(error.text) < 300); /* cut */
    b[254] = 'x';
    b[598] = '\0';
    assert_int_equal(spec_vocabularies_check(&target.head, &draft.head, &error), GSL_EINVAL);
}
