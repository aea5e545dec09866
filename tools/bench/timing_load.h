/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timing_load: how busy the machine was during a measurement, for each way and for the whole run.
 * NaN if the plan's load was off. */
#ifndef SPECLAB_TIMING_LOAD_H
#define SPECLAB_TIMING_LOAD_H

#include "tools/bench/timing_decoding.h"
#include "tools/bench/timing_trust.h"

/* The load during the timed intervals of one way. */
typedef struct {
    double processor_share; /* processor seconds of all threads over wall seconds */
    double switches_per_s;  /* involuntary context switches over wall seconds */
    double spread; /* spec_timing_spread over texts of the time per round (way 0: per token) */
} spec_timing_load;

/* Return the load during one way's intervals, and the trust in the whole run. work (n_blocks+1). */
spec_timing_load spec_timing_load_of(const spec_timing *timed, int way, double *work);
spec_timing_trust spec_timing_load_trust(const spec_timing *timed, double *work);

#endif
