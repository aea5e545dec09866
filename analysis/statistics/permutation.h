/* SPDX-License-Identifier: GPL-3.0-or-later */
/* permutation: whether two samples of clusters have the same ratio of sums.
 * Whole clusters change sides, so trials within a cluster may be dependent [Phipson10]. The caller
 * owns the arrays. docs/formulas.md#permutation. */
#ifndef SPECLAB_PERMUTATION_H
#define SPECLAB_PERMUTATION_H

#include <gsl/gsl_rng.h>
#include <stddef.h>

typedef struct {
    double before, after; /* the ratios */
    double p;             /* two-sided, of (1 + as extreme) / (1 + permutations) */
} spec_permutation;

/* Compares sum passed / sum tested of the first n_before clusters with that of the other n_after.
 * The statistic is the studentised difference, over random divisions into sides of these sizes.
 *   passed, tested  (n_before + n_after)
 *   work            (2 (n_before + n_after))
 *   returns p = 1 with fewer than 2 clusters on a side
 * Checked by: all divisions of small samples; uniform p-values under the null hypothesis. */
spec_permutation spec_permutation_ratio(const double *passed, const double *tested, size_t n_before,
                                        size_t n_after, int permutations, double *work,
                                        gsl_rng *rng);

#endif
