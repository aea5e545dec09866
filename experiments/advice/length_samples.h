/* SPDX-License-Identifier: GPL-3.0-or-later */
/* length_samples: speeds of all draft lengths on resampled clusters, which give their intervals.
 * Clusters of each run are drawn with replacement, within their range of batches [Efron79]. All
 * lengths use the same resamples, so that their comparisons keep the dependence between them. Owns
 * its samples. */
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

/* The number of a length that an interval is for. */
typedef enum { SPEC_LENGTH_TOKENS, SPEC_LENGTH_TIME, SPEC_LENGTH_SPEED } spec_length_which;

/* Returns the interval of a number of K, which covers both its range and sampling: it reaches from
 * the low quantile of the low end to the high quantile of the high end. With fewer than 16 clusters
 * it is Student's, with the standard error of the resamples; NaN with fewer than 2. `se` is NaN. */
spec_block_interval spec_length_samples_interval(spec_length_samples *samples, int K,
                                                 spec_length_which which);

/* Returns the same for the ratio of K's speed to that of another length. */
spec_block_interval spec_length_samples_ratio(spec_length_samples *samples, int K, int other);

/* Computes what these lengths lose compared with the fastest of them, as shares of its speed.
 *
 * A resample together with a scenario gives a loss for each length. A scenario picks a point
 * between the ends of each number that the data leave open: one point for tokens, and one for times
 * on each side of the longest run. Six in ten scenarios are the central estimate, and the others
 * lie anywhere between the ends. ret_likely is the quantile 1 - error of that loss. ret_largest is
 * the same quantile of the largest loss over all combinations of ends (analysis/minimax_length.h).
 *   ret_likely, ret_largest, ret_fastest  (n); ret_fastest: share of scenarios in which it is the
 *                                         fastest length
 *   K        (n) lengths with a speed
 *   returns  the smallest number of clusters of any length; below 2 nothing is resampled, and the
 *            losses come from the scenarios alone. -1 if memory runs out */
int spec_length_samples_losses(double *ret_likely, double *ret_largest, double *ret_fastest,
                               spec_length_samples *samples, const int *K, int n);

#endif
