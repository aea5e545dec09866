/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/ngram/ngram_counts.h"

#include "models/ngram/radix.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 64 }; /* how many keys' slots are fetched from memory together */

int spec_ngram_counts_no_memory(spec_error *error)
{
    return spec_fail(error, GSL_ENOMEM,
                     "out of memory for the n-grams; limit=BYTES reads less of the text");
}

spec_ngram_key spec_ngram_key_tail(spec_ngram_key key, int tokens, int bits)
{
    const int width = tokens * bits;
    if (width < 64) key.word[0] &= ((uint64_t)1 << width) - 1;
    key.word[1] &= width <= 64 ? 0 : ((uint64_t)1 << (width - 64)) - 1;
    return key;
}

static spec_ngram_key append(spec_ngram_key key, int token, int bits)
{
    key.word[1] = key.word[1] << bits | key.word[0] >> (64 - bits);
    key.word[0] = key.word[0] << bits | (uint64_t)token;
    return key;
}

static inline size_t hash_of(const uint64_t *key, int words)
{
    uint64_t hash = key[0];
    if (words == 2) hash ^= (key[1] + 0x9E3779B97F4A7C15u) * 0xD1342543DE82EF95u;
    hash ^= hash >> 32;
    hash *= 0xD6E8FEB86659FD93u;
    return (size_t)(hash ^ hash >> 32);
}

/* Returns the slot of a key, or the free slot for it. */
static inline uint64_t *slot_of(uint64_t *slot, size_t n_slots, const uint64_t *key, size_t hash,
                                int words)
{
    const size_t mask = n_slots - 1, stride = (size_t)words + 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        uint64_t *at = slot + i * stride;
        if (at[words] == 0) return at;
        if (at[0] == key[0] && (words == 1 || at[1] == key[1])) return at;
    }
}

static int grow(spec_ngram_counts *counts, spec_error *error)
{
    const int words = counts->words;
    const size_t stride = (size_t)words + 1, n_slots = 2 * counts->n_slots;
    if (n_slots > SIZE_MAX / stride / sizeof(uint64_t)) return spec_ngram_counts_no_memory(error);
    uint64_t *slot = calloc(n_slots * stride, sizeof *slot);
    if (slot == NULL) return spec_ngram_counts_no_memory(error);
    for (size_t i = 0; i < counts->n_slots; i++) {
        const uint64_t *from = counts->slot + i * stride;
        if (from[words] == 0) continue;
        memcpy(slot_of(slot, n_slots, from, hash_of(from, words), words), from,
               stride * sizeof *slot);
    }
    free(counts->slot);
    counts->slot = slot;
    counts->n_slots = n_slots;
    return GSL_SUCCESS;
}

int spec_ngram_counts_init(spec_ngram_counts *counts, int order, int vocab, spec_error *error)
{
    assert(order >= 1 && order <= SPEC_NGRAM_ORDER_MAX && vocab >= 1 && vocab <= 1 << 21);
    int bits = 1;
    while (vocab > 1 << bits) bits++;
    *counts = (spec_ngram_counts){
        .order = order, .bits = bits, .words = order * bits <= 64 ? 1 : 2, .n_slots = 1024};
    counts->slot = calloc(counts->n_slots * ((size_t)counts->words + 1), sizeof *counts->slot);
    return counts->slot == NULL ? spec_ngram_counts_no_memory(error) : GSL_SUCCESS;
}

void spec_ngram_counts_free(spec_ngram_counts *counts)
{
    free(counts->slot);
    for (int k = 0; k < SPEC_NGRAM_ORDER_MAX; k++) free(counts->opening[k].word);
    *counts = (spec_ngram_counts){0};
}

static int keep_opening(spec_ngram_counts *counts, spec_error *error)
{
    spec_ngram_keys *keys = &counts->opening[counts->n_last];
    const size_t words = (size_t)counts->words;
    if (keys->n == keys->capacity) {
        const size_t capacity = 2 * keys->capacity + 16;
        uint64_t *word = realloc(keys->word, capacity * words * sizeof *word);
        if (word == NULL) return spec_ngram_counts_no_memory(error);
        keys->word = word;
        keys->capacity = capacity;
    }
    memcpy(keys->word + keys->n * words, counts->last.word, words * sizeof *keys->word);
    keys->n++;
    return GSL_SUCCESS;
}

