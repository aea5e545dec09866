/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks BPE: the pieces of each expression against another implementation, all byte sequences,
 * invalid vocabularies. */
#include "models/transformer/tokenizer/tokenizer.h"

#include "tests/models/transformer/tokenizer/small_vocabulary.h"
#include "tests/support/support.h"

#include <gsl/gsl_rng.h>
#include <time.h>

/* The vocabulary has all bytes, two characters of two bytes, and every pair of ten characters as a
 * merge. So neighbours stay separate only if the expression splits them or they were merged with
 * others before. */
static void fill(vocabulary *v)
{
    static const char *const character[] = {"a", "s",  "S", "'",        "1",
                                            " ", "\n", "!", "\xC3\xA9", "\xC2\xA0"};
    for (int byte = 0; byte < 256; byte++) vocabulary_add_spelled(v, &(const char){(char)byte}, 1);
    vocabulary_add_merge(v, "\xC3", "\xA9");
    vocabulary_add_merge(v, "\xC2", "\xA0");
    for (int i = 0; i < 100; i++) vocabulary_add_merge(v, character[i / 10], character[i % 10]);
}

/* Known from Hugging Face's tokenizers 0.23.3: models.BPE with these merges. Pre-tokenizers:
 * ByteLevel for gpt-2, with Digits before it for smollm; for the others Split with the expression
 * of the model's tokenizer.json (llama-bpe without ignore_merges). */
static const struct {
    const char *pre, *text, *cut;
} known[] = {
    {"gpt-2", "aa's as'S 1111  a", "aa|'s| |as|'|S| |11|11| | a"},
    {"gpt-2", "a  \n\n  a!!\n\na1", "a|  |\n|\n | a|!!|\n|\n|a|1"},
    {"gpt-2",
     "\xC3\xA9's\xC3\xA9 a\xC3\xA9\xC3\xA9\xC2\xA0"
     "aa 11 1",
     "\xC3\xA9|'s|\xC3\xA9| |a\xC3\xA9|\xC3\xA9|\xC2\xA0|aa| |11| 1"},
    {"gpt-2", "  1  11!a1\n 1", " | 1| | |11|!|a|1|\n| 1"},
    {"gpt-2", "a!\n\na '\n!", "a|!|\n|\n|a| '|\n|!"},
    {"gpt-2", "'s's !'S!!  ", "'s|'s| !|'|S|!!|  "},
    {"gpt-2",
     "aa\xC2\xA0\xC2\xA0"
     "a\n \na 1s",
     "aa|\xC2\xA0|\xC2\xA0|a|\n |\n|a| 1|s"},
    {"smollm", "aa's as'S 1111  a", "aa|'s| |as|'|S| |1|1|1|1| | a"},
    {"smollm", "a  \n\n  a!!\n\na1", "a|  |\n|\n | a|!!|\n|\n|a|1"},
    {"smollm",
     "\xC3\xA9's\xC3\xA9 a\xC3\xA9\xC3\xA9\xC2\xA0"
     "aa 11 1",
     "\xC3\xA9|'s|\xC3\xA9| |a\xC3\xA9|\xC3\xA9|\xC2\xA0|aa| |1|1| |1"},
    {"smollm", "  1  11!a1\n 1", "  |1|  |1|1|!|a|1|\n |1"},
    {"smollm", "a!\n\na '\n!", "a|!|\n|\n|a| '|\n|!"},
    {"smollm", "'s's !'S!!  ", "'s|'s| !|'|S|!!|  "},
    {"smollm",
     "aa\xC2\xA0\xC2\xA0"
     "a\n \na 1s",
     "aa|\xC2\xA0|\xC2\xA0|a|\n |\n|a| |1|s"},
    {"llama-bpe", "aa's as'S 1111  a", "aa|'s| |as|'S| |11|1|1| | a"},
    {"llama-bpe", "a  \n\n  a!!\n\na1", "a|  |\n\n| | a|!!|\n\n|a|1"},
    {"llama-bpe",
     "\xC3\xA9's\xC3\xA9 a\xC3\xA9\xC3\xA9\xC2\xA0"
     "aa 11 1",
     "\xC3\xA9|'s|\xC3\xA9| |a\xC3\xA9|\xC3\xA9|\xC2\xA0|aa| |11| |1"},
    {"llama-bpe", "  1  11!a1\n 1", " | |1| | |11|!a|1|\n| |1"},
    {"llama-bpe", "a!\n\na '\n!", "a|!|\n\n|a| |'\n|!"},
    {"llama-bpe", "'s's !'S!!  ", "'s|'s| !|'|S|!!|  "},
    {"llama-bpe",
     "aa\xC2\xA0\xC2\xA0"
     "a\n \na 1s",
     "aa|\xC2\xA0|\xC2\xA0"
     "a|\n| \n|a| |1|s"},
    {"qwen2", "aa's as'S 1111  a", "aa|'s| |as|'S| |1|1|1|1| | a"},
    {"qwen2", "a  \n\n  a!!\n\na1", "a|  |\n\n| | a|!!|\n\n|a|1"},
    {"qwen2",
     "\xC3\xA9's\xC3\xA9 a\xC3\xA9\xC3\xA9\xC2\xA0"
     "aa 11 1",
     "\xC3\xA9|'s|\xC3\xA9| |a\xC3\xA9|\xC3\xA9|\xC2\xA0|aa| |1|1| |1"},
    {"qwen2", "  1  11!a1\n 1", " | |1| | |1|1|!a|1|\n| |1"},
    {"qwen2", "a!\n\na '\n!", "a|!|\n\n|a| |'\n|!"},
    {"qwen2", "'s's !'S!!  ", "'s|'s| !|'|S|!!|  "},
    {"qwen2",
     "aa\xC2\xA0\xC2\xA0"
     "a\n \na 1s",
     "aa|\xC2\xA0|\xC2\xA0"
     "a|\n| \n|a| |1|s"},
};

