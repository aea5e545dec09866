/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sequence: keeps track of which tokens are in the slots of a KV cache.
 * Slots 0..length-1 hold the text; slots length..length+n_nodes-1 hold the nodes of a tree on it,
 * in the order of scoring. When the text grows along a path in the tree, this path is kept and the
 * rest is dropped. This is how the cache rolls back. Owns its arrays. */
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
    /* counts the calls that changed the sequence, so that sessions that share it notice */
    uint64_t changes;
} spec_sequence;

int spec_sequence_init(spec_sequence *sequence, int capacity, spec_error *error);
void spec_sequence_free(spec_sequence *sequence);

/* Cuts the cached text to the longest prefix that it shares with this text. If this text then
 * follows a path in the tree, keeps that path: the caller must move its keys and values from the
 * slots ret_from (SPEC_NODES_MAX), ascending, to the slots from *ret_to on. Returns how many there
 * are. Afterwards there is no tree, and length <= n - 1, so that at least one token remains to
 * compute. */
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

/* If the cached text equals this one, returns how many of these nodes, from the first on, are
 * already cached; else -1. */
int spec_sequence_matches(const spec_sequence *sequence, const int *text, size_t n,
                          const int *token, const int *opt_parent, int n_nodes);

#endif
