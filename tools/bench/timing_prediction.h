/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timing_prediction: compares the predicted speed-up with the measured one.
 * Predictions use the times of passes and the measured acceptance. Theorem 3.8 of [Leviathan23]
 * takes alpha and c; the full model takes the acceptance at each depth and the costs of passes,
 * alone and in rounds of another K, and of the rest of a round. Times are in seconds. */
#ifndef SPECLAB_TIMING_PREDICTION_H
#define SPECLAB_TIMING_PREDICTION_H

#include "tools/bench/timing_speed.h"

/* Fills in the prediction. Intervals hold with probability 1 - error, from `resamples` resamples of
 * the texts. Returns GSL_ENOMEM if out of memory. */
int spec_timing_predict(spec_timing_prediction *ret, const spec_timing *timed, double error,
                        int resamples, spec_error *message);

#endif
