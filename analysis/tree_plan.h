/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tree_plan: expected tokens per round of a draft tree, and the trees that maximise them.
 * A tree is an array of nodes: node v has the parent parent[v] < v, or the root, -1, which is not a
 * draft token. A plan assumes that the chance of accepting a node, given that its parent is
 * accepted, is known and independent of the tokens (A8). At most one of several siblings is
 * accepted, so their chances sum to at most 1. docs/formulas/trees.md#trees. */
#ifndef SPECLAB_TREE_PLAN_H
#define SPECLAB_TREE_PLAN_H

#include <gsl/gsl_errno.h>

/* Returns the expected tokens per round of a tree.
 *
 *     E[n_emitted] = 1 + sum over nodes v of the product of accept along the path
 *                        from the root to v                            [Cai24] section 2.3.3
 *
 *   accept  (n) chance that v is accepted, given that its parent is accepted
 *   parent  (n) -1 <= parent[v] < v
 *   n       nodes, >= 0
 *   work    (2n+1)
 *   returns tokens per target call, the correction or bonus counted; 1 at n = 0. NaN for a chance
 *           outside [0,1], siblings whose chances sum to more than 1 (by 1e-9), or a parent that
 *           does not come first. O(n)
 * Checked by: a chain is spec_capped_geometric_mean; a walk over every outcome. */
double spec_tree_emitted(const int *parent, const double *accept, int n, double *work);

/* Returns the expected tokens per round with b independent chains of K draft tokens each, if the
 * longest accepted prefix is taken, as for Lookahead's n-grams: 1 + the mean of the largest of b
 * capped geometrics.
 *
 *     E[n_emitted] = (K + 1) - sum_{i=1..K} (1 - alpha^i)^b              [Fu24]
 *
 *   alpha   acceptance rate, in [0,1]
 *   K       tokens of a chain, >= 0
 *   b       chains, >= 0
 *   returns tokens per target call, in [1, K+1]. NaN outside the domain. O(K)
 * Checked by: spec_capped_geometric_mean at b = 1; the law of the largest. */
double spec_tree_plan_parallel_chains(double alpha, int K, int b);

/* Returns what no tree of chosen nodes exceeds, under any lossless rule, if the target has the same
 * row after every context.
 *
 *     E[n_emitted] <= 1 + min(n, log n / H + M / H^2)      docs/formulas/trees.md#entropy
 *
 *   with the entropy H = E[-log target(X)] of the row and the second moment M = E[log^2 target(X)]
 *   target  (vocab) probabilities, which sum to 1
 *   nodes   n >= 0
 *   returns tokens per target call; 1 + n for a one-hot row. NaN for nodes < 0
 * Checked by: the best trees, from Medusa's program; the most probable of all texts. */
double spec_tree_plan_limit(const double *target, int vocab, int nodes);

/* Builds Medusa's static tree: the n nodes with the largest path products. The token of rank r
 * (from 0) of head k is right with chance accuracy[k*ranks+r], independently of the other heads.
 *
 * A node's product is at most its parent's, so these nodes form a tree. No other tree of n nodes
 * has a larger E[n_emitted].
 *   ret_parent, ret_rank   (n) nodes by descending product, ties by parent and then by rank; the
 *                          depth of a node is its head
 *   ret_product            (n) chance that the node is accepted
 *   accuracy               (heads, ranks), in [0,1]; rows need not be sorted
 *   work                   (n + 1 + heads ranks) ints
 *   returns the number of nodes, which is below n if all other products are 0. -1 outside the
 *           domain, also for heads or ranks < 1 or rows that sum to more than 1.
 * O(n^2 heads + heads ranks^2). Checked by: all trees of up to seven nodes. */
int spec_tree_plan_medusa(int *ret_parent, int *ret_rank, double *ret_product, int n,
                          const double *accuracy, int heads, int ranks, int *work);

/* The best trees of up to `nodes` nodes and `depth` levels when the r-th child (from 0) of any node
 * is accepted with chance accept[r]: Sequoia's dynamic program [Chen24]. Zero or init a plan before
 * use, and free it. */
typedef struct {
    int nodes, depth, width;
    double *accept; /* (width) */
    /* (depth, width+1, nodes+1): largest expected tokens from children r, r+1, ... of a node, by
     * level */
    double *forest;
} spec_tree_plan;

/*   accept  (width) chances that sum to at most 1
 *   returns GSL_SUCCESS; GSL_EDOM for a chance outside [0,1], a sum above 1 (by 1e-9), nodes or
 *           depth < 0, width < 1; GSL_ENOMEM. O(nodes^2 depth width)
 * Checked by: every tree of up to seven nodes. */
int spec_tree_plan_init(spec_tree_plan *plan, const double *accept, int width, int nodes,
                        int depth);
void spec_tree_plan_free(spec_tree_plan *plan);

/* Returns E[n_emitted] of the best tree of at most that many nodes and levels, 0 <= nodes <=
 * plan->nodes, 0 <= depth <= plan->depth; NaN outside.
 *
 *     T(m, l) = 1 + F(m, l, 0),   T(m, 0) = 1
 *     F(m, l, r) = max(0, max_{1<=y<=m} accept[r] T(y-1, l-1) + F(m-y, l, r+1)) */
double spec_tree_plan_emitted(const spec_tree_plan *plan, int nodes, int depth);

/* Builds this tree. ret_parent, ret_rank (nodes): parents come first, and the children of a node
 * are in order of rank, the index into accept. Returns its number of nodes, less than `nodes` if
 * more would not help; -1 outside the domain. */
int spec_tree_plan_build(int *ret_parent, int *ret_rank, const spec_tree_plan *plan, int nodes,
                         int depth);

/* Finds the fastest tree on a machine: over m nodes and l levels, the largest
 *
 *     speedup = T(m, l) / (l c + verify[m])
 *
 *   c       time of one draft call, a level of the tree, in plain target calls, >= 0
 *   verify  (plan->nodes+1) time to verify m draft tokens, in plain target calls, > 0; so
 *           verify[0] is 1
 *   ret_nodes, ret_depth   the smallest m, and then l, that attain it
 *   returns the speed-up; NaN outside the domain */
double spec_tree_plan_fastest(int *ret_nodes, int *ret_depth, const spec_tree_plan *plan, double c,
                              const double *verify);

#endif
