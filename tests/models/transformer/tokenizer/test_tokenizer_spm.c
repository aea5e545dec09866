/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks SPM: the definition by strings, known texts, user-defined pieces, bytes, invalid
 * vocabularies. */
#include "models/transformer/files/llama2c_vocabulary.h"
#include "models/transformer/tokenizer/tokenizer.h"

#include "tests/models/transformer/tokenizer/small_vocabulary.h"
#include "tests/support/support.h"

#include <gsl/gsl_rng.h>
#include <math.h>
#include <time.h>

#define BLANK "\xE2\x96\x81"

static int find(const vocabulary *v, const char *text, size_t length)
{
    for (int i = 0; i < v->n; i++) {
        if (v->type[i] == SPEC_PIECE_NORMAL && v->piece[i].length == length &&
            memcmp(v->piece[i].bytes, text, length) == 0) {
            return i;
        }
    }
    return -1;
}

/* SentencePiece's definition, on strings. Of all neighbours that form a piece, merge the
 * best-scored, the leftmost among equals; a remaining character that is not a piece becomes its
 * bytes. */
static size_t by_definition(const vocabulary *v, const char *text, size_t length, int *token)
{
    size_t begin[256], n = 0, tokens = 0;
    for (size_t i = 0; i < length; i++) {
        if (((unsigned char)text[i] & 0xC0) != 0x80) begin[n++] = i;
    }
    begin[n] = length;
    for (;;) {
        float best = -INFINITY;
        size_t place = n;
        for (size_t i = 0; i + 1 < n; i++) {
            const int piece = find(v, text + begin[i], begin[i + 2] - begin[i]);
            if (piece >= 0 && v->score[piece] > best) {
                best = v->score[piece];
                place = i;
            }
        }
        if (place == n) break;
        memmove(begin + place + 1, begin + place + 2, (n - place - 1) * sizeof *begin);
        n--;
    }
    for (size_t i = 0; i < n; i++) {
        const int piece = find(v, text + begin[i], begin[i + 1] - begin[i]);
        if (piece >= 0) token[tokens++] = piece;
        else
            for (size_t k = begin[i]; k < begin[i + 1]; k++)
                token[tokens++] = (unsigned char)text[k];
    }
    return tokens;
}

/* Draws random vocabularies over five characters, not all of which are pieces; few scores, so that
 * they tie; blanks inside pieces or only before them. */
TEST(tokens_are_those_of_the_definition)
{
    static const char *const character[] = {"a", "b", " ", "\xC3\xA9", "\xE2\x82\xAC"};
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus2, spec_test_seed());
    FREED vocabulary *v = malloc(sizeof *v);
    assert_non_null(v);
    for (int round = 0; round < 300; round++) {
        memset(v, 0, sizeof *v);
        vocabulary_add_bytes(v);
        const bool blank_first = round % 2 == 0;
        for (unsigned long i = gsl_rng_uniform_int(rng, 40); i > 0; i--) {
            char piece[32] = "";
            for (unsigned long k = 0, n = 1 + gsl_rng_uniform_int(rng, 1 + i % 5); k < n; k++) {
                const char *next = character[gsl_rng_uniform_int(rng, 5)];
                if (next[0] != ' ' || !blank_first || k == 0) strcat(piece, next);
            }
            if (find(v, piece, strlen(piece)) >= 0) continue;
            vocabulary_add(v, piece, strlen(piece), (float)gsl_rng_uniform_int(rng, 8),
                           SPEC_PIECE_NORMAL);
        }
        const spec_tokenizer_data data = vocabulary_data(v, SPEC_TOKENIZER_SPM);
        spec_tokenizer *t = vocabulary_open(&data);
        for (int k = 0; k < 20; k++) {
            char text[256] = "";
            int token[256], expected[256];
            for (unsigned long n = gsl_rng_uniform_int(rng, 70); n > 0; n--) {
                strcat(text, character[gsl_rng_uniform_int(rng, 5)]);
            }
            const size_t n = spec_tokenizer_encode(t, text, strlen(text), token, 256);
            assert_int_equal(n, by_definition(v, text, strlen(text), expected));
            assert_memory_equal(token, expected, n * sizeof *token);
            vocabulary_reads_back(t, text, strlen(text), false);
        }
        spec_tokenizer_free(t);
    }
}

