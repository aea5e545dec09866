/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timing_trust: decides whether measured times can be trusted, and gives the reasons in one line.
 * We compare the load of the machine (machine_load.h) with limits that were found by measuring:
 * docs/formulas/costs.md#busy. A NaN means that a number was not measured; it does not make a run
 * suspect. */
#ifndef SPECLAB_TIMING_TRUST_H
#define SPECLAB_TIMING_TRUST_H

#include "models/model.h"

#include <stdbool.h>
#include <stddef.h>

/* A run is not trusted if any of these is exceeded. */
#define SPEC_TRUST_LOST 0.10   /* share of time lost to other programs */
#define SPEC_TRUST_SPREAD 0.50 /* spread of a plain token's time over texts */
#define SPEC_TRUST_SPEED 0.05  /* spread of the processor's speed */

/* The system counts the time of all processes in hundredths of a second. This is the error of that
 * count, in seconds. For runs shorter than _SHORTEST, the load of other programs is unknown. */
#define SPEC_TRUST_COUNTS 0.03
#define SPEC_TRUST_SHORTEST 0.1

typedef struct {
    int threads;          /* threads that the models use */
    int processors;       /* processors of the machine; 0: unknown */
    bool waits_on_card;   /* a model runs on a GPU, so the process may idle */
    bool processor_clock; /* times are processor time of this process */
    double others;        /* mean number of processors that other programs used */
    double lost;          /* share of its time that the process lost to them */
    double spread;        /* spec_timing_spread of a plain token's time over texts */
    double speed_spread;  /* spec_timing_spread of a fixed loop's time */
} spec_timing_trust;

/* Sets threads and waits_on_card from the devices of a pair of models. */
void spec_timing_trust_of_models(spec_timing_trust *trust, const spec_model *target,
                                 const spec_model *opt_draft);

/* Sets others and lost from sums over the run: wall seconds, processor seconds of this process, and
 * processor seconds of all processes. `share` is processor seconds over wall seconds in the timed
 * intervals; it is used if a single thread computes and there is no GPU.
 *
 *     others = max(0, busy - processor - SPEC_TRUST_COUNTS) / wall
 *     lost   = 1 - share                                        one thread
 *     lost   = max(0, others + threads - processors) / threads  more threads
 *
 * NaN where they cannot be known, as for runs below SPEC_TRUST_SHORTEST. */
void spec_timing_trust_load(spec_timing_trust *trust, double wall, double processor, double busy,
                            double share);

/* Returns the interquartile range over the median of n values, which it sorts; NaN if n < 4. */
double spec_timing_spread(double *value, int n);

/* Returns how many processors other programs leave free, rounded; all of them if that is
 * unknown. */
int spec_timing_idle(const spec_timing_trust *trust);

/* Returns whether a run exceeds none of the limits that matter for its clock. */
bool spec_timing_trusted(const spec_timing_trust *trust);

/* If a run is not trusted or results were withheld, writes a line that says why and what to do.
 * Otherwise returns false. opt_withheld names the withheld results, or is NULL. `remedy` says how
 * to get more repetitions, such as "more --texts", and `clock` whether the verb has --clock. */
bool spec_timing_trust_line(char *line, size_t size, const spec_timing_trust *trust,
                            const char *opt_withheld, const char *remedy, bool clock);

#endif
