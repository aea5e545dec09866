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

/* GSL_ENOMEM. */
int spec_length_samples_init(spec_length_samples *samples, const spec_length_plan *plan);
void spec_length_samples_free(spec_length_samples *samples);

/* The interval of the speed of K that covers its range and sampling: from the low quantile of its
 * low end to the high quantile of its high end. With fewer than 16 clusters the ends are Student's,
 * with the standard error of the resamples; NaN with fewer than 2. `se` is NaN. */
spec_block_interval spec_length_samples_interval(spec_length_samples *samples, int K);

/* The same of the speed of K over that of another length; its value is NaN unless both have one. */
spec_block_interval spec_length_samples_ratio(spec_length_samples *samples, int K, int other);

#endif
