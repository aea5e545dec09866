/* SPDX-License-Identifier: GPL-3.0-or-later */
/* training_speed: the speed-up that a draft in training would have on this machine.
 * Passes of the target are measured, and so is a call of a draft that has been written. Before
 * that, a call takes the same share of a pass's time as of the target's weights, as if both were
 * bound by memory. Tokens per round are those of the exact walk. */
#ifndef SPECLAB_TRAINING_SPEED_H
#define SPECLAB_TRAINING_SPEED_H

#include "analysis/acceptance/exact_walk.h"
#include "models/model.h"
#include "tools/train/training.h"

/* Times in passes of one token of the target. */
typedef struct {
    int K;
    double pass[SPEC_EXACT_WALK_K_MAX + 2];  /* [n]: a pass of n tokens of the target */
    double draft[SPEC_EXACT_WALK_K_MAX + 1]; /* [k]: time to draft k tokens */
    bool draft_measured;
} spec_training_speed;

/* Measures the target at the end of a text (n), n > plan->K, and the draft if there is one. */
int spec_training_speed_measure(spec_training_speed *ret_speed, const spec_model *target,
                                const spec_model *opt_draft, const spec_training_plan *plan,
                                const int *text, size_t n, spec_error *error);

/* Returns the weights read to draft k tokens, divided by those that a pass of the target reads. */
double spec_training_speed_of_draft(const spec_training_plan *plan, int k);

/* Returns the weights that a draft call of the target's first layers reads, divided by those of a
 * pass. */
double spec_training_speed_of_exit(const spec_shape *target, int exit);

/* Returns the largest tokens / (draft + pass) over draft lengths 1..K, and its length. If no length
 * gains, returns 1 and length 0. */
double spec_training_speed_best(int *ret_K, const spec_training_speed *speed,
                                const spec_exact_walk *walk);

#endif
