/* sequence: which tokens the slots of a key-value cache hold.
 * Bookkeeping alone, no floats. Slots 0..length-1 hold the text; slots length..length+n_nodes-1 hold nodes of a tree on
 * it, as they were scored. When the text goes on, the path that it took through the tree is kept and the rest is
 * forgotten: that is the roll back. Owns its arrays. */
#ifndef SPECLAB_SEQUENCE_H
#define SPECLAB_SEQUENCE_H

#include "speclab/round.h"
#include "speclab/status.h"

#include <stddef.h>
#include <stdint.h>

typedef struct {
    int capacity;          /* most tokens of a text, those of a tree that follows it among them */
    int slots;             /* capacity + SPEC_NODES_MAX */
    int *token;            /* (capacity) of the text */
    int length;
    int *node, *parent;    /* (SPEC_NODES_MAX) tokens of the tree and their parents, -1: the end of the text */
    int n_nodes;
    uint64_t changes;      /* counts the calls that changed it, for whoever reads it too */
} spec_sequence;

int spec_sequence_init(spec_sequence *sequence, int capacity, spec_error *error);
void spec_sequence_free(spec_sequence *sequence);

/* Make its text a prefix of this one: the longest common prefix stays, and where the text then follows a path in the
 * tree, that path is kept. ret_from (SPEC_NODES_MAX) receives the slots, ascending, whose keys and values are to move
 * to slots *ret_to and on; returns how many. Afterwards there is no tree and length <= n. A text that ends in the
 * middle of what it holds is cut there: at most n - 1 tokens stay, so that there is always one to be computed. */
int spec_sequence_settle(int *ret_from, int *ret_to, spec_sequence *sequence, const int *text, size_t n);

/* The text grew by n tokens, computed in place; there is no tree on it yet. */
void spec_sequence_append(spec_sequence *sequence, const int *token, int n);

/* Nodes from..n_nodes-1 of a tree on the text were computed, those before them being held already. */
void spec_sequence_grow(spec_sequence *sequence, const int *token, const int *opt_parent, int from, int n_nodes);

/* Nothing is held any more. */
void spec_sequence_forget(spec_sequence *sequence);

/* Hold the text that another one holds, without a tree. */
void spec_sequence_follow(spec_sequence *sequence, const spec_sequence *other);

/* How many of these nodes it holds already as its first, where its text is exactly this one; else -1. */
int spec_sequence_matches(const spec_sequence *sequence, const int *text, size_t n, const int *token,
                          const int *opt_parent, int n_nodes);

#endif
