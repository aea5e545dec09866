/* SPDX-License-Identifier: GPL-3.0-or-later */
/* block_row: the single draft row that the token rule accepts most often after several contexts.
 * A parallel drafter must choose the row of an offset before it knows the earlier tokens of the
 * draft, so one row serves all of them. Arrays belong to the caller.
 * docs/formulas/block-drafts.md#block-rows. */
#ifndef SPECLAB_BLOCK_ROW_H
#define SPECLAB_BLOCK_ROW_H

#include <stddef.h>

/* S contexts, with their weights and the target's row after each. */
typedef struct {
    const double *target;   /* (S, V) rows that sum to 1 */
    const double *weight;   /* (S) >= 0 */
    const double *opt_gain; /* (S, V) >= 0: what an accepted token is worth; NULL: 1 */
    size_t S, V;            /* >= 1 */
} spec_block_row_set;

/* Returns the worth of a draft row:
 *
 *     worth(draft) = sum_s weight(s) sum_x gain(s, x) min(target(s, x), draft(x))
 *
 * If the weights are the chances of the contexts and there are no gains, it is the chance that the
 * token rule accepts the token. */
double spec_block_row_worth(const spec_block_row_set *rows, const double *draft);

/* Computes the weighted mean of the rows, which minimises the mean cross-entropy of the target to
 * the draft. Its worth is at least the square of the best worth, if weights sum to 1 and gains are
 * 1. All zeros if all weights are 0. */
void spec_block_row_mean(double *ret_row, const spec_block_row_set *rows);

/* The worth of a token rises piecewise linearly with its probability. On this piece, from the
 * previous step up to `top`, it rises with slope `slope`. */
typedef struct {
    double slope, top;
    size_t token;
} spec_block_step;

/* Finds the distribution with the largest worth. A row is the best one if there is a level such
 * that for all x, with sums over s,
 *
 *     sum of weight gain over target(s, x) > draft(x)   <= level
 *     sum of weight gain over target(s, x) >= draft(x)  >= level      where draft(x) > 0
 *
 *   ret_row    (V) sums to 1 as the target's rows do; among several best rows, the one that fills
 *              lower token ids first
 *   ret_level  the least such level
 *   work       (S V)
 *   returns the worth of the row. O(S V log(S V))
 * Checked by: all vertices in fractions; the dual; random changes (tests/oracle/block_draft.py,
 * tests/analysis/rules/test_block_row.c). */
double spec_block_row_best(double *ret_row, double *ret_level, const spec_block_row_set *rows,
                           spec_block_step *work);

/* Returns how far a row and a level are from the condition above: the largest excess, which is 0
 * for the best row. */
double spec_block_row_excess(const spec_block_row_set *rows, const double *draft, double level);

/* Returns the most probable token of the mean row. Without gains, the one-hot row at this token is
 * the best one-hot row, and its worth is the token's probability in the mean row. */
size_t spec_block_row_one_hot(const spec_block_row_set *rows);

#endif