static void fill(vocabulary *v, const char *blank)
{
    char piece[16];
    memset(v, 0, sizeof *v);
    vocabulary_add_bytes(v);
    static const char *const merged[] = {"a", "b", "ab", "aba", "bb"};
    for (int i = 0; i < 5; i++)
        vocabulary_add(v, merged[i], strlen(merged[i]), (float)-i, SPEC_PIECE_NORMAL);
    vocabulary_add(v, blank, strlen(blank), -5.0f, SPEC_PIECE_NORMAL);
    snprintf(piece, sizeof piece, "%sab", blank);
    vocabulary_add(v, piece, strlen(piece), -6.0f, SPEC_PIECE_NORMAL);
}

/* Tokens are the same whether vocabularies spell blanks as blanks (llama2.c) or as U+2581
 * (SentencePiece); only in the latter is U+2581 in a text read as a blank. */
TEST(blanks_are_blanks_however_they_are_spelled)
{
    vocabulary *v = *state;
    for (int spelled = 0; spelled < 2; spelled++) {
        fill(v, spelled ? BLANK : " ");
        spec_tokenizer_data data = vocabulary_data(v, SPEC_TOKENIZER_SPM);
        spec_tokenizer *t = vocabulary_open(&data);
        vocabulary_cuts(t, "ab ab  abb", "ab| ab| | ab|b");
        vocabulary_cuts(t, "a" BLANK "ab", spelled ? "a| ab" : "a|\xE2|\x96|\x81|ab");
        spec_tokenizer_free(t);
        data.adds_space = true;
        t = vocabulary_open(&data);
        vocabulary_cuts(t, "abab", " ab|ab");
        vocabulary_cuts(t, " ab", " | ab");
        vocabulary_cuts(t, "", "");
        spec_tokenizer_free(t);
    }
}

TEST(characters_without_a_piece_are_bytes_or_unknown)
{
    vocabulary *v = *state;
    fill(v, " ");
    int token[8];
    spec_tokenizer_data data = vocabulary_data(v, SPEC_TOKENIZER_SPM);
    spec_tokenizer *t = vocabulary_open(&data);
    assert_int_equal(spec_tokenizer_encode(t, "a\xE2\x82\xAC\xFF", 5, token, 8), 5);
    assert_int_equal(token[1], 0xE2);
    assert_int_equal(token[4], 0xFF);
    spec_tokenizer_free(t);
    v->type[0x82] = SPEC_PIECE_UNUSED; /* one byte token is missing: the character is unknown,
                                          once */
    const int unknown = vocabulary_add(v, "<unk>", 5, 0.0f, SPEC_PIECE_UNKNOWN);
    data.vocab = v->n;
    t = vocabulary_open(&data);
    assert_int_equal(spec_tokenizer_encode(t, "a\xE2\x82\xAC\xFF", 5, token, 8), 2);
    assert_int_equal(token[1], 0xFF);
    spec_tokenizer_free(t);
    data.unknown = unknown;
    t = vocabulary_open(&data);
    assert_int_equal(spec_tokenizer_encode(t, "a\xE2\x82\xAC\xFF", 5, token, 8), 3);
    assert_int_equal(token[1], unknown);
    spec_tokenizer_free(t);
}

/* Types that the file omits are guessed. Control tokens and spelled bytes are not searched for in a
 * text. */
TEST(missing_types_are_guessed_from_the_spelling)
{
    vocabulary *v = *state;
    memset(v, 0, sizeof *v);
    static const char *const piece[] = {"<unk>", "\n<s>\n", "</s>", "<0x41>", "<",   "<s",  "s>",
                                        "s",     ">",       "/",    "</",     "<0",  "x",   "x4",
                                        "1>",    "0",       "4",    "1",      "<0x", "41>", "A0"};
    for (size_t i = 0; i < sizeof piece / sizeof *piece; i++) {
        vocabulary_add(v, piece[i], strlen(piece[i]), 1.0f, SPEC_PIECE_NORMAL);
    }
    spec_tokenizer_data data = vocabulary_data(v, SPEC_TOKENIZER_SPM);
    data.opt_type = NULL;
    data.unknown = 0;
    int token[8];
    char bytes[16];
    spec_tokenizer *t = vocabulary_open(&data);
    assert_int_equal(spec_tokenizer_encode(t, "A", 1, token, 8), 1);
    assert_int_equal(token[0], 3);
    vocabulary_cuts(t, "</s>", "</|s>");
    vocabulary_cuts(t, "<0x41>", "<0x|41>");
    vocabulary_cuts(t, "?", "<unk>");
    assert_int_equal(spec_tokenizer_text(t, 3, bytes, sizeof bytes), 1);
    assert_string_equal(bytes, "A");
    assert_int_equal(spec_tokenizer_text(t, 1, bytes, 4), 5);
    assert_string_equal(bytes, "\n<s");
    assert_int_equal(spec_tokenizer_text(t, 1, NULL, 0), 5);
    spec_tokenizer_free(t);
}

