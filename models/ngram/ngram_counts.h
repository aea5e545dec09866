/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ngram_counts: counts the n-grams of the highest order in a stream of tokens.
 * N-grams do not cross from one text into the next. A key packs the tokens of an n-gram, `bits`
 * bits each, into one or two 64-bit words. The last token has the lowest bits, and word 0 is the
 * low word. The counts own their arrays. */
#ifndef SPECLAB_NGRAM_COUNTS_H
#define SPECLAB_NGRAM_COUNTS_H

#include "speclab/status.h"

#include <stddef.h>
#include <stdint.h>

enum { SPEC_NGRAM_ORDER_MAX = 6 };

typedef struct {
    uint64_t word[2];
} spec_ngram_key;

/* Returns the lowest `tokens` tokens of a key. */
spec_ngram_key spec_ngram_key_tail(spec_ngram_key key, int tokens, int bits);

/* An array of keys, each `words` words long. */
typedef struct {
    uint64_t *word;
    size_t n, capacity;
} spec_ngram_keys;

typedef struct {
    int order, bits, words;
    uint64_t tokens;         /* tokens read so far */
    spec_ngram_key last;     /* the last tokens of the current text */
    int n_last;              /* the number of them, at most order - 1 */
    uint64_t *slot; /* (n_slots, words + 1) hash table: key, count; free if the count is 0 */
    size_t n_slots, n;       /* a power of two; slots taken */
    spec_ngram_keys opening[SPEC_NGRAM_ORDER_MAX]; /* [k]: the first k tokens of each text;
                                                      distinct after sorting */
} spec_ngram_counts;

/* Returns GSL_ENOMEM, with a line that suggests a smaller limit. */
int spec_ngram_counts_no_memory(spec_error *error);

/* Counts n-grams of order 1..SPEC_NGRAM_ORDER_MAX over tokens 0..vocab-1, vocab <= 2^21. */
int spec_ngram_counts_init(spec_ngram_counts *counts, int order, int vocab, spec_error *error);
void spec_ngram_counts_free(spec_ngram_counts *counts);

/* Reads n more tokens of the text. Returns GSL_EINVAL above 2^32 - 1 tokens in all. */
int spec_ngram_counts_push(spec_ngram_counts *counts, const int *token, size_t n,
                           spec_error *error);

/* Ends the text. */
void spec_ngram_counts_boundary(spec_ngram_counts *counts);

/* Returns the distinct n-grams, ascending by key, in *ret_record (n, words + 1), key and count,
 * which the caller frees. The table is freed, and the openings become ascending and distinct. */
int spec_ngram_counts_sort(uint64_t **ret_record, size_t *ret_n, spec_ngram_counts *counts,
                           spec_error *error);

#endif
