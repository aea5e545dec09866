/* SPDX-License-Identifier: GPL-3.0-or-later */
/* predecessors: the draft tokens that may come before an offset of a block, with probabilities.
 * For a target of some order, predecessors with the same last `order` tokens are merged. If more
 * than `paths` remain, the likely ones are kept and the others sampled, without bias [Fearnhead03].
 * The same context always gives the same sample. Owns its arrays and a session of the target. */
#ifndef SPECLAB_PREDECESSORS_H
#define SPECLAB_PREDECESSORS_H

#include "models/model.h"

typedef struct {
    const spec_model *target;
    int paths, reach; /* most predecessors per offset; most offsets */
    uint64_t seed;
    spec_session session;
    int *context; /* (capacity) the part of the text that the rows depend on: all of it or its last
                     tokens */
    size_t n_context, capacity;
    uint64_t key; /* hash of the context and the seed */
    bool begun;   /* the arrays below belong to this context */

    /* All predecessors as a tree, offset by offset; -1 is the root. */
    int n_nodes, *token, *parent;
    int length;   /* tokens in each current predecessor */
    bool thinned; /* some offset had more than `paths` predecessors */

    /* The predecessors of the current offset, with weights that sum to 1. There are none if the
     * offset cannot be reached. */
    int n;
    int *node;          /* (paths) in the tree */
    double *weight;     /* (paths) */
    const double **row; /* (paths) the target's row after each of them */

    double *store;           /* rows (V) of the current offset, or of the whole tree */
    const double **tree_row; /* (nodes + 1) if the target reads the whole text */
    double *mass;            /* (paths, V) workspace */
    double *largest;         /* (paths) workspace */
    int *group, *sorted;     /* (paths) workspace */
    int *tail;               /* (paths, SPEC_ORDER_MAX) workspace */
} spec_predecessors;

/* Computes how many numbers an object of this size holds, to check memory. Returns GSL_EINVAL, with
 * a line, if a target that reads the whole text has more than SPEC_NODES_MAX predecessors. */
int spec_predecessors_size(double *ret_size, const spec_model *target, int paths, int reach,
                           spec_error *error);

int spec_predecessors_init(spec_predecessors *at, const spec_model *target, int paths, int reach,
                           uint64_t seed, spec_error *error);
void spec_predecessors_free(spec_predecessors *at); /* accepts a zeroed object */

/* Begins a round: the root is the only predecessor of the first offset. If the context is the same
 * as in the previous round, sets *ret_same and changes nothing else. */
int spec_predecessors_begin(spec_predecessors *at, bool *ret_same, const int *context, size_t n,
                            spec_error *error);

/* Moves on to the next offset. The predecessor made of s and then token x gets the weight
 *
 *     weight_s min(target(x | s), draft_s(x)), the probability that x is drafted and accepted, or
 *     weight_s target(x | s) without draft rows, its probability in the target's text.
 *
 * Nothing follows an end of text. opt_draft (n) has the draft's rows (V) after the current
 * predecessors. */
int spec_predecessors_next(spec_predecessors *at, const double *const *opt_draft,
                           spec_error *error);

#endif
