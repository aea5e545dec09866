/* SPDX-License-Identifier: GPL-3.0-or-later */
/* best_first: builds a one-hot tree of the most frequent continuations after a match.
 * The value of a node estimates the chance that the text takes its path: the product of the tokens'
 * shares among the continuations [Oliaro24]. The tree owns its arrays. */
#ifndef SPECLAB_BEST_FIRST_H
#define SPECLAB_BEST_FIRST_H

#include "sim/draft/draft.h"

/* A continuation in an index of texts; only the index reads `low` and `high`. */
typedef struct {
    double value;
    int token;
    /* its parent in the tree, or while it is being expanded its own number; -1: the root */
    int node;
    int depth; /* 0 for the root, 1 for its children */
    int low, high;
} spec_branch;

typedef struct {
    int capacity, width; /* maximum nodes, and most children of a node */
    int n;               /* nodes, parents first, siblings by descending value */
    int *token, *parent; /* (capacity) */
    double score;        /* sum of the values: expected number of tokens that the text takes */

    int n_open, n_children;
    double total;       /* occurrences of all children of the node being expanded */
    spec_branch *open;  /* (capacity) the next nodes, the best last */
    spec_branch *child; /* (width) children of the node being expanded, the best first */
} spec_best_first;

/* An index of texts. `children` offers every continuation of a node, each once. */
typedef struct {
    const void *index;
    void (*children)(spec_best_first *tree, const void *index, const spec_branch *node);
} spec_continuations;

/* The limits of one tree; `least` is the smallest value of a node. */
typedef struct {
    int nodes, depth;
    double least;
} spec_best_first_limit;

/* capacity >= 0, width >= 1. */
int spec_best_first_init(spec_best_first *tree, int capacity, int width, spec_error *error);
void spec_best_first_free(spec_best_first *tree); /* accepts a zeroed one */

/* Offers a child of the node being expanded, seen count >= 1 times. */
void spec_best_first_offer(spec_best_first *tree, int token, int count, int low, int high);

/* Grows a new tree below a match low..high. The node with the largest value comes next, and among
 * equals the one found first. Siblings with equal counts are in order of token. */
void spec_best_first_grow(spec_best_first *tree, const spec_continuations *from, int low, int high,
                          const spec_best_first_limit *limit);

/* Appends the tree to an empty draft, all nodes chosen. */
void spec_best_first_submit(spec_draft *draft, const spec_best_first *tree);

#endif
