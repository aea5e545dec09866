/* SPDX-License-Identifier: GPL-3.0-or-later */
/* claim: the records of a published claim about serving, and of the number that settles it.
 * Plain records that borrow what they point to. Headers only. */
#ifndef SPECLAB_CLAIM_H
#define SPECLAB_CLAIM_H

#include "base/thread_pool.h"
#include "sim/serving/requests/accepted_lengths.h"
#include "sim/serving/step_cost.h"

/* Of a claim; numbers that a quantity does not need may be NaN, texts "". */
typedef struct {
    double alpha, rate, batch, context, prompt, output;
    double window;   /* most tokens in the cache of a draft model */
    double speedup;  /* a printed one */
    double c, guess; /* a draft call over a target call; chance that a bonus token is guessed */
    int K;
    const char *spread;              /* of alpha over requests (alpha_law.h) */
    const spec_step_cost *cost;      /* with the draft's, on the target's device */
    const spec_step_cost *opt_draft; /* a draft model, as the target of a cost */
    const spec_accepted_lengths *opt_accepted;
    uint64_t seed;
    spec_thread_pool *opt_pool;
    const volatile int *opt_stop;
} spec_claim;

/* low and high are the ends of a 95 % interval, or the value itself if it is exact. */
typedef struct {
    double value, low, high;
} spec_claim_value;

#endif
