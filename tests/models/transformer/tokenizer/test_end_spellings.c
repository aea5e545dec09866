/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ends of text of published vocabularies. */
#include "models/transformer/tokenizer/end_spellings.h"

#include "tests/support/support.h"

#include <string.h>

enum { PIECES = 8 };

/* Returns the tokens that end a text, in a vocabulary whose tokens all have one type: "1 3". */
static void assert_ends(const char *const *pieces, spec_piece_type type, const char *expected)
{
    spec_piece piece[PIECES];
    int types[PIECES], n = 0;
    char found[64] = "";
    spec_text_ends ends = {0};
    while (n < PIECES && pieces[n] != NULL) {
        piece[n] = (spec_piece){pieces[n], strlen(pieces[n])};
        types[n++] = type;
    }
    const spec_tokenizer_data data = {.vocab = n, .piece = piece, .opt_type = types};
    spec_end_spellings_find(&ends, &data);
    for (int i = 0; i < n; i++)
        if (spec_text_ends_has(&ends, i))
            snprintf(found + strlen(found), sizeof found - strlen(found), "%s%d",
                     found[0] != '\0' ? " " : "", i);
    assert_string_equal(found, expected);
}

TEST(ends_are_those_of_published_vocabularies)
{
    static const char *const llama3[] = {"<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>",
                                         "<|eom_id|>",        "<|python_tag|>",  NULL},
                             *const qwen[] = {"<|endoftext|>",  "<|im_start|>",
                                              "<|im_end|>",     "<|fim_pad|>",
                                              "<|repo_name|>",  "<|file_sep|>",
                                              "<|fim_middle|>", NULL},
                             *const gemma[] = {"<pad>",           "<eos>",         "<bos>",
                                               "<start_of_turn>", "<end_of_turn>", NULL},
                             *const phi[] = {"<|user|>", "<|end|>", "<|endoftext|>", NULL},
                             *const gpt_oss[] = {"<|start|>",     "<|end|>",    "<|message|>",
                                                 "<|channel|>",   "<|return|>", "<|call|>",
                                                 "<|endoftext|>", NULL},
                             *const plain[] = {"a", "end", "<|end", "eos", NULL};
    assert_ends(llama3, SPEC_PIECE_CONTROL, "1 2 3");
    assert_ends(qwen, SPEC_PIECE_CONTROL, "0 2 3 4 5");
    assert_ends(gemma, SPEC_PIECE_CONTROL, "1 4");
    assert_ends(phi, SPEC_PIECE_CONTROL, "1 2");
    assert_ends(gpt_oss, SPEC_PIECE_CONTROL, "4 5 6"); /* <|end|> ends only a message */
    assert_ends(plain, SPEC_PIECE_CONTROL, "");
}

TEST(tokens_of_text_do_not_end_it)
{
    static const char *const html[] = {"<s>", "</s>", "<|end|>", NULL};
    assert_ends(html, SPEC_PIECE_CONTROL, "1 2");
    assert_ends(html, SPEC_PIECE_NORMAL, "");
    assert_ends(html, SPEC_PIECE_USER, "");
    spec_text_ends ends = {0};
    spec_end_spellings_find(&ends, &(spec_tokenizer_data){0});
    assert_int_equal(ends.n, 0);
}

TEST(a_set_takes_each_token_once)
{
    spec_text_ends ends = {0};
    const int tokens[] = {7, 3, 7, -1, 0, 3};
    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++)
        spec_text_ends_add(&ends, tokens[i]);
    assert_int_equal(ends.n, 3);
    assert_true(ends.token[0] == 7 && ends.token[1] == 3 && ends.token[2] == 0);
    assert_true(spec_text_ends_has(&ends, 0) && !spec_text_ends_has(&ends, 1));
    for (int i = 10; i < 100; i++) spec_text_ends_add(&ends, i);
    assert_int_equal(ends.n, SPEC_TEXT_ENDS_MAX);
}
