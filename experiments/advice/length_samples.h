/* SPDX-License-Identifier: GPL-3.0-or-later */
/* length_samples: the speeds of all draft lengths on resampled clusters, for their intervals.
 * Clusters of each run are drawn with replacement, within its range of batches [Efron79]. One
 * resample serves all lengths, so that comparisons of lengths keep their dependence. Owns its
 * samples. */
#ifndef SPECLAB_LENGTH_SAMPLES_H
#define SPECLAB_LENGTH_SAMPLES_H

#include "analysis/statistics/block_bootstrap.h"
#include "experiments/advice/length_speeds.h"

enum { SPEC_LENGTH_RESAMPLES = 500 };

typedef struct {
    const spec_length_plan *plan;
    /* (SPEC_LENGTH_RESAMPLES + 1, SPEC_ADVICE_K); row 0 is the data's own */
    spec_length_speed *speed;
    double *work; /* (SPEC_LENGTH_RESAMPLES + 1) */
} spec_length_samples;

/* Draws the samples. Returns GSL_ENOMEM. */
int spec_length_samples_init(spec_length_samples *samples, const spec_length_plan *plan);
void spec_length_samples_free(spec_length_samples *samples);

/* Which number of a length. */
typedef enum { SPEC_LENGTH_TOKENS, SPEC_LENGTH_TIME, SPEC_LENGTH_SPEED } spec_length_which;

/* Returns the interval of a number of K that covers its range and sampling: from the low quantile
 * of its low end to the high quantile of its high end. With fewer than 16 clusters the ends are
 * Student's, with the standard error of the resamples; NaN with fewer than 2. `se` is NaN. */
spec_block_interval spec_length_samples_interval(spec_length_samples *samples, int K,
                                                 spec_length_which which);

/* Returns the same for the ratio of K's speed to that of another length. */
spec_block_interval spec_length_samples_ratio(spec_length_samples *samples, int K, int other);

/* Computes the losses of these lengths compared with the fastest of them, as shares of its speed.
 *
 * A resample with a scenario gives a loss for each length. A scenario is a point between the ends
 * of numbers that the data leave open: one for tokens, and one for times on each side of the
 * longest run. Six in ten are the central estimate, the others lie anywhere between the ends.
 * ret_likely is the quantile 1 - error of that loss. ret_largest is that of the largest loss over
 * all combinations of ends (analysis/minimax_length.h).
 *   ret_likely, ret_largest, ret_fastest  (n); ret_fastest: share of scenarios in which it is the
 *                                         fastest length
 *   K        (n) lengths with a speed
 *   returns  clusters of the length with the fewest; below 2 nothing is resampled, and the losses
 *            are those of the scenarios alone. -1 if memory runs out */
int spec_length_samples_losses(double *ret_likely, double *ret_largest, double *ret_fastest,
                               spec_length_samples *samples, const int *K, int n);

#endif
