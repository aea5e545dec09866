/* SPDX-License-Identifier: GPL-3.0-or-later */
/* pair_numbers: acceptance, tokens per round, speed-ups and the best draft, with intervals.
 * Texts are independent clusters. Speed-ups over all texts hold jointly, for all drafts and K, so
 * they stay valid for the best one. docs/pair.md#numbers. */
#ifndef SPECLAB_PAIR_NUMBERS_H
#define SPECLAB_PAIR_NUMBERS_H

#include "analysis/acceptance/cluster_ratio.h"
#include "analysis/statistics/block_bootstrap.h"
#include "experiments/pass_costs.h"
#include "tools/pair/pair_run.h"

/* Where times come from: without opt_c from the run, if it timed the passes; otherwise there are no
 * speed-ups. */
typedef struct {
    /* (n_drafts) time of a draft's pass divided by that of a pass of the target, >= 0 */
    const double *opt_c;
    const spec_pass_costs
        *opt_passes; /* of the target; NULL or without points: every pass takes 1 */
} spec_pair_costs;

/* A draft with K tokens, on all texts or those of a category; NaN: not known. */
typedef struct {
    int draft, K;
    int category; /* -1: all texts */
    int texts;
    double positions;
    spec_cluster_ratio alpha;     /* mean overlap over the positions */
    spec_cluster_ratio agreement; /* share of positions with the same largest token */
    /* share of the rounds that reach draft token K which accept it, if the longest K is drafted;
     * without an interval if fewer than 30 rounds reach it */
    spec_cluster_ratio conditional;
    spec_cluster_ratio tokens_per_round;
    /* for all texts: with a joint interval over drafts and K; for a category: the interval of
     * tokens_per_round, scaled by the times over all texts */
    spec_block_interval speedup;
    bool best;  /* this row has the largest lower end of its category */
    bool alike; /* for all texts: not the best row, but it may be the fastest */
} spec_pair_row;

typedef struct {
    const spec_pair_run *run;
    spec_pair_row *row; /* (n_rows) by category, all texts first; by draft; by K */
    int n_rows;
    /* time of a draft's pass divided by that of a pass of the target */
    spec_block_interval c[SPEC_PAIR_DRAFTS];
    /* Given texts: a standard normal number if the target wrote them; +inf if it never would. */
    double foreign_z;
} spec_pair_numbers;

/* Computes the numbers. Intervals have a confidence of 1 - error; they are NaN with one text.
 * Returns GSL_ENOMEM. Must be freed even on failure; borrows the run. */
int spec_pair_numbers_init(spec_pair_numbers *numbers, const spec_pair_run *run,
                           const spec_pair_costs *costs, double error, spec_error *message);
void spec_pair_numbers_free(spec_pair_numbers *numbers);

/* Returns the best row of a category (-1: all texts), of one draft or of all (-1); NULL without
 * speed-ups. */
const spec_pair_row *spec_pair_numbers_best(const spec_pair_numbers *numbers, int category,
                                            int draft);

#endif
