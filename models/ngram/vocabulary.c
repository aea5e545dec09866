/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/ngram/vocabulary.h"

#include <assert.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char replacement[] = "\xEF\xBF\xBD";

static size_t hash_of(const unsigned char *piece, size_t length)
{
    uint64_t hash = 0xCBF29CE484222325u ^ length;
    for (size_t i = 0; i < length; i++) hash = (hash ^ piece[i]) * 0x100000001B3u;
    hash ^= hash >> 32;
    hash *= 0x9E3779B97F4A7C15u;
    return (size_t)(hash ^ hash >> 29);
}

/* Returns the slot that holds the unit, or the free slot for it. */
static uint32_t *slot_of(const spec_vocabulary *vocabulary, const unsigned char *piece,
                         size_t length)
{
    const size_t mask = vocabulary->n_slots - 1;
    size_t i = hash_of(piece, length) & mask;
    for (; vocabulary->slot[i] != 0; i = (i + 1) & mask) {
        const size_t *start = vocabulary->start + vocabulary->slot[i] - 1;
        if (start[1] - start[0] == length &&
            memcmp(vocabulary->bytes + start[0], piece, length) == 0)
            break;
    }
    return vocabulary->slot + i;
}

static int out_of_memory(spec_error *error)
{
    return spec_fail(error, GSL_ENOMEM, "out of memory for the vocabulary");
}

/* Inserts every token into a table of n_slots. */
static int rehash(spec_vocabulary *vocabulary, size_t n_slots, spec_error *error)
{
    uint32_t *slot = calloc(n_slots, sizeof *slot);
    if (slot == NULL) return out_of_memory(error);
    free(vocabulary->slot);
    vocabulary->slot = slot;
    vocabulary->n_slots = n_slots;
    for (int i = 0; i < vocabulary->size; i++) {
        const size_t *start = vocabulary->start + i;
        *slot_of(vocabulary, vocabulary->bytes + start[0], start[1] - start[0]) = (uint32_t)i + 1;
    }
    return GSL_SUCCESS;
}

/* Makes sure that one more token of `length` bytes fits. */
static int reserve(spec_vocabulary *vocabulary, size_t length, spec_error *error)
{
    const size_t n = (size_t)vocabulary->size;
    if (n + 1 >= vocabulary->capacity) {
        const size_t capacity = 2 * vocabulary->capacity + 256;
        size_t *start = realloc(vocabulary->start, (capacity + 1) * sizeof *start);
        if (start == NULL) return out_of_memory(error);
        vocabulary->start = start;
        uint64_t *count = realloc(vocabulary->count, capacity * sizeof *count);
        if (count == NULL) return out_of_memory(error);
        vocabulary->count = count;
        vocabulary->capacity = capacity;
    }
    const size_t used = n == 0 ? 0 : vocabulary->start[n];
    if (used + length > vocabulary->bytes_capacity) {
        const size_t capacity = 2 * vocabulary->bytes_capacity + length + 4096;
        unsigned char *bytes = realloc(vocabulary->bytes, capacity);
        if (bytes == NULL) return out_of_memory(error);
        vocabulary->bytes = bytes;
        vocabulary->bytes_capacity = capacity;
    }
    return 2 * (n + 1) > vocabulary->n_slots ? rehash(vocabulary, vocabulary->n_slots * 2, error)
                                             : GSL_SUCCESS;
}

static int append(spec_vocabulary *vocabulary, const unsigned char *piece, size_t length,
                  spec_error *error)
{
    const int status = reserve(vocabulary, length, error);
    if (status != GSL_SUCCESS) return status;
    const int token = vocabulary->size;
    if (token == 0) vocabulary->start[0] = 0;
    memcpy(vocabulary->bytes + vocabulary->start[token], piece, length);
    vocabulary->start[token + 1] = vocabulary->start[token] + length;
    vocabulary->count[token] = 0;
    *slot_of(vocabulary, piece, length) = (uint32_t)token + 1;
    vocabulary->size++;
    return GSL_SUCCESS;
}

int spec_vocabulary_init(spec_vocabulary *vocabulary, spec_tokens tokens, spec_error *error)
{
    int status = GSL_SUCCESS;
    *vocabulary = (spec_vocabulary){.tokens = tokens, .size = 256, .limit = 256};
    if (tokens == SPEC_TOKENS_BYTES) return GSL_SUCCESS;
    vocabulary->size = 0;
    vocabulary->limit = tokens == SPEC_TOKENS_CHARS ? SPEC_VOCABULARY_CHARS_MAX : INT_MAX - 1;
    const char *unknown = tokens == SPEC_TOKENS_CHARS ? replacement : "<unk>";
    SPEC_TRY(rehash(vocabulary, 1024, error));
    SPEC_TRY(append(vocabulary, (const unsigned char *)unknown, strlen(unknown), error));
done:
    if (status != GSL_SUCCESS) spec_vocabulary_free(vocabulary);
    return status;
}

