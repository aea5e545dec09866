/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tree_shape: draft trees of simple shapes, and their notation.
 * In a tree by widths, all nodes of a level have the same number of children. accept[l][r] is the
 * chance of accepting the child of rank r (from 0) of an accepted node on level l (A8).
 * docs/formulas/trees.md#trees. */
#ifndef SPECLAB_TREE_SHAPE_H
#define SPECLAB_TREE_SHAPE_H

/* Returns the nodes of a tree by widths, w[0] + w[0] w[1] + ...; -1 for a width < 0, depth < 0, or
 * more than `most` nodes. */
int spec_tree_shape_nodes(const int *width, int depth, int most);

/* Returns the expected tokens per round of a tree by widths.
 *
 *     E[n_emitted] = 1 + sum over levels l of the product over k <= l of
 *                        sum_{r < width[k]} accept[k][r]
 *
 *   width   (depth), each in 0..ranks
 *   accept  (depth, ranks), in [0,1]; those of a node's children sum to at most 1
 *   returns tokens per target call, in [1, depth+1]; NaN outside the domain. O(depth ranks)
 * Checked by: spec_tree_emitted on the same tree, node by node. */
double spec_tree_shape_emitted(const int *width, int depth, const double *accept, int ranks);

/* Shapes that need no plan. Each form includes the chain, and delayed includes the branches. */
typedef enum {
    SPEC_FORM_CHAIN,    /* 1.1.1 */
    SPEC_FORM_K_ARY,    /* 3.3.3: k children per node [Miao24] */
    SPEC_FORM_BRANCHES, /* 3.1.1: n chains from the root [SunZ23] */
    SPEC_FORM_DELAYED,  /* 1.1.3.1.1: a trunk, then n chains [Thomas26] */
    SPEC_FORMS
} spec_form;

/* A search for the fastest tree of a form. */
typedef struct {
    spec_form form;
    const double *accept; /* (levels, ranks) as above */
    int levels, ranks;
    int nodes;            /* maximum nodes of the tree */
    double c;             /* time of a draft call, one per level, in target calls, >= 0 */
    const double *verify; /* (nodes+1) time to verify m draft tokens, in target calls, > 0 */
} spec_tree_shape_search;

/* The tree found. */
typedef struct {
    int nodes, depth;
    double emitted; /* tokens per target call */
    double speedup; /* NaN outside the domain of the search; nodes, depth and emitted are then 0 */
} spec_tree_shape_found;

/* Finds the fastest tree of the form with at most `nodes` nodes, including the empty tree:
 *
 *     speedup = E[n_emitted] / (depth c + verify[its nodes])
 *
 *   ret_width  (levels) its widths; among equally fast trees, the one with the fewest children per
 *              node, then the shortest trunk, then the fewest levels
 * O(levels^2 ranks (levels + ranks)) for delayed, less for others. Checked by: all trees of the
 * form. */
spec_tree_shape_found spec_tree_shape_fastest(int *ret_width, const spec_tree_shape_search *search);

/* Fills the number of children of the root, then of each node, breadth first: "3.2.0.1" as numbers.
 *
 *   ret_children  (n+1) the last ones may be 0
 *   parent        (n) -1 <= parent[v] < v; children of one node in the order of their numbers
 *   work          (n+1)
 *   returns the tree's depth; -1 if a parent does not come first. O(n^2) */
int spec_tree_children(int *ret_children, const int *parent, int n, int *work);

#endif