TEST(pieces_are_those_of_another_implementation)
{
    vocabulary *v = *state;
    spec_tokenizer_data data = vocabulary_data(v, SPEC_TOKENIZER_BPE);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        data.pre = known[i].pre;
        spec_tokenizer *t = vocabulary_open(&data);
        vocabulary_cuts(t, known[i].text, known[i].cut);
        spec_tokenizer_free(t);
    }
}

/* Other names of the same expressions. */
TEST(pre_tokenizers_have_other_names)
{
    vocabulary *v = *state;
    static const char *const same[][2] = {{"", "gpt-2"},
                                          {"default", "gpt-2"},
                                          {"llama3", "llama-bpe"},
                                          {"llama-v3", "llama-bpe"},
                                          {"deepseek-r1-qwen", "qwen2"},
                                          {"starcoder", "smollm"}};
    spec_tokenizer_data data = vocabulary_data(v, SPEC_TOKENIZER_BPE);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        data.pre = same[i][0];
        spec_tokenizer *t = vocabulary_open(&data);
        for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
            if (strcmp(known[k].pre, same[i][1]) == 0)
                vocabulary_cuts(t, known[k].text, known[k].cut);
        }
        spec_tokenizer_free(t);
    }
}

/* Blanks are the characters with Unicode's property White_Space: U+0085 and U+2028 are, U+180E and
 * U+200B are not. */
TEST(white_space_is_unicodes)
{
    vocabulary *v = *state;
    vocabulary_add_merge(v, "\xC2", "\x85");
    vocabulary_add_merge(v, "\xC2\x85", "\xC2\x85");
    vocabulary_add_merge(v, "\xC2\x85", "!");
    vocabulary_add_merge(v, "\xA8", "!");
    vocabulary_add_merge(v, "\x8E", "!");
    vocabulary_add_merge(v, "\x8B", "!");
    const spec_tokenizer_data data = vocabulary_data(v, SPEC_TOKENIZER_BPE);
    spec_tokenizer *t = vocabulary_open(&data);
    vocabulary_cuts(t, "\xC2\x85\xC2\x85", "\xC2\x85\xC2\x85");
    vocabulary_cuts(t, "\xC2\x85!", "\xC2\x85|!");
    vocabulary_cuts(t, "\xE2\x80\xA8!", "\xE2|\x80|\xA8|!");
    vocabulary_cuts(t, "\xE1\xA0\x8E!", "\xE1|\xA0|\x8E!");
    vocabulary_cuts(t, "\xE2\x80\x8B!", "\xE2|\x80|\x8B!");
    spec_tokenizer_free(t);
}

/* "sas" is a token that no merge makes; Llama 3 keeps a piece that is a token whole, GPT-2 merges.
 */
