/* SPDX-License-Identifier: GPL-3.0-or-later */
/* arrivals: when requests arrive at a serving engine, as a renewal process of a given rate.
 * Gaps between arrivals are independent; the first request arrives one gap after time 0. At another
 * rate the same random numbers give the same gaps, scaled. A plain record without memory. */
#ifndef SPECLAB_ARRIVALS_H
#define SPECLAB_ARRIVALS_H

#include "speclab/status.h"

#include <gsl/gsl_rng.h>

typedef struct {
    enum {
        SPEC_ARRIVALS_AT_ONCE, /* all at time 0, for closed loops; a zeroed record means this */
        SPEC_ARRIVALS_POISSON, /* exponential gaps */
        SPEC_ARRIVALS_GAMMA,   /* gamma gaps */
        SPEC_ARRIVALS_EVEN,    /* equal gaps */
        SPEC_ARRIVALS_TRACE,   /* the times of a trace (request_trace.h) */
    } kind;
    double rate;  /* requests/s, > 0 */
    double shape; /* GAMMA: 1 / cv^2, where cv is the standard deviation of the gaps over their
                   * mean */
} spec_arrivals;

/* Reads "poisson", "gamma?cv=2" or "even", for a rate within [1e-9, 1e9] requests/s; cv is within
 * [0.001, 100]. On failure returns GSL_EINVAL or GSL_EDOM with a message of one line, and zeroes
 * the record. */
int spec_arrivals_init(spec_arrivals *arrivals, const char *spec, double rate, spec_error *error);
extern const char *const spec_arrivals_usages[]; /* NULL-terminated lines "usage\tsummary" */

/* Draws the next gap, s: mean 1 / rate, variance (cv / rate)^2. 0 for AT_ONCE and TRACE. */
double spec_arrivals_gap(const spec_arrivals *arrivals, gsl_rng *rng);

#endif
