/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timing_ranking: finds joint intervals for all speed-ups, and which K may be the fastest.
 * The best of many results is often just lucky. Joint intervals, and a set that contains the
 * fastest K, stay valid after you pick the best. docs/formulas/statistics.md#ranking. */
#ifndef SPECLAB_TIMING_RANKING_H
#define SPECLAB_TIMING_RANKING_H

#include "tools/bench/timing_sample.h"
#include "tools/bench/timing_speed.h"

/* Fills in speedup, verdict and `tied` of every speed, and best; n_speeds and tokens_per_round must
 * be set. Returns GSL_ENOMEM if out of memory. */
int spec_timing_rank(spec_timing_prediction *prediction, const spec_timing_sample *sample,
                     spec_error *message);

#endif
