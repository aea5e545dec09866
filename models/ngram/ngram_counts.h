/* ngram_counts: how often each n-gram of the highest order occurs in a stream of tokens, none across two texts.
 * An n-gram is a key: its tokens packed with `bits` bits each, the last one lowest, in one or two 64-bit words, of
 * which word 0 is the low one. The counts own their arrays. */
#ifndef SPECLAB_NGRAM_COUNTS_H
#define SPECLAB_NGRAM_COUNTS_H

#include "speclab/status.h"

#include <stddef.h>
#include <stdint.h>

enum { SPEC_NGRAM_ORDER_MAX = 6 };

typedef struct {
    uint64_t word[2];
} spec_ngram_key;

/* The lowest `tokens` tokens of a key. */
spec_ngram_key spec_ngram_key_tail(spec_ngram_key key, int tokens, int bits);

/* Keys, each `words` words long, one after the other. */
typedef struct {
    uint64_t *word;
    size_t n, capacity;
} spec_ngram_keys;

typedef struct {
    int order, bits, words;
    uint64_t tokens;         /* seen in all */
    spec_ngram_key last;     /* the last tokens of the text in work */
    int n_last;              /* how many of them there are, at most order - 1 count */
    uint64_t *slot;          /* (n_slots, words + 1) hash table: key, count; free where the count is 0 */
    size_t n_slots, n;       /* a power of two; slots taken */
    spec_ngram_keys opening[SPEC_NGRAM_ORDER_MAX]; /* [k]: the first k tokens of each text; distinct once sorted */
} spec_ngram_counts;

/* Count n-grams of order 1..SPEC_NGRAM_ORDER_MAX over tokens 0..vocab-1, vocab <= 2^21. */
int spec_ngram_counts_init(spec_ngram_counts *counts, int order, int vocab, spec_error *error);
void spec_ngram_counts_free(spec_ngram_counts *counts);

/* Read n more tokens of the text. GSL_EINVAL above 2^32 - 1 tokens in all. */
int spec_ngram_counts_push(spec_ngram_counts *counts, const int *token, size_t n, spec_error *error);

/* The text ends here. */
void spec_ngram_counts_boundary(spec_ngram_counts *counts);

/* Hand out the distinct n-grams, ascending by key: *ret_record (n, words + 1), key and count, which the caller frees.
 * The table is given up, and the openings become ascending and distinct. */
int spec_ngram_counts_sort(uint64_t **ret_record, size_t *ret_n, spec_ngram_counts *counts, spec_error *error);

#endif