static inline void count_batch(spec_ngram_counts *counts, const int *token, size_t n, int words)
{
    uint64_t key[BATCH][2];
    size_t hash[BATCH];
    const size_t stride = (size_t)words + 1, mask = counts->n_slots - 1;
    spec_ngram_key last = counts->last;
    for (size_t i = 0; i < n; i++) {
        last = append(last, token[i], counts->bits);
        const spec_ngram_key whole = spec_ngram_key_tail(last, counts->order, counts->bits);
        key[i][0] = whole.word[0];
        key[i][1] = whole.word[1];
        hash[i] = hash_of(key[i], words);
        __builtin_prefetch(counts->slot + (hash[i] & mask) * stride, 1);
    }
    counts->last = last;
    for (size_t i = 0; i < n; i++) {
        uint64_t *slot = slot_of(counts->slot, counts->n_slots, key[i], hash[i], words);
        if (slot[words]++ == 0) {
            slot[0] = key[i][0];
            if (words == 2) slot[1] = key[i][1];
            counts->n++;
        }
    }
}

int spec_ngram_counts_push(spec_ngram_counts *counts, const int *token, size_t n, spec_error *error)
{
    int status = GSL_SUCCESS;
    if (n > UINT32_MAX - counts->tokens) {
        return spec_fail(error, GSL_EINVAL,
                         "the text has more than %lu tokens; limit=BYTES reads less of it",
                         (unsigned long)UINT32_MAX);
    }
    counts->tokens += n;
    while (n > 0 && counts->n_last < counts->order - 1) {
        counts->last = append(counts->last, *token++, counts->bits);
        counts->n_last++;
        n--;
        SPEC_TRY(keep_opening(counts, error));
    }
    while (n > 0) {
        const size_t batch = n < BATCH ? n : BATCH;
        if (4 * (counts->n + batch) > 3 * counts->n_slots) SPEC_TRY(grow(counts, error));
        if (counts->words == 1) count_batch(counts, token, batch, 1);
        else count_batch(counts, token, batch, 2);
        token += batch;
        n -= batch;
    }
done:
    return status;
}

void spec_ngram_counts_boundary(spec_ngram_counts *counts)
{
    counts->last = (spec_ngram_key){{0, 0}};
    counts->n_last = 0;
}

static int sort_opening(spec_ngram_keys *keys, size_t words, spec_error *error)
{
    if (keys->n == 0) return GSL_SUCCESS;
    uint64_t *workspace = malloc(keys->n * words * sizeof *workspace);
    if (workspace == NULL) return spec_ngram_counts_no_memory(error);
    uint64_t *sorted = spec_radix_sort(keys->word, workspace, keys->n, (int)words, (int)words);
    free(sorted == workspace ? keys->word : workspace);
    keys->word = sorted;
    keys->capacity = keys->n;
    size_t kept = 1;
    for (size_t i = 1; i < keys->n; i++) {
        const uint64_t *key = sorted + i * words;
        if (memcmp(key, sorted + (kept - 1) * words, words * sizeof *key) == 0) continue;
        memmove(sorted + kept++ * words, key, words * sizeof *key);
    }
    keys->n = kept;
    return GSL_SUCCESS;
}

int spec_ngram_counts_sort(uint64_t **ret_record, size_t *ret_n, spec_ngram_counts *counts,
                           spec_error *error)
{
    int status = GSL_SUCCESS;
    const size_t words = (size_t)counts->words, stride = words + 1;
    *ret_record = NULL;
    *ret_n = 0;
    for (int k = 1; k < counts->order; k++)
        SPEC_TRY(sort_opening(&counts->opening[k], words, error));
    size_t n = 0;
    for (size_t i = 0; i < counts->n_slots; i++) {
        const uint64_t *from = counts->slot + i * stride;
        if (from[words] != 0) memmove(counts->slot + n++ * stride, from, stride * sizeof *from);
    }
    /* n is far below n_slots: shrink the array before the workspace is allocated. */
    uint64_t *shrunk = realloc(counts->slot, (n + 1) * stride * sizeof *shrunk);
    if (shrunk != NULL) counts->slot = shrunk;
    uint64_t *workspace = malloc((n + 1) * stride * sizeof *workspace);
    if (workspace == NULL) SPEC_TRY(spec_ngram_counts_no_memory(error));
    uint64_t *sorted = spec_radix_sort(counts->slot, workspace, n, (int)stride, (int)words);
    free(sorted == workspace ? counts->slot : workspace);
    counts->slot = NULL;
    counts->n_slots = counts->n = 0;
    *ret_record = sorted;
    *ret_n = n;
done:
    return status;
}
