/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timing_ranking: joint intervals of the speed-ups of all K, and the K that may be the fastest.
 * Selecting the best of many results selects luck. Joint intervals, and the set that contains the
 * fastest K, stay valid after the selection. docs/formulas.md#ranking. */
#ifndef SPECLAB_TIMING_RANKING_H
#define SPECLAB_TIMING_RANKING_H

#include "timing/timing_sample.h"
#include "timing/timing_speed.h"

/* Fill speedup, verdict and `tied` of every speed, and best; n_speeds and tokens_per_round must be
 * set. GSL_ENOMEM. */
int spec_timing_rank(spec_timing_prediction *prediction, const spec_timing_sample *sample,
                     spec_error *message);

#endif
