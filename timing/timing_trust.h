/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timing_trust: decides whether measured times are trusted, with one line of reasons.
 * The load of the machine (machine_load.h) is compared with limits that were measured:
 * docs/formulas.md#busy. NaN means not measured, and raises no doubt. */
#ifndef SPECLAB_TIMING_TRUST_H
#define SPECLAB_TIMING_TRUST_H

#include "models/model.h"

#include <stdbool.h>
#include <stddef.h>

/* A run is not trusted if any of these is exceeded. */
#define SPEC_TRUST_LOST 0.10   /* share of time lost to other programs */
#define SPEC_TRUST_SPREAD 0.50 /* of a plain token's time over texts */
#define SPEC_TRUST_SPEED 0.05  /* of the processor's speed */

/* The system counts the time of all processes in hundredths of a second; this is the error of the
 * count, in seconds. For runs below _SHORTEST the load of other programs is unknown. */
#define SPEC_TRUST_COUNTS 0.03
#define SPEC_TRUST_SHORTEST 0.1

typedef struct {
    int threads;          /* threads that the models use */
    int processors;       /* of the machine; 0: unknown */
    bool waits_on_card;   /* a model runs on a GPU, so the process may idle */
    bool processor_clock; /* times are processor time of this process */
    double others;        /* mean number of processors that other programs used */
    double lost;          /* share of the time that the process lost to them */
    double spread;        /* of the time of a plain token over texts: spec_timing_spread */
    double speed_spread;  /* of the time of a fixed loop */
} spec_timing_trust;

/* Set threads and waits_on_card by the devices of a pair of models. */
void spec_timing_trust_of_models(spec_timing_trust *trust, const spec_model *target,
                                 const spec_model *opt_draft);

/* Set others and lost from sums over the run: wall seconds, those of this process, those of all.
 * share is processor over wall seconds of the timed intervals, if one thread computes and no GPU.
 *
 *     others = max(0, busy - processor - SPEC_TRUST_COUNTS) / wall
 *     lost   = 1 - share                                        one thread
 *     lost   = max(0, others + threads - processors) / threads  more threads
 *
 * NaN for runs below SPEC_TRUST_SHORTEST where they cannot be known. */
void spec_timing_trust_load(spec_timing_trust *trust, double wall, double processor, double busy,
                            double share);

/* Interquartile range over median of n values, which are sorted here: NaN for n < 4. */
double spec_timing_spread(double *value, int n);

/* Processors that other programs leave, rounded: all, if their load is unknown. */
int spec_timing_idle(const spec_timing_trust *trust);

/* Whether no limit that matters for the clock of the run is exceeded. */
bool spec_timing_trusted(const spec_timing_trust *trust);

/* The line on a run that is not trusted or withholds results: the observation and the remedy; false
 * otherwise. opt_withheld names the withheld results, or NULL; `remedy` gives more repetitions,
 * "more --texts"; `clock` tells whether the verb has --clock. */
bool spec_timing_trust_line(char *line, size_t size, const spec_timing_trust *trust,
                            const char *opt_withheld, const char *remedy, bool clock);

#endif