void spec_vocabulary_free(spec_vocabulary *vocabulary)
{
    free(vocabulary->start);
    free(vocabulary->bytes);
    free(vocabulary->count);
    free(vocabulary->slot);
    *vocabulary = (spec_vocabulary){0};
}

int spec_vocabulary_find(const spec_vocabulary *vocabulary, const unsigned char *piece,
                         size_t length)
{
    if (vocabulary->tokens == SPEC_TOKENS_BYTES) return piece[0];
    const uint32_t held = *slot_of(vocabulary, piece, length);
    return held == 0 ? SPEC_VOCABULARY_UNKNOWN : (int)(held - 1);
}

/* An invalid byte stands for U+FFFD, which is the unknown token. */
static bool is_invalid(const spec_vocabulary *vocabulary, const unsigned char *piece, size_t length)
{
    return vocabulary->tokens == SPEC_TOKENS_CHARS && length == 1 && piece[0] >= 0x80;
}

int spec_vocabulary_add(int *ret_token, spec_vocabulary *vocabulary, const unsigned char *piece,
                        size_t length, spec_error *error)
{
    *ret_token = SPEC_VOCABULARY_UNKNOWN;
    if (vocabulary->tokens == SPEC_TOKENS_BYTES) {
        *ret_token = piece[0];
        return GSL_SUCCESS;
    }
    const uint32_t held = *slot_of(vocabulary, piece, length);
    if (held != 0) {
        *ret_token = (int)(held - 1);
    } else if (vocabulary->size < vocabulary->limit && !is_invalid(vocabulary, piece, length)) {
        const int status = append(vocabulary, piece, length, error);
        if (status != GSL_SUCCESS) return status;
        *ret_token = vocabulary->size - 1;
    }
    vocabulary->count[*ret_token]++;
    return GSL_SUCCESS;
}

typedef struct {
    uint64_t count;
    int token;
} ranked;

static int by_count(const void *left, const void *right)
{
    const ranked *a = left, *b = right;
    if (a->count != b->count) return a->count < b->count ? 1 : -1;
    return a->token < b->token ? -1 : a->token > b->token;
}

int spec_vocabulary_keep(spec_vocabulary *vocabulary, int size, int *renumber, spec_error *error)
{
    assert(vocabulary->tokens != SPEC_TOKENS_BYTES && size >= 1);
    const int old_size = vocabulary->size;
    if (size > old_size) size = old_size;
    spec_vocabulary kept;
    int status = spec_vocabulary_init(&kept, vocabulary->tokens, error);
    if (status != GSL_SUCCESS) return status;
    ranked *rank = malloc((size_t)old_size * sizeof *rank);
    if (rank == NULL) SPEC_TRY(out_of_memory(error));
    for (int i = 0; i < old_size; i++)
        rank[i] = (ranked){.count = vocabulary->count[i], .token = i};
    qsort(rank + 1, (size_t)old_size - 1, sizeof *rank, by_count);
    for (int i = 0; i < old_size; i++) {
        const size_t *start = vocabulary->start + rank[i].token;
        renumber[rank[i].token] = i < size ? i : SPEC_VOCABULARY_UNKNOWN;
        if (i > 0 && i < size)
            SPEC_TRY(append(&kept, vocabulary->bytes + start[0], start[1] - start[0], error));
        kept.count[i < size ? i : SPEC_VOCABULARY_UNKNOWN] += rank[i].count;
    }
    spec_vocabulary_free(vocabulary);
    *vocabulary = kept;
    kept = (spec_vocabulary){0};
done:
    free(rank);
    spec_vocabulary_free(&kept);
    return status;
}

size_t spec_vocabulary_text(const spec_vocabulary *vocabulary, int token, char *buffer, size_t size)
{
    assert(token >= 0 && token < vocabulary->size);
    const unsigned char byte = (unsigned char)token;
    const unsigned char *text = &byte;
    size_t length = 1;
    if (vocabulary->tokens != SPEC_TOKENS_BYTES) {
        text = vocabulary->bytes + vocabulary->start[token];
        length = vocabulary->start[token + 1] - vocabulary->start[token];
    }
    if (size > 0) {
        const size_t n = length < size ? length : size - 1;
        memcpy(buffer, text, n);
        buffer[n] = '\0';
    }
    return length;
}

size_t spec_vocabulary_tokenize(const spec_vocabulary *vocabulary, const char *text, size_t length,
                                int *token, size_t capacity)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t n = 0;
    while (length > 0) {
        const size_t piece = spec_text_unit_length(vocabulary->tokens, at, length);
        if (n < capacity) token[n] = spec_vocabulary_find(vocabulary, at, piece);
        n++;
        at += piece;
        length -= piece;
    }
    return n;
}
