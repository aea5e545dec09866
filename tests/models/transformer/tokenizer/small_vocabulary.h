/* SPDX-License-Identifier: GPL-3.0-or-later */
/* small_vocabulary: small vocabularies for tests of tokenizers.
 * The caller frees them. */
#ifndef SPECLAB_TESTS_SMALL_VOCABULARY_H
#define SPECLAB_TESTS_SMALL_VOCABULARY_H

#include "models/transformer/tokenizer/tokenizer.h"
#include "tests/support/support.h"

#include <string.h>

enum { VOCABULARY_MAX = 2048, VOCABULARY_BYTES = 1 << 16 };

typedef struct {
    spec_piece piece[VOCABULARY_MAX], merge[VOCABULARY_MAX];
    float score[VOCABULARY_MAX];
    int type[VOCABULARY_MAX];
    int n;
    size_t n_merges;
    char store[VOCABULARY_BYTES];
    size_t used;
} vocabulary;

static inline spec_piece vocabulary_keep(vocabulary *v, const char *bytes, size_t length)
{
    assert_true(v->used + length <= VOCABULARY_BYTES);
    char *to = v->store + v->used;
    if (length > 0) memcpy(to, bytes, length);
    v->used += length;
    return (spec_piece){to, length};
}

/* Adds a piece; returns its token. */
static inline int vocabulary_add(vocabulary *v, const char *text, size_t length, float score,
                                 spec_piece_type type)
{
    assert_true(v->n < VOCABULARY_MAX);
    v->piece[v->n] = vocabulary_keep(v, text, length);
    v->score[v->n] = score;
    v->type[v->n] = (int)type;
    return v->n++;
}

/* Adds the 256 byte tokens of SPM. */
static inline void vocabulary_add_bytes(vocabulary *v)
{
    for (int byte = 0; byte < 256; byte++) {
        char text[8];
        snprintf(text, sizeof text, "<0x%02X>", (unsigned)byte);
        vocabulary_add(v, text, 6, 0.0f, SPEC_PIECE_BYTE);
    }
}

/* Writes bytes in GPT-2's alphabet, by its definition. */
static inline size_t vocabulary_spell(char *to, const char *bytes, size_t length)
{
    size_t n = 0;
    for (size_t i = 0; i < length; i++) {
        const unsigned byte = (unsigned char)bytes[i];
        unsigned code = byte;
        if (byte <= 0x20) code = 0x100 + byte;
        else if (byte >= 0x7F && byte <= 0xA0) code = 0x121 + byte - 0x7F;
        else if (byte == 0xAD) code = 0x143;
        if (code < 0x80) {
            to[n++] = (char)code;
        } else {
            to[n++] = (char)(0xC0 | code >> 6);
            to[n++] = (char)(0x80 | (code & 0x3F));
        }
    }
    return n;
}

static inline int vocabulary_add_spelled(vocabulary *v, const char *bytes, size_t length)
{
    char spelling[256];
    assert_true(2 * length <= sizeof spelling);
    return vocabulary_add(v, spelling, vocabulary_spell(spelling, bytes, length), 0.0f,
                          SPEC_PIECE_NORMAL);
}

/* Adds the merge of two strings, and the resulting token. */
static inline void vocabulary_add_merge(vocabulary *v, const char *left, const char *right)
{
    char both[64], spelling[256];
    assert_true(v->n_merges < VOCABULARY_MAX);
    snprintf(both, sizeof both, "%s%s", left, right);
    vocabulary_add_spelled(v, both, strlen(both));
    size_t n = vocabulary_spell(spelling, left, strlen(left));
    spelling[n++] = ' ';
    n += vocabulary_spell(spelling + n, right, strlen(right));
    v->merge[v->n_merges++] = vocabulary_keep(v, spelling, n);
}

static inline spec_tokenizer_data vocabulary_data(const vocabulary *v, spec_tokenizer_kind kind)
{
    return (spec_tokenizer_data){.kind = kind,
                                 .vocab = v->n,
                                 .piece = v->piece,
                                 .opt_score = v->score,
                                 .opt_type = v->type,
                                 .merge = v->merge,
                                 .n_merges = v->n_merges,
                                 .pre = "",
                                 .unknown = -1};
}

static inline spec_tokenizer *vocabulary_open(const spec_tokenizer_data *data)
{
    spec_tokenizer *tokenizer;
    assert_works(spec_tokenizer_init(&tokenizer, data, &error));
    return tokenizer;
}

static inline void vocabulary_fails(const spec_tokenizer_data *data, const char *line)
{
    spec_tokenizer *tokenizer;
    assert_fails(spec_tokenizer_init(&tokenizer, data, &error), GSL_EINVAL, line);
    assert_null(tokenizer);
}

/* Checks that the tokens of a text have these bytes, separated by bars. */
static inline void vocabulary_cuts(const spec_tokenizer *tokenizer, const char *text,
                                   const char *expected)
{
    int token[256];
    char cut[512];
    size_t at = 0;
    const size_t n = spec_tokenizer_encode(tokenizer, text, strlen(text), token, 256);
    cut[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        if (i > 0) cut[at++] = '|';
        at += spec_tokenizer_text(tokenizer, token[i], cut + at, sizeof cut - at);
    }
    assert_string_equal(cut, expected);
}

/* Checks that the concatenated bytes of a text's tokens are the text, after a blank if one was
 * added. */
static inline void vocabulary_reads_back(const spec_tokenizer *tokenizer, const char *text,
                                         size_t length, bool blank)
{
    FREED int *token = malloc((length + 2) * sizeof *token);
    FREED char *back = malloc(length + 64);
    assert_non_null(token);
    assert_non_null(back);
    const size_t n = spec_tokenizer_encode(tokenizer, text, length, token, length + 2);
    assert_true(n <= length + 2);
    size_t at = 0;
    for (size_t i = 0; i < n && at <= length; i++)
        at += spec_tokenizer_text(tokenizer, token[i], back + at, 62);
    const size_t skipped = blank && length > 0;
    assert_int_equal(at, length + skipped);
    assert_memory_equal(back + skipped, text, length);
}

#endif