TEST(llama_takes_whole_tokens_first)
{
    vocabulary *v = *state;
    vocabulary_add_spelled(v, "sas", 3);
    spec_tokenizer_data data = vocabulary_data(v, SPEC_TOKENIZER_BPE);
    spec_tokenizer *t = vocabulary_open(&data);
    vocabulary_cuts(t, "sas sasa", "s|as| s|as|a");
    spec_tokenizer_free(t);
    data.pre = "llama-bpe";
    t = vocabulary_open(&data);
    vocabulary_cuts(t, "sas sasa", "sas| s|as|a");
    spec_tokenizer_free(t);
}

/* Invalid bytes become pieces of their own: a truncated character, a stray byte, an over-long
 * form. */
TEST(invalid_bytes_are_pieces_of_their_own)
{
    vocabulary *v = *state;
    vocabulary_add_merge(v, "\xA9", "\xA9");
    const spec_tokenizer_data data = vocabulary_data(v, SPEC_TOKENIZER_BPE);
    spec_tokenizer *t = vocabulary_open(&data);
    vocabulary_cuts(t, "a\xC3 a", "a|\xC3| a");
    vocabulary_cuts(t, "\xA9\xA9", "\xA9|\xA9");
    vocabulary_cuts(t,
                    "\xC3\xA9\xA9\xC0\xAF"
                    "aa",
                    "\xC3\xA9|\xA9|\xC0|\xAF|aa");
    spec_tokenizer_free(t);
}

/* User-defined tokens are found before anything else, by their spelling, the longest first, and the
 * expression does not look across them. Control tokens are not searched for. */
TEST(user_pieces_come_first)
{
    vocabulary *v = *state;
    vocabulary_add(v, " a", 2, 0.0f, SPEC_PIECE_USER);
    vocabulary_add(v, " a!", 3, 0.0f, SPEC_PIECE_USER);
    vocabulary_add(v, "aS", 2, 0.0f, SPEC_PIECE_CONTROL);
    vocabulary_add(v, "\xC3\xA9", 2, 0.0f, SPEC_PIECE_USER);
    const spec_tokenizer_data data = vocabulary_data(v, SPEC_TOKENIZER_BPE);
    spec_tokenizer *t = vocabulary_open(&data);
    int token[8];
    assert_int_equal(spec_tokenizer_encode(t, "s  a!a aS\xC3\xA9", 11, token, 8), 7);
    assert_int_equal(token[2], v->n - 3);
    assert_int_equal(token[4], v->n - 4);
    assert_int_equal(token[6], v->n - 1);
    vocabulary_cuts(t, "s  a!a aS\xC3\xA9", "s| | a!|a| a|S|\xC3\xA9");
    vocabulary_cuts(t, "aS", "aS");
    assert_int_equal(spec_tokenizer_encode(t, "aS", 2, token, 8), 1);
    assert_int_equal(token[0], 260); /* the merge, not the control token */
    spec_tokenizer_free(t);
}

TEST(every_text_reads_back)
{
    vocabulary *v = *state;
    static const char *const pre[] = {"gpt-2",  "smollm", "llama-bpe", "qwen2",
                                      "qwen35", "gpt-4o", "tekken"};
    static const char *const part[] = {"a",
                                       "s",
                                       "'S",
                                       "1",
                                       " ",
                                       "  ",
                                       "\n",
                                       "\r",
                                       "\t",
                                       "!",
                                       "\xC3\xA9",
                                       "\xC2\xA0",
                                       "\xE3\x80\x80",
                                       "\xF0\x9F\x8E\x89",
                                       "\xE2\x96\x81",
                                       "\xC2\xBD",
                                       "\xCC\x81",
                                       "S",
                                       "/",
                                       "\xFF",
                                       "\xC3",
                                       "\xE2\x82"};
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus2, spec_test_seed());
    for (size_t i = 0; i < sizeof pre / sizeof *pre; i++) {
        spec_tokenizer_data data = vocabulary_data(v, SPEC_TOKENIZER_BPE);
        data.pre = pre[i];
        spec_tokenizer *t = vocabulary_open(&data);
        for (int k = 0; k < 2000; k++) {
            char text[256];
            size_t length = 0;
            const size_t wanted = gsl_rng_uniform_int(rng, 200);
            while (length < wanted) {
                if (k % 2 == 0) {
                    text[length++] = (char)gsl_rng_uniform_int(rng, 256);
                } else {
                    const char *next = part[gsl_rng_uniform_int(rng, sizeof part / sizeof *part)];
                    memcpy(text + length, next, strlen(next));
                    length += strlen(next);
                }
            }
            vocabulary_reads_back(t, text, length, false);
        }
        spec_tokenizer_free(t);
    }
}

