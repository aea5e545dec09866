/* SPDX-License-Identifier: GPL-3.0-or-later */
/* paired_latency: ratios of the mean latencies of plans that serve the same requests.
 * Replication i has the same arrivals, lengths and acceptance rates in every plan (common random
 * numbers). For intervals, whole replications are resampled, for all plans together
 * (analysis/statistics/block_bootstrap.h). */
#ifndef SPECLAB_PAIRED_LATENCY_H
#define SPECLAB_PAIRED_LATENCY_H

#include "analysis/statistics/block_bootstrap.h"
#include "tools/serve/replications.h"

#include <stdbool.h>

enum { SPEC_PAIRED_PLANS = 32, SPEC_PAIRED_RESAMPLES = 2000 };

typedef struct {
    /* latency of the plain plan divided by this one's, with a 95 % interval; 1 for the plain
     * plan */
    spec_block_interval speedup;
    /* this latency is the lowest, or cannot be distinguished from the lowest: the interval of their
     * ratio contains 1, where the intervals of all pairs have a joint confidence of 95 % */
    bool as_good;
} spec_paired_plan;

/* Compares n plans, 1..SPEC_PAIRED_PLANS, which have equal numbers of replications. If of[k] is
 * NULL, plan k is left out and its numbers are NaN; if that is the plain plan, all speed-ups are
 * NaN. opt_best[k] says whether plan k may be the best one; NULL means that every plan may.
 * ret_best is the plan with the lowest mean latency, or -1. Returns GSL_ENOMEM. */
int spec_paired_latency(spec_paired_plan *ret, int *ret_best, const spec_replications *const *of,
                        const bool *opt_best, int n, int plain, uint64_t seed, spec_error *error);

#endif
