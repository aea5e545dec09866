/* SPDX-License-Identifier: GPL-3.0-or-later */
/* permutation: tests whether two samples of clusters have the same ratio of sums.
 * Whole clusters change sides, so trials within a cluster may be dependent. Clusters must be
 * independent: in a series, first join clusters so that no request is in two of them. The caller
 * owns the arrays. docs/formulas/statistics.md#permutation. */
#ifndef SPECLAB_PERMUTATION_H
#define SPECLAB_PERMUTATION_H

#include <gsl/gsl_rng.h>
#include <stddef.h>

typedef struct {
    double before, after; /* the ratios; NaN for a side without trials */
    /* two-sided: (1 + permutations at least as extreme) / (1 + permutations) [Phipson10] */
    double p;
} spec_permutation;

/* Compares sum passed / sum tested of the first n_before clusters with that of the other n_after.
 * The statistic is the studentised difference [Chung13], over random divisions into sides of these
 * sizes:
 *
 *     |after - before| / sqrt(V_before + V_after),
 *     V = n/(n-1) sum_g (passed_g - ratio tested_g)^2 / (sum tested)^2
 *
 *   passed, tested  (n_before + n_after)
 *   work            (2 (n_before + n_after))
 *   returns p = 1 with fewer than 2 clusters on a side, or without trials on one
 * Takes n_before random numbers per permutation. Checked by: all divisions of small samples;
 * uniform p-values under the null hypothesis. */
spec_permutation spec_permutation_ratio(const double *passed, const double *tested, size_t n_before,
                                        size_t n_after, int permutations, double *work,
                                        gsl_rng *rng);

#endif