/* The leftmost piece wins, then the longest; nothing merges with these pieces or across them. */
TEST(user_pieces_come_first)
{
    vocabulary *v = *state;
    fill(v, BLANK);
    vocabulary_add(v, "ba", 2, -9.0f, SPEC_PIECE_USER);
    vocabulary_add(v, "bab", 3, -9.0f, SPEC_PIECE_USER);
    vocabulary_add(v, BLANK BLANK, 6, -9.0f, SPEC_PIECE_USER);
    const spec_tokenizer_data data = vocabulary_data(v, SPEC_TOKENIZER_SPM);
    spec_tokenizer *t = vocabulary_open(&data);
    vocabulary_cuts(t, "aba", "a|ba");
    vocabulary_cuts(t, "abab", "a|bab");
    vocabulary_cuts(t, "bba ab   ab", "b|ba| ab|  | ab");
    vocabulary_cuts(t, "bb", "bb");
    spec_tokenizer_free(t);
}

/* A piece that is both user-defined and normal counts as user-defined. */
TEST(a_users_piece_may_be_a_normal_one_too)
{
    vocabulary *v = *state;
    fill(v, " ");
    const int user = vocabulary_add(v, "ab", 2, 0.0f, SPEC_PIECE_USER);
    const spec_tokenizer_data data = vocabulary_data(v, SPEC_TOKENIZER_SPM);
    int token[4];
    spec_tokenizer *t = vocabulary_open(&data);
    assert_int_equal(spec_tokenizer_encode(t, "abb", 3, token, 4), 2);
    assert_int_equal(token[0], user);
    spec_tokenizer_free(t);
}

TEST(every_text_reads_back)
{
    vocabulary *v = *state;
    fill(v, " ");
    vocabulary_add(v, "\xC3\xA9", 2, 0.0f, SPEC_PIECE_NORMAL);
    vocabulary_add(v, "b\xC3\xA9", 3, 0.0f, SPEC_PIECE_NORMAL);
    vocabulary_add(v, "a\n", 2, 0.0f, SPEC_PIECE_USER);
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus2, spec_test_seed());
    static const char some[] = "ab \n\xC3\xA9\xE2\x96\x81";
    for (int adds = 0; adds < 2; adds++) {
        spec_tokenizer_data data = vocabulary_data(v, SPEC_TOKENIZER_SPM);
        data.adds_space = adds;
        spec_tokenizer *t = vocabulary_open(&data);
        for (int k = 0; k < 3000; k++) {
            char text[200];
            const size_t length = gsl_rng_uniform_int(rng, sizeof text);
            for (size_t i = 0; i < length; i++) {
                const unsigned long any = gsl_rng_uniform_int(rng, 256);
                text[i] = k % 2 == 0 ? (char)any : some[any % sizeof some];
            }
            vocabulary_reads_back(t, text, length, adds);
        }
        spec_tokenizer_free(t);
    }
}

/* 262,144 times 'a', merged repeatedly; and a piece of 20,000 bytes with merges for all its
 * prefixes. */
TEST(encoding_time_is_linear_for_any_text_and_piece)
{
    vocabulary *v = *state;
    enum { BYTES = 1 << 18, LONG = 20000 };
    memset(v, 0, sizeof *v);
    FREED char *text = malloc(BYTES);
    assert_non_null(text);
    memset(text, 'a', BYTES);
    for (size_t n = 1; n <= 1024; n *= 2) vocabulary_add(v, text, n, (float)n, SPEC_PIECE_NORMAL);
    vocabulary_add(v, text, LONG, 0.0f, SPEC_PIECE_NORMAL);
    vocabulary_add(v, text, LONG - 1, 0.0f, SPEC_PIECE_USER);
    const spec_tokenizer_data data = vocabulary_data(v, SPEC_TOKENIZER_SPM);
    const clock_t before = clock();
    spec_tokenizer *t = vocabulary_open(&data);
    assert_int_equal(spec_tokenizer_encode(t, text, BYTES, NULL, 0),
                     13 + 7); /* 13 x 19999 + 2 x 1024 + 109 */
    spec_tokenizer_free(t);
    assert_true(clock() - before < 10 * CLOCKS_PER_SEC);
}

