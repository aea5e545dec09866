/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ngram_index: numbers the n-grams of a growing text; equal n-grams share a number.
 * Each position has the number of the n-gram that begins there, and the positions of that n-gram's
 * previous and next occurrence. Adding a token takes O(n). The index owns its arrays, which grow
 * only in _follow. */
#ifndef SPECLAB_NGRAM_INDEX_H
#define SPECLAB_NGRAM_INDEX_H

#include "speclab/status.h"

#include <stddef.h>

/* Maximum tokens of a text. */
enum { SPEC_NGRAM_INDEX_MAX = 1 << 27 };

typedef struct {
    int n; /* tokens of an n-gram */
    int n_tokens, capacity;
    int *token;  /* (capacity) the text */
    int *number; /* (capacity) number of the n-gram at each position 0..n_tokens-n */
    int *before; /* (capacity) its previous occurrence, or -1 */
    int *after;  /* (capacity) its next occurrence, or -1 */
    int n_numbers;
    int *first, *last; /* (capacity) by number: its first and its last occurrence */
    int *mark;         /* (capacity) by number: free for the owner to use, 0 at first */
    int *slot;         /* (n_slots) hash table of numbers, -1: free */
    size_t n_slots;    /* a power of 2 */
} spec_ngram_index;

/* Makes an empty index, without memory; n >= 1. */
void spec_ngram_index_init(spec_ngram_index *index, int n);
void spec_ngram_index_free(spec_ngram_index *index); /* accepts a zeroed one */

/* Forgets the text but keeps the memory. */
void spec_ngram_index_reset(spec_ngram_index *index);

/* Adds the tokens by which the text has grown; it now has n. Returns GSL_ENOMEM, or GSL_EINVAL
 * beyond SPEC_NGRAM_INDEX_MAX. */
int spec_ngram_index_follow(spec_ngram_index *index, const int *text, size_t n, spec_error *error);

#endif