/* A megabyte of one kind of character after another, for every expression. */
TEST(encoding_time_is_linear_for_any_text, SLOW)
{
    vocabulary *v = *state;
    static const char *const unit[] = {"a", " ",        "\n",        " \n",  "\n ",      "1",
                                       "!", "'",        "' ",        "\xFF", "\xC3\xA9", "\xC2\xA0",
                                       "S", "\xCC\x81", "S\xCC\x81", "sS",   "/"};
    static const char *const pre[] = {"gpt-2",  "smollm", "llama-bpe", "qwen2",
                                      "qwen35", "gpt-4o", "tekken"};
    enum { BYTES = 1 << 17 };
    FREED char *text = malloc(BYTES + 1);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof pre / sizeof *pre; i++) {
        spec_tokenizer_data data = vocabulary_data(v, SPEC_TOKENIZER_BPE);
        data.pre = pre[i];
        spec_tokenizer *t = vocabulary_open(&data);
        for (size_t k = 0; k < sizeof unit / sizeof *unit; k++) {
            const size_t n = strlen(unit[k]);
            for (size_t at = 0; at < BYTES; at++) text[at] = unit[k][at % n];
            text[BYTES] = 'a';
            const clock_t before = clock();
            const size_t tokens = spec_tokenizer_encode(t, text, BYTES + 1, NULL, 0);
            if (tokens < BYTES / 8 || clock() - before > 5 * CLOCKS_PER_SEC)
                fail_msg("%s, unit %zu", pre[i], k);
        }
        spec_tokenizer_free(t);
    }
}

TEST(a_byte_without_a_piece_is_unknown)
{
    FREED vocabulary *v = calloc(1, sizeof *v);
    assert_non_null(v);
    const int a = vocabulary_add_spelled(v, "a", 1);
    const int unknown = vocabulary_add(v, "<unk>", 5, 0.0f, SPEC_PIECE_UNKNOWN);
    spec_tokenizer_data data = vocabulary_data(v, SPEC_TOKENIZER_BPE);
    int token[4] = {-1, -1, -1, -1};
    spec_tokenizer *t = vocabulary_open(&data);
    assert_int_equal(spec_tokenizer_encode(t, "aba", 3, token, 4), 2);
    spec_tokenizer_free(t);
    data.unknown = unknown;
    t = vocabulary_open(&data);
    assert_int_equal(spec_tokenizer_encode(t, "aba", 3, token, 2), 3);
    assert_int_equal(token[0], a);
    assert_int_equal(token[1], unknown);
    assert_int_equal(token[2], -1); /* beyond the capacity */
    assert_int_equal(spec_tokenizer_encode(t, "", 0, token, 2), 0);
    spec_tokenizer_free(t);
}

TEST(bad_vocabularies_are_refused_in_a_line)
{
    vocabulary *v = *state;
    spec_tokenizer_data data = vocabulary_data(v, SPEC_TOKENIZER_BPE);
    data.pre = "kimi-k2";
    vocabulary_fails(&data,
                     "tokenizer: unknown pre-tokenizer 'kimi-k2'; known are gpt-2, llama-bpe, "
                     "qwen2, qwen35, smollm, gpt-4o, tekken, and llama.cpp's other names of these");
    data.pre = "";
    static const char *const bad[] = {"aa",   "",    " a",      "a ",    "a zz",
                                      "zz a", "a z", "a\x01 a", "\xFF a"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char line[128];
        v->merge[3] = (spec_piece){bad[i], strlen(bad[i])};
        snprintf(line, sizeof line, "tokenizer: merge 3, \"%s\", is not of two tokens into a third",
                 bad[i]);
        for (char *c = line; *c != '\0'; c++)
            if ((signed char)*c < 0x20) *c = '?'; /* a control character, or not UTF-8 */
        vocabulary_fails(&data, line);
    }
    data.n_merges = 0;
    vocabulary_add_spelled(v, "a", 1);
    data.vocab = v->n;
    vocabulary_fails(&data, "tokenizer: tokens 97 and 358 are the same piece \"a\"");
}

static int set_up(void **state)
{
    vocabulary *v = calloc(1, sizeof *v);
    if (v != NULL) fill(v);
    *state = v;
    return v == NULL;
}

static int tear_down(void **state)
{
    free(*state);
    return 0;
}

SUITE(.before_each = set_up, .after_each = tear_down);
