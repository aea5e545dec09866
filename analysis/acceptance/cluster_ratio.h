/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cluster_ratio: a ratio of sums over clusters of dependent trials, with an interval.
 * A cluster is a request, or a section of an engine's log. Trials within a cluster may depend on
 * one another in any way; clusters are independent. A binomial interval is the special case of one
 * trial per cluster. The caller owns the arrays. docs/formulas/statistics.md#cluster-ratio. */
#ifndef SPECLAB_CLUSTER_RATIO_H
#define SPECLAB_CLUSTER_RATIO_H

#include <stddef.h>

typedef struct {
    double value; /* sum of passed / sum of tested */
    double se;    /* NaN with fewer than 2 clusters */
    double df;    /* degrees of freedom of se, >= 1; NaN with fewer than 2 clusters */
    double low, high;
    /* variance divided by that of independent trials, value (1 - value) / sum of tested; NaN where
     * the latter is 0 or the ratio is not a proportion */
    double design_effect;
} spec_cluster_ratio;

/* Returns the ratio and its interval at confidence 1 - error.
 *
 *     u_g = (passed_g - value tested_g) / (1 - h_g),   h_g = tested_g / sum tested
 *     se^2 = (G - 1)/G sum u_g^2 / (sum tested)^2      the jackknife over G clusters [Miller74]
 *     df = least of 1/sum h_g^2 - 1 and 2 (sum u_g^2)^2 / (sum u_g^4 - (sum u_g^2)^2 / G)
 *
 * with Student's quantile of df, which is at least 1. The first df depends on how evenly the
 * clusters share the trials, the second on how evenly they share the variance. The interval of a
 * proportion is computed for its log-odds, so it lies in [0,1]; for other ratios it is computed for
 * the logarithm.
 *   passed, tested  (n) >= 0; clusters with tested = 0 do not count
 *   proportion      whether passed <= tested in every cluster by definition
 *   error           1 - confidence, in (0,1)
 *   returns NaN throughout without trials and for a negative or infinite number; low and high are
 *           NaN with fewer than 2 clusters. Clusters with the same ratio, up to rounding, show no
 *           spread: the interval of a proportion is then that of independent trials, and the
 *           interval of another ratio has no width
 * Checked by: delete-one recomputation; coverage on known laws. */
spec_cluster_ratio spec_cluster_ratio_of(const double *passed, const double *tested, size_t n,
                                         int proportion, double error);

/* Joins neighbouring clusters of a series in time into at most `most` clusters of about equal
 * `tested` (batch means [Schmeiser82]), in place. Clusters of such a series depend on earlier ones,
 * and joined ones may too: serial_widening.h. Returns the new number; n <= most changes nothing.
 *   column  (n, m) row-major sums of each cluster, finite; `weight` is the column of tested, >= 0,
 *           in 0..m-1
 *   most    >= 1 */
size_t spec_cluster_ratio_join(double *column, size_t n, size_t m, size_t weight, size_t most);

#endif
