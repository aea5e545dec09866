/* SPDX-License-Identifier: GPL-3.0-or-later */
/* branch_heap: the branches that a tree may take next, in the order of their values.
 * Among equal values the first one pushed comes first. The caller owns the array. */
#ifndef SPECLAB_BRANCH_HEAP_H
#define SPECLAB_BRANCH_HEAP_H

typedef struct {
    double value;
    double above; /* for the owner, like `item` */
    long number;  /* how many branches were pushed before it */
    int node;     /* its parent in the tree, or -1 */
    int depth, item;
} spec_open_branch;

typedef struct {
    spec_open_branch *branch; /* with room for all branches that are pushed and not yet popped */
    int n;
    long pushed;
} spec_branch_heap;

void spec_branch_heap_clear(spec_branch_heap *heap);

/* Adds a branch and sets its number. */
void spec_branch_heap_push(spec_branch_heap *heap, spec_open_branch branch);

/* Removes the first branch; n > 0. */
spec_open_branch spec_branch_heap_pop(spec_branch_heap *heap);

#endif
