/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Turns text into tokens and back. */
#include "models/ngram/vocabulary.h"

#include "tests/support/support.h"

#include <gsl/gsl_rng.h>
#include <string.h>

/* Learns a whole text; `token` receives its tokens, as numbered on first occurrence. */
static size_t learn(spec_vocabulary *vocabulary, spec_tokens tokens, const char *text,
                    size_t length, int *token)
{
    size_t n = 0;
    assert_works(spec_vocabulary_init(vocabulary, tokens, &error));
    for (size_t at = 0; at < length; n++) {
        const unsigned char *piece = (const unsigned char *)text + at;
        const size_t used = spec_text_unit_length(tokens, piece, length - at);
        assert_works(spec_vocabulary_add(token + n, vocabulary, piece, used, &error));
        at += used;
    }
    return n;
}

static const char *text_of(const spec_vocabulary *vocabulary, int token)
{
    static char buffer[100];
    spec_vocabulary_text(vocabulary, token, buffer, sizeof buffer);
    return buffer;
}

TEST(bytes_are_their_own_numbers)
{
    OWNED(spec_vocabulary) vocabulary;
    int token[8];
    learn(&vocabulary, SPEC_TOKENS_BYTES, "a\0\xFF", 3, token);
    assert_int_equal(vocabulary.size, 256);
    assert_int_equal(spec_vocabulary_tokenize(&vocabulary, "a\0\xFF", 3, token, 8), 3);
    assert_int_equal(token[0], 'a');
    assert_int_equal(token[1], 0);
    assert_int_equal(token[2], 0xFF);
    char buffer[2];
    assert_int_equal(spec_vocabulary_text(&vocabulary, 0xFF, buffer, 2), 1);
    assert_string_equal(buffer, "\xFF");
}

TEST(characters_are_numbered_by_first_appearance)
{
    static const char text[] = "b\xC3\xA9" "ab\xFF\xEF\xBF\xBD\xF0\x9F\x98\x80\xC3\xA9";
    static const int expected[] = {1, 2, 3, 1, 0, 0, 4, 2};
    OWNED(spec_vocabulary) vocabulary;
    int token[20];
    assert_int_equal(learn(&vocabulary, SPEC_TOKENS_CHARS, text, sizeof text - 1, token), 8);
    assert_memory_equal(token, expected, sizeof expected);
    assert_int_equal(vocabulary.size, 5);
    assert_string_equal(text_of(&vocabulary, 0), "\xEF\xBF\xBD");
    assert_string_equal(text_of(&vocabulary, 4), "\xF0\x9F\x98\x80");
    assert_int_equal(spec_vocabulary_tokenize(&vocabulary, "az", 2, token, 20), 2);
    assert_int_equal(token[0], 3);
    assert_int_equal(token[1], SPEC_VOCABULARY_UNKNOWN);
}

TEST(the_most_frequent_words_are_kept)
{
    static const char text[] = "the cat and the dog and the owl, and a cat";
    /* The first numbers are: the 1, " cat" 2, " and" 3, " the" 4, " dog" 5, " owl" 6, "," 7, " a"
     * 8. The counts are 3 for " and", 2 for " cat" and " the". */
    OWNED(spec_vocabulary) vocabulary;
    int token[20], renumber[9];
    learn(&vocabulary, SPEC_TOKENS_WORDS, text, sizeof text - 1, token);
    assert_int_equal(vocabulary.size, 9);
    assert_works(spec_vocabulary_keep(&vocabulary, 5, renumber, &error));
    static const int expected[9] = {0, 4, 2, 1, 3, 0, 0, 0, 0};
    assert_memory_equal(renumber, expected, sizeof expected);
    assert_int_equal(vocabulary.size, 5);
    assert_int_equal(vocabulary.count[1], 3);
    assert_int_equal(vocabulary.count[SPEC_VOCABULARY_UNKNOWN], 4);
    assert_string_equal(text_of(&vocabulary, 0), "<unk>");
    assert_string_equal(text_of(&vocabulary, 1), " and");
    assert_string_equal(text_of(&vocabulary, 4), "the");
    assert_int_equal(spec_vocabulary_find(&vocabulary, (const unsigned char *)" dog", 4),
                     SPEC_VOCABULARY_UNKNOWN);
}

TEST(keeping_more_words_than_there_are_keeps_all)
{
    OWNED(spec_vocabulary) vocabulary;
    int token[20], renumber[3];
    learn(&vocabulary, SPEC_TOKENS_WORDS, "a b", 3, token);
    assert_works(spec_vocabulary_keep(&vocabulary, 1000, renumber, &error));
    assert_int_equal(vocabulary.size, 3);
}

TEST(a_text_is_recovered_from_its_tokens)
{
    enum { BYTES = 30000 };
    static const char alphabet[] = "abc'  \n.\xC3\xA9\xE2\x80\x99\xFF";
    static char text[BYTES], again[BYTES + 100];
    static int token[BYTES], learnt[BYTES];
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (size_t i = 0; i < BYTES; i++)
        text[i] = alphabet[gsl_rng_uniform_int(rng, sizeof alphabet)];
    static const spec_tokens lossless[] = {SPEC_TOKENS_BYTES, SPEC_TOKENS_WORDS};
    for (int k = 0; k < 2; k++) {
        OWNED(spec_vocabulary) vocabulary;
        const size_t n = learn(&vocabulary, lossless[k], text, BYTES, learnt);
        assert_int_equal(spec_vocabulary_tokenize(&vocabulary, text, BYTES, token, BYTES), n);
        assert_memory_equal(token, learnt, n * sizeof *token);
        size_t used = 0;
        for (size_t i = 0; i < n; i++)
            used +=
                spec_vocabulary_text(&vocabulary, token[i], again + used, SPEC_TEXT_UNIT_MAX + 1);
        assert_int_equal(used, BYTES);
        assert_memory_equal(again, text, BYTES);
    }
}

TEST(a_small_buffer_cuts_and_tells_the_length)
{
    OWNED(spec_vocabulary) vocabulary;
    int token[4];
    char buffer[4] = "???";
    learn(&vocabulary, SPEC_TOKENS_WORDS, "elephant", 8, token);
    assert_int_equal(spec_vocabulary_text(&vocabulary, 1, buffer, 4), 8);
    assert_string_equal(buffer, "ele");
    assert_int_equal(spec_vocabulary_text(&vocabulary, 1, buffer, 0), 8);
    assert_int_equal(spec_vocabulary_tokenize(&vocabulary, "elephant elephant", 17, token, 0), 2);
    assert_int_equal(spec_vocabulary_tokenize(&vocabulary, "", 0, token, 4), 0);
}

TEST(characters_above_the_limit_are_unknown)
{
    OWNED(spec_vocabulary) vocabulary;
    int token;
    assert_works(spec_vocabulary_init(&vocabulary, SPEC_TOKENS_CHARS, &error));
    for (unsigned i = 0; i < SPEC_VOCABULARY_CHARS_MAX + 100; i++) {
        const unsigned char piece[4] = {0xF1, (unsigned char)(0x80 | (i >> 12 & 0x3F)),
                                        (unsigned char)(0x80 | (i >> 6 & 0x3F)),
                                        (unsigned char)(0x80 | (i & 0x3F))};
        assert_works(spec_vocabulary_add(&token, &vocabulary, piece, 4, &error));
        assert_int_equal(token,
                         i + 1 < SPEC_VOCABULARY_CHARS_MAX ? i + 1 : SPEC_VOCABULARY_UNKNOWN);
    }
    assert_int_equal(vocabulary.size, SPEC_VOCABULARY_CHARS_MAX);
}
