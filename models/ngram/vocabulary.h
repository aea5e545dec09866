/* SPDX-License-Identifier: GPL-3.0-or-later */
/* vocabulary: turns text into tokens and back, for bytes, characters and words.
 * Owns its arrays; immutable once built. Bytes: always V = 256, so that any two byte models have
 * the same vocabulary. Characters and words: token 0 is the unknown token; the others are numbered
 * by first appearance until _keep renumbers them by frequency. */
#ifndef SPECLAB_VOCABULARY_H
#define SPECLAB_VOCABULARY_H

#include "models/ngram/text_unit.h"
#include "speclab/status.h"

enum {
    SPEC_VOCABULARY_UNKNOWN =
        /* "\xEF\xBF\xBD" (U+FFFD) for characters, "<unk>" for words; byte vocabularies have none */
        0,
    SPEC_VOCABULARY_CHARS_MAX = 1 << 16, /* distinct characters; later ones are unknown */
    SPEC_VOCABULARY_WORDS_MAX = 1 << 20, /* the most words for _keep */
    SPEC_VOCABULARY_WORDS_DEFAULT = 1 << 15
};

typedef struct {
    spec_tokens tokens;
    int size;             /* V, the unknown token included */
    int limit;            /* largest size while learning */
    size_t *start; /* (size + 1) token i is bytes[start[i]] to bytes[start[i + 1] - 1] */
    unsigned char *bytes;
    uint64_t *count;      /* (size) how often each token was added */
    uint32_t *slot;       /* (n_slots) hash table: token + 1, or 0 */
    size_t n_slots;       /* a power of two */
    size_t capacity, bytes_capacity;
} spec_vocabulary;

int spec_vocabulary_init(spec_vocabulary *vocabulary, spec_tokens tokens, spec_error *error);
void spec_vocabulary_free(spec_vocabulary *vocabulary);

/* Learns a unit of text and counts it. *ret_token is its token: the unknown one for an invalid
 * character, or once `limit` is reached. */
int spec_vocabulary_add(int *ret_token, spec_vocabulary *vocabulary, const unsigned char *piece,
                        size_t length, spec_error *error);

/* Keeps the unknown token and the size - 1 most frequent others (ties: the earlier one), renumbered
 * by decreasing frequency. renumber (old size) maps old tokens to new ones. Not for bytes. */
int spec_vocabulary_keep(spec_vocabulary *vocabulary, int size, int *renumber, spec_error *error);

/* Returns the token of a unit, or the unknown token. */
int spec_vocabulary_find(const spec_vocabulary *vocabulary, const unsigned char *piece,
                         size_t length);

/* Writes the bytes of a token into `buffer`, NUL-terminated and cut at `size`; returns the full
 * number of bytes. */
size_t spec_vocabulary_text(const spec_vocabulary *vocabulary, int token, char *buffer,
                            size_t size);

/* Tokenizes a text into at most `capacity` tokens; returns the number that the whole text has. */
size_t spec_vocabulary_tokenize(const spec_vocabulary *vocabulary, const char *text, size_t length,
                                int *token, size_t capacity);

#endif
