/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/token_file.h"

#include "models/model_open.h"
#include "tests/support/child.h"
#include "tests/support/contexts.h"
#include "tests/support/folder.h"
#include "tests/support/model_of.h"
#include "tests/support/support.h"

#include <string.h>

TEST(a_text_has_the_models_tokens)
{
    static const char text[] = "the cat sat on the mat.\nthe dog sat on the cat.\n\nthe end\n";
    static const char *const units[] = {"bytes", "words"};
    spec_file_write("text.txt", text);
    for (int u = 0; u < 2; u++) {
        char spec[64];
        int *token, n, expected[sizeof text];
        snprintf(spec, sizeof spec, "ngram:text.txt?tokens=%s", units[u]);
        OWNED_MODEL *model = model_of(spec, NULL);
        assert_int_equal(spec_token_file_read(&token, &n, "text.txt", model, NULL), GSL_SUCCESS);
        const size_t has = model->kind->tokenize(model, text, sizeof text - 1, expected,
                                                 sizeof expected / sizeof *expected);
        assert_int_equal(n, has);
        assert_true(n >= 10);
        assert_memory_equal(token, expected, has * sizeof *token);
        free(token);
    }
}

TEST(numbers_are_tokens_of_a_model_without_a_tokenizer)
{
    static const int expected[] = {0, 8, 3, 3};
    OWNED_MODEL *model = model_of("uniform?V=9", NULL);
    int *token, n;
    spec_file_write("numbers.txt", "\n0 8\t3\r\n\n  3");
    assert_int_equal(spec_token_file_read(&token, &n, "numbers.txt", model, NULL), GSL_SUCCESS);
    assert_int_equal(n, 4);
    assert_memory_equal(token, expected, sizeof expected);
    free(token);
}

/* The lines of wrong words are in tests/sim/draft/test_draft_rest.c. */
TEST(a_file_that_cannot_be_read_leaves_nothing)
{
    static const char *const wrong[] = {"nothing", ".", "/dev/null"};
    OWNED_MODEL *model = model_of("uniform?V=9", NULL);
    for (int i = 0; i < 3; i++) {
        spec_error error = {""};
        int unset = 0, *token = &unset, n = 1;
        assert_int_not_equal(spec_token_file_read(&token, &n, wrong[i], model, &error),
                             GSL_SUCCESS);
        assert_null(token);
        assert_int_equal(n, 0);
        assert_non_null(strstr(error.text, wrong[i]));
    }
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
