/* SPDX-License-Identifier: GPL-3.0-or-later */
/* paired_latency: ratios of mean latencies of plans that serve the same requests.
 * Replication i of every plan has the same arrivals, lengths and acceptance rates: common random
 * numbers. Intervals come from resampling whole replications of all plans together
 * (analysis/statistics/block_bootstrap.h). */
#ifndef SPECLAB_PAIRED_LATENCY_H
#define SPECLAB_PAIRED_LATENCY_H

#include "analysis/statistics/block_bootstrap.h"
#include "experiments/serving/replications.h"

#include <stdbool.h>

enum { SPEC_PAIRED_PLANS = 32, SPEC_PAIRED_RESAMPLES = 2000 };

typedef struct {
    /* latency of the plain plan over that of this one, with its 95 % interval; 1 for the plain one
     */
    spec_block_interval speedup;
    /* this latency is the lowest, or not distinguished from it: among the intervals of all pairs,
     * which hold together with 95 %, that of this pair has 1 */
    bool as_good;
} spec_paired_plan;

/* Compare n plans, 1..SPEC_PAIRED_PLANS, with equal numbers of replications. of[k] NULL leaves plan
 * k out: its numbers are NaN, and all speed-ups are if it is the plain one. opt_best[k]: may plan k
 * be the best one? NULL: each. ret_best: the plan with the lowest mean latency, or -1. GSL_ENOMEM.
 */
int spec_paired_latency(spec_paired_plan *ret, int *ret_best, const spec_replications *const *of,
                        const bool *opt_best, int n, int plain, uint64_t seed, spec_error *error);

#endif
