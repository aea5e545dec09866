/* SPDX-License-Identifier: GPL-3.0-or-later */
/* claim: a published claim about serving, and the number that settles it.
 * Plain records that borrow what they point to. Headers only. */
#ifndef SPECLAB_CLAIM_H
#define SPECLAB_CLAIM_H

#include "models/context.h"
#include "sim/serving/requests/accepted_lengths.h"
#include "sim/serving/step_cost.h"

/* A claim. Numbers that a quantity does not need may be NaN, and texts "". */
typedef struct {
    double alpha, rate, batch, context, prompt, output;
    double window;  /* maximum tokens in the cache of a draft model */
    double speedup; /* as printed in the paper */
    /* time of a draft call over a target call; probability that a bonus token is guessed */
    double c, guess;
    int K;
    const char *spread;              /* of alpha over requests (alpha_law.h) */
    const spec_step_cost *cost;      /* includes the draft's cost, on the target's device */
    const spec_step_cost *opt_draft; /* the cost of a draft model, as if it were the target */
    const spec_accepted_lengths *opt_accepted;
    uint64_t seed;
    spec_context *opt_context;
    const volatile int *opt_stop;
} spec_claim;

/* low and high are the ends of a 95 % interval, or the value itself if it is exact. */
typedef struct {
    double value, low, high;
} spec_claim_value;

#endif
