/* SPDX-License-Identifier: GPL-3.0-or-later */
/* block_tree: rounds of a parallel drafter, whose rows do not see the tokens of the round.
 * The target is a table of all paths. Node 0 is the root, and node V v + 1 + x extends the path of
 * node v by token x. A draft has K rows (K, V), one per offset. The rule is the token rule.
 * docs/formulas/block-drafts.md#block-rounds. */
#ifndef SPECLAB_BLOCK_TREE_H
#define SPECLAB_BLOCK_TREE_H

#include "analysis/rules/block_row.h"

#include <gsl/gsl_eigen.h>

/* Maximum rows of a table. */
enum { SPEC_BLOCK_TREE_ROWS = 1 << 22 };

typedef struct {
    const double *target; /* (rows, V) the row after each node of fewer than K tokens */
    int V, K;             /* >= 1 */
} spec_block_tree;

/* Returns the number of rows of a tree, 1 + V + .. + V^(K-1); 0 if V or K is below 1 or there are
 * too many rows. */
size_t spec_block_tree_rows(int V, int K);

typedef struct {
    double *weight;        /* (rows) chance of each node */
    double *ahead;         /* (rows) expected tokens accepted after each node */
    double *gain, *copied; /* (V^(K-1), V) for one level */
    double *row;           /* (V) */
    spec_block_step *step; /* (V^(K-1) V) */
    gsl_matrix *square;    /* (V, V) */
    gsl_vector *values;    /* (V) */
    gsl_eigen_symm_workspace *eigen;
} spec_block_tree_work;

/* Returns GSL_EDOM for a tree without rows or with too many, or GSL_ENOMEM. */
int spec_block_tree_work_init(spec_block_tree_work *work, int V, int K);
void spec_block_tree_work_free(spec_block_tree_work *work);

/* Fills ret_tail (K) with P(n_accepted >= i) for i = 1..K. Returns their sum, E[n_accepted].
 *
 *     P(n_accepted >= i) = sum over x_1..x_i of prod_{j <= i} min(target_j(x_j), draft_j(x_j))
 *
 * where target_j is the row after x_1..x_{j-1}. Checked by: sums over all drafts and their ratios;
 * fractions (tests/oracle/block_draft.py). */
double spec_block_tree_tails(double *ret_tail, const spec_block_tree *tree, const double *draft,
                             spec_block_tree_work *work);

/* Fills ret_bound (K) with the largest acceptance possible at each offset if the earlier tokens
 * come from the target and the row may depend on the last `memory` of them.
 *
 *     bound_i = E[max over rows d of E[sum_x min(target_i(x), d(x)) | the last `memory` tokens]]
 *
 * P(n_accepted >= i) is at most bound_j for every j <= i. 1 for i <= memory + 1. */
void spec_block_tree_bounds(double *ret_bound, const spec_block_tree *tree, int memory,
                            spec_block_tree_work *work);

/* Fills ret_draft with the target's marginals, the rows that training by cross-entropy finds, and
 * ret_overlap (K) with their acceptance at each offset. */
void spec_block_tree_marginals(double *ret_draft, double *ret_overlap, const spec_block_tree *tree,
                               spec_block_tree_work *work);

/* Chooses the rows offset by offset. Each is the best one after the tokens accepted with the
 * earlier rows; among tied rows, the one that fills lower token ids first. This is the best draft
 * for K <= 2. For K = 3 it can lose up to (V - 1)/(2V - 1) tokens, for K = 4 up to 1, and never
 * more than 3/4 (K - 2). docs/formulas/block-drafts.md#offset-by-offset. Checked by: all targets of
 * two tokens with rows in multiples of 1/2 and 1/4, a climb over targets, the targets that lose
 * most. */
void spec_block_tree_greedy(double *ret_draft, const spec_block_tree *tree,
                            spec_block_tree_work *work);

/* Replaces each row in turn, beginning with the last one, by the best row given the others. Returns
 * E[n_accepted] after that, which is never less than before. */
double spec_block_tree_improve(double *draft, const spec_block_tree *tree,
                               spec_block_tree_work *work);

/* Fills ret_bound (K) with upper bounds on P(n_accepted >= i) for any lossless rule: for each i the
 * minimum over j <= i of the square root of the largest eigenvalue of E[r r'], where r(x) is the
 * square root of target(x | x_1 .. x_{j-1}). */
void spec_block_tree_any_rule(double *ret_bound, const spec_block_tree *tree,
                              spec_block_tree_work *work);

#endif
