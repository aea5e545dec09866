/* SPDX-License-Identifier: GPL-3.0-or-later */
/* successors: how often each token followed each n-gram of 1 to 4 tokens in some texts.
 * Finding an n-gram, counting, and getting the most frequent successor take constant time. If
 * several are equally frequent, the first to reach the count wins. The counts own their arrays,
 * which grow only in _reserve. */
#ifndef SPECLAB_SUCCESSORS_H
#define SPECLAB_SUCCESSORS_H

#include "speclab/status.h"

#include <stddef.h>

enum { SPEC_SUCCESSORS_ORDER = 4 };

/* An n-gram that at least one token followed. */
typedef struct {
    int n, token[SPEC_SUCCESSORS_ORDER]; /* unused tokens are 0 */
    int sum;                             /* sum of the counts */
    int best;                            /* its most frequent successor */
    int head;                            /* its latest new successor */
} spec_successors_ngram;

/* A token that followed an n-gram. */
typedef struct {
    int ngram, token, count;
    int next; /* another successor of the n-gram, or -1 */
} spec_successor;

typedef struct {
    int n_ngrams, n_successors, capacity;
    spec_successors_ngram *ngram; /* (capacity) */
    spec_successor *successor;    /* (capacity) */
    int *ngram_slot;              /* (n_slots) hash tables, -1: free */
    int *successor_slot;          /* (n_slots) */
    size_t n_slots;               /* a power of 2 */
} spec_successors;

void spec_successors_free(spec_successors *counts); /* accepts a zeroed one, which is empty */

/* Forgets everything but keeps the memory. */
void spec_successors_reset(spec_successors *counts);

/* Reserves memory for `more` >= 0 further calls of _add. */
int spec_successors_reserve(spec_successors *counts, int more, spec_error *error);

/* Counts that `token` followed these n tokens `count` >= 1 more times. */
void spec_successors_add(spec_successors *counts, const int *ngram, int n, int token, int count);

/* Returns the index of an n-gram, or -1. */
int spec_successors_find(const spec_successors *counts, const int *ngram, int n);

/* Returns how often `token` followed the n-gram with this index. */
int spec_successors_count(const spec_successors *counts, int ngram, int token);

#endif
