/* SPDX-License-Identifier: GPL-3.0-or-later */
/* token_trie: strings of tokens with their counts, and children in order of their last use.
 * Node 0 is the empty string. Finding a child takes constant time. A full trie is emptied and
 * starts afresh. The trie owns its arrays, which grow only in _insert. */
#ifndef SPECLAB_TOKEN_TRIE_H
#define SPECLAB_TOKEN_TRIE_H

#include "speclab/status.h"

#include <stddef.h>

typedef struct {
    int token, parent;
    int count;        /* how often it was inserted */
    int child;        /* the most recently used child, or -1 */
    int newer, older; /* siblings in order of last use, or -1 */
} spec_trie_node;

typedef struct {
    int most; /* when it has this many nodes, it starts afresh */
    int n, capacity;
    spec_trie_node *node; /* (capacity) */
    int *slot;            /* (n_slots) hash table of nodes, -1: free */
    size_t n_slots;       /* a power of 2 */
} spec_token_trie;

/* Makes an empty trie, without memory; it holds `most` >= 1 nodes, not counting the root. */
void spec_token_trie_init(spec_token_trie *trie, int most);
void spec_token_trie_free(spec_token_trie *trie); /* accepts a zeroed one */

/* Forgets everything but keeps the memory. */
void spec_token_trie_reset(spec_token_trie *trie);

/* Counts a string of n <= most tokens and its prefixes, which become the newest of their siblings.
 * Returns GSL_ENOMEM. */
int spec_token_trie_insert(spec_token_trie *trie, const int *token, int n, spec_error *error);

/* Returns the child of a node by its token, or -1. */
int spec_token_trie_child(const spec_token_trie *trie, int node, int token);

#endif
