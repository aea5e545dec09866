/* tree_shape: draft trees of simple form, and how forms are written down.
 * A tree by widths has one number of children for all nodes of a level. accept (levels, ranks) is the chance that the
 * child of rank r (from 0) of a node on level l is accepted, given that the node is (A8). docs/formulas.md#trees. */
#ifndef SPECLAB_TREE_SHAPE_H
#define SPECLAB_TREE_SHAPE_H

/* Nodes of a tree by widths: w[0] + w[0] w[1] + ...; -1 for a width < 0, depth < 0, and beyond `most` nodes. */
int spec_widths_nodes(const int *width, int depth, int most);

/* Expected tokens per round of a tree by widths.
 *
 *     E[n_emitted] = 1 + sum over levels l of the product over k <= l of sum_{r < width[k]} accept[k][r]
 *
 *   width   (depth), each in 0..ranks
 *   accept  (depth, ranks), in [0,1]; those of a node's children sum to at most 1
 *   returns tokens per target call, in [1, depth+1]; NaN outside the domain. O(depth ranks).
 * Checked by: spec_tree_emitted on the same tree, node by node. */
double spec_widths_emitted(const int *width, int depth, const double *accept, int ranks);

/* Forms that need no plan. Each but the chain has the chain among its trees, and delayed the branches. */
typedef enum {
    SPEC_FORM_CHAIN,    /* 1.1.1 */
    SPEC_FORM_K_ARY,    /* 3.3.3: k children a node [Miao24] */
    SPEC_FORM_BRANCHES, /* 3.1.1: n chains from the root [SunZ23] */
    SPEC_FORM_DELAYED,  /* 1.1.3.1.1: a trunk, then n chains [Thomas26] */
    SPEC_FORMS
} spec_form;

/* The tree of a form that is fastest among those of at most `nodes` nodes, and no tree at all:
 *
 *     speedup = E[n_emitted] / (depth c + verify[its nodes])
 *
 *   ret_width  (levels) its widths; ret_nodes, ret_depth, ret_emitted: of equal ones the one with the fewest children
 *              a node, then the shortest trunk, then the fewest levels
 *   accept     (levels, ranks) as above
 *   c          time of a draft call, a level of the tree, in plain target calls, >= 0
 *   verify     (nodes+1) time to verify m draft tokens, in plain target calls, > 0
 *   returns the speed-up; NaN outside the domain, and all is 0.
 * O(levels^2 ranks (levels + ranks)) for delayed, less for others. Checked by: all trees of the form. */
double spec_form_fastest(int *ret_width, int *ret_nodes, int *ret_depth, double *ret_emitted, spec_form form,
                         const double *accept, int levels, int ranks, int nodes, double c, const double *verify);

/* How many children the root has, then each node, breadth first: "3.2.0.1" as numbers.
 *
 *   ret_children  (n+1) the last ones may be 0
 *   parent        (n) -1 <= parent[v] < v; children of one node in the order of their numbers
 *   work          (n+1)
 *   returns the tree's depth; -1 for a parent that does not precede. O(n^2). */
int spec_tree_children(int *ret_children, const int *parent, int n, int *work);

#endif