TEST(bad_vocabularies_are_refused_in_a_line)
{
    vocabulary *v = *state;
    fill(v, " ");
    spec_tokenizer_data data = vocabulary_data(v, SPEC_TOKENIZER_SPM);
    v->score[3] = NAN;
    vocabulary_fails(&data, "tokenizer: the score of token 3 is not finite");
    v->score[3] = 0.0f;
    v->type[3] = 7;
    vocabulary_fails(&data, "tokenizer: token 3 has the unknown type 7");
    v->type[3] = 0;
    vocabulary_fails(&data, "tokenizer: token 3 has the unknown type 0");
    v->type[3] = SPEC_PIECE_BYTE;
    v->piece[3] = (spec_piece){"<0xG0>", 6};
    vocabulary_fails(&data, "tokenizer: byte token 3 is not spelled <0x0A>");
    v->piece[3] = (spec_piece){"\x07" BLANK, 4};
    v->type[3] = SPEC_PIECE_NORMAL;
    v->type[4] = SPEC_PIECE_UNUSED;
    v->piece[4] = (spec_piece){"\x07 ", 2};
    vocabulary_fails(&data, "tokenizer: tokens 3 and 4 are the same piece \"? \"");
    v->piece[3] = v->piece[4] = (spec_piece){NULL, 0}; /* empty pieces never match */
    spec_tokenizer_free(vocabulary_open(&data));
    v->piece[3] = v->piece[4] = (spec_piece){v->store, SIZE_MAX / 2 + 10};
    vocabulary_fails(&data, "tokenizer: its pieces have more than 1 GiB");
}

/* Tokens of the data's vocabularies, known from llama2.c's algorithm in a dozen lines of Python:
 * repeated search for the best pair in a list of strings, after a blank; for stories260K with bytes
 * as token 3 + byte. */
TEST(known_texts_have_known_tokens)
{
    static const struct {
        const char *file, *text;
        int n, token[60];
    } known[] = {
        {"stories260K/tokenizer.bin",
         "Once upon a time, there was a little girl named Lily.",
         15,
         {403, 407, 261, 378, 432, 383, 286, 261, 376, 298, 315, 421, 395, 317, 426}},
        {"stories260K/tokenizer.bin",
         "She said, \"I'm happy!\"\nThe end.",
         16,
         {338, 336, 432, 313, 442, 439, 423, 393, 443, 436, 13, 434, 260, 344, 264, 426}},
        {"stories260K/tokenizer.bin",
         " two  blanks",
         10,
         {410, 259, 424, 414, 410, 268, 421, 303, 433, 419}},
        {"stories260K/tokenizer.bin",
         "caf\xC3\xA9 \xE2\x80\x94 \xE2\x82\xAC"
         "5",
         9,
         {280, 412, 431, 485, 410, 481, 410, 503, 480}},
        {"babyllama/tokenizer.bin",
         "Once upon a time, there was a little girl named Lily.",
         54,
         {3, 34, 9,  22, 4,  3,  18, 20, 7, 9,  3, 5,  3, 6,  10, 16, 4,  25,
          3, 6,  8,  4,  13, 4,  3,  17, 5, 12, 3, 5,  3, 14, 10, 6,  6,  14,
          4, 3,  21, 10, 13, 14, 3,  9,  5, 16, 4, 11, 3, 31, 10, 14, 15, 19}},
        {"babyllama/tokenizer.bin",
         "caf\xC3\xA9 \xE2\x80\x94 \xE2\x82\xAC"
         "5",
         10,
         {3, 22, 5, 24, 78, 3, 74, 3, 96, 73}},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char path[1024];
        spec_test_data(path, sizeof path, known[i].file);
        OWNED(spec_llama2c_vocabulary) loaded;
        int token[64];
        const int vocab = known[i].file[0] == 's' ? 512 : 105;
        assert_works(spec_llama2c_vocabulary_load(&loaded, "model.bin", path, vocab, &error));
        spec_tokenizer *t = vocabulary_open(&loaded.data);
        assert_int_equal(spec_tokenizer_encode(t, known[i].text, strlen(known[i].text), token, 64),
                         known[i].n);
        assert_memory_equal(token, known[i].token, (size_t)known[i].n * sizeof *token);
        spec_tokenizer_free(t);
    }
}

static int set_up(void **state)
{
    *state = malloc(sizeof(vocabulary));
    return *state == NULL;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

SUITE(.before_each = set_up, .after_each = tear_down);
