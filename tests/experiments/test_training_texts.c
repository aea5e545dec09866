/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Windows of a text avoid what the vocabulary lacks and what is held out; sampled texts follow the
 * model and do not depend on threads. */
#include "experiments/training_texts.h"
#include "models/model_open.h"
#include "models/row.h"
#include "tests/support/child.h"
#include "tests/support/contexts.h"
#include "tests/support/folder.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

enum { PLACES = 10, VOCAB = 29 };

/* The tokens are <unk> or none, <s>, the letters and a blank. */
static spec_tokenizer *letters(bool has_unknown)
{
    static char text[VOCAB][8];
    static spec_piece piece[VOCAB];
    static int type[VOCAB];
    for (int i = 0; i < VOCAB; i++) {
        snprintf(text[i], sizeof text[i],
                 i == 0   ? "<unk>"
                 : i == 1 ? "<s>"
                          : "%c",
                 i == VOCAB - 1 ? ' ' : 'a' + i - 2);
        piece[i] = (spec_piece){text[i], strlen(text[i])};
        type[i] = i == 0   ? (has_unknown ? SPEC_PIECE_UNKNOWN : SPEC_PIECE_UNUSED)
                  : i == 1 ? SPEC_PIECE_CONTROL
                           : SPEC_PIECE_NORMAL;
    }
    spec_tokenizer *tokenizer;
    const spec_tokenizer_data data = {.kind = SPEC_TOKENIZER_SPM,
                                      .vocab = VOCAB,
                                      .piece = piece,
                                      .opt_type = type,
                                      .pre = "",
                                      .unknown = has_unknown ? 0 : -1};
    assert_works(spec_tokenizer_init(&tokenizer, &data, &error));
    return tokenizer;
}

/* 400 letters, a..z in turn, with foreign characters after letters 99 and 260 in line 3. */
static void put_text(void)
{
    FILE *file = fopen("text.txt", "w");
    assert_non_null(file);
    for (int i = 0; i < 400; i++) {
        fputc('a' + i % 26, file);
        if (i == 99 || i == 260) fputs("\xc5\x93\xe2\x82\xac", file);
        if (i == 99 || i == 260) fputs("\xc3\xa9", file);
    }
    assert_int_equal(fclose(file), 0);
}

static bool follows(int a, int b)
{
    return b - 2 == (a - 2 + 1) % 26;
}

static void check_windows(bool has_unknown)
{
    spec_tokenizer *tokenizer = letters(has_unknown);
    spec_training_texts texts;
    int token[8 * PLACES], next[8 * PLACES];
    bool reached[400] = {false};
    assert_works(spec_training_texts_load(&texts, "text.txt", tokenizer, 1, PLACES, &error));
    assert_int_equal(texts.n, has_unknown ? 406 : 400);
    assert_true(texts.n_unknown > 0 && texts.unknown_line == 1);
    for (int step = 0; step < 200; step++) {
        spec_training_texts_batch(token, next, &texts, 8, 3, step);
        for (int i = 0; i < 8; i++) {
            const int *in = token + i * PLACES, *out = next + i * PLACES;
            assert_int_equal(in[0], 1);
            for (int t = 1; t < PLACES; t++) {
                assert_int_equal(in[t], out[t - 1]);
                assert_true(out[t] >= 2 && follows(out[t - 1], out[t]));
            }
        }
    }
    for (size_t i = 0; i < texts.n_starts; i++) {
        assert_true(texts.start[i] + PLACES <= texts.n);
        reached[texts.start[i]] = true;
        if (i < texts.n_training_starts)
            assert_true(texts.start[i] + PLACES <= texts.n_training);
        else
            assert_true(texts.start[i] >= texts.n_training);
    }
    assert_true(reached[0] && reached[90] && !reached[91]); /* 91..100 ends before the first one */
    spec_training_texts_held_out(token, next, &texts, 0, 4);
    assert_memory_equal(next, texts.token + texts.n_training, PLACES * sizeof *next);
    spec_training_texts_held_out(token, next, &texts, 3, 4);
    assert_memory_equal(next, texts.token + texts.n - PLACES, PLACES * sizeof *next);
    spec_training_texts_free(&texts);
    spec_tokenizer_free(tokenizer);
}

TEST(windows_avoid_foreign_characters_and_what_is_held_out)
{
    put_text();
    check_windows(true);
    check_windows(false);
}

TEST(a_short_text_is_refused)
{
    spec_tokenizer *tokenizer = letters(true);
    spec_training_texts texts;
    spec_file_write("short.txt", "abcdefghijklmnopqrstuvwxyz");
    assert_fails(spec_training_texts_load(&texts, "short.txt", tokenizer, 1, PLACES, &error),
                 GSL_EINVAL,
                 "short.txt: its 26 tokens, 0 of them unknown, have too few "
                 "windows of 10 known tokens; the last tenth is held out");
    assert_status(spec_training_texts_load(&texts, "none.txt", tokenizer, 1, PLACES, &error),
                  GSL_EFAILED);
    spec_tokenizer_free(tokenizer);
}

TEST(sampled_texts_follow_the_model)
{
    OWNED_MODEL *model;
    spec_session session;
    spec_error error;
    spec_training_texts one, three, greedy;
    double room[50];
    int token[PLACES], next[PLACES];
    assert_works(spec_model_open(&model,
                                 "random?dim=32&layers=1&heads=2&ffn=64&vocab=50&"
                                 "context=16&type=f32",
                                 NULL, spec_test_context(1), &error));
    spec_training_sampling how = {
        .model = model, .begin = 1, .places = PLACES, .count = 5, .seed = 3};
    assert_works(spec_training_texts_sample(&one, NULL, &how, NULL, &error));
    assert_works(spec_training_texts_sample(&three, NULL, &how, spec_test_pool(3), &error));
    assert_int_equal(one.n, 5 * PLACES);
    assert_memory_equal(one.token, three.token, one.n * sizeof *one.token);
    assert_true(memcmp(one.token, one.token + PLACES, PLACES * sizeof *one.token) != 0);
    spec_training_texts_batch(token, next, &one, 1, 3, 0);
    assert_int_equal(token[0], 1);
    assert_memory_equal(token + 1, next, (PLACES - 1) * sizeof *next);

    how.greedy = true;
    how.prompt = 4;
    assert_works(spec_training_texts_sample(&greedy, &one, &how, NULL, &error));
    assert_works(spec_session_init(&session, model, &error));
    for (int i = 0; i < 5; i++) {
        const int *text = greedy.token + i * PLACES;
        assert_memory_equal(text, one.token + i * PLACES, 4 * sizeof *text);
        for (int t = 4; t < PLACES; t++)
            assert_int_equal(
                text[t],
                spec_row_argmax(spec_session_row(&session, text, (size_t)t, room, &error), 50));
    }
    spec_session_free(&session);
    spec_training_texts_free(&one);
    spec_training_texts_free(&three);
    spec_training_texts_free(&greedy);
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
