/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sequence: the tokens in the slots of a KV cache; bookkeeping without floats.
 * Slots 0..length-1 hold the text; slots length..length+n_nodes-1 hold the nodes of a tree on it,
 * in the order of scoring. When the text grows, its path through the tree is kept and the rest is
 * dropped, which is how the cache rolls back. Owns its arrays. */
#ifndef SPECLAB_SEQUENCE_H
#define SPECLAB_SEQUENCE_H

#include "speclab/round.h"
#include "speclab/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct {
    int capacity;          /* most tokens of a text together with a tree after it */
    int slots;             /* capacity + SPEC_NODES_MAX */
    int *token;            /* (capacity) tokens of the text */
    int length;
    int *node, *parent; /* (SPEC_NODES_MAX) tokens of the tree, and their parents; -1: the end of
                           the text */
    int n_nodes;
    uint64_t changes;      /* number of calls that changed it, for sessions that share it */
} spec_sequence;

int spec_sequence_init(spec_sequence *sequence, int capacity, spec_error *error);
void spec_sequence_free(spec_sequence *sequence);

/* Cuts the cached text to the longest common prefix with this one. If the text then follows a path
 * in the tree, that path is kept. Its keys and values must move from the slots ret_from
 * (SPEC_NODES_MAX), ascending, to slots *ret_to and on; returns their number. Afterwards there is
 * no tree, and length <= n - 1, so that at least one token remains to be computed. */
int spec_sequence_settle(int *ret_from, int *ret_to, spec_sequence *sequence, const int *text,
                         size_t n);

/* Appends n computed tokens to a text without a tree. */
void spec_sequence_append(spec_sequence *sequence, const int *token, int n);

/* Adds nodes from..n_nodes-1 of a tree, just computed; the earlier nodes were cached already. */
void spec_sequence_grow(spec_sequence *sequence, const int *token, const int *opt_parent, int from,
                        int n_nodes);

/* Forgets everything. */
void spec_sequence_forget(spec_sequence *sequence);

/* Copies the text of another sequence, without a tree. */
void spec_sequence_follow(spec_sequence *sequence, const spec_sequence *other);

/* Returns how many of these nodes are already cached as the first ones, if the cached text equals
 * this one; else -1. */
int spec_sequence_matches(const spec_sequence *sequence, const int *text, size_t n,
                          const int *token, const int *opt_parent, int n_nodes);

#endif
