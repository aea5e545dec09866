/* SPDX-License-Identifier: GPL-3.0-or-later */
/* likely_times: times of rounds at all draft lengths, on engines that agree with measured times.
 * Between and beyond the lengths that were run, convexity leaves a wide range of times, and most of
 * it would take an unusual engine. These draws say which times are likely.
 * docs/formulas/lengths.md#likely-times. */
#ifndef SPECLAB_LIKELY_TIMES_H
#define SPECLAB_LIKELY_TIMES_H

#include "analysis/acceptance/round_times.h"
#include "tools/advise/advice_record.h"

#include <gsl/gsl_rng.h>

enum { SPEC_LIKELY_ENGINES = 20000 };

/* What a round costs, in units of a plain token:
 *
 *     t(K) = 1 + overhead + draft K + token max(K + 1 - free, 0) for K > 0, and t(0) = 1.
 *
 * Up to `free` tokens per request, a verification takes as long as a plain token. */
typedef struct {
    double overhead, draft, token, free;
    double weights; /* sum of the weights of this engine and all engines before it */
} spec_likely_engine;

/* Kinds of engines: times are linear in K (free = 1), or free is a whole number, or any number. */
typedef enum {
    SPEC_LIKELY_LINEAR,
    SPEC_LIKELY_WHOLE,
    SPEC_LIKELY_BROKEN,
    SPEC_LIKELY_KINDS
} spec_likely_kind;

/* Draws engines of all kinds, four of ten with linear times. Their costs are chosen to meet the
 * measured times, and their weights are the probability densities of these times.
 *   ret_engines  (SPEC_LIKELY_ENGINES)
 *   measured     times > 0. With K = 0 they are in units of its time; without, their unit is not
 *                known, and only the shape counts; without any, all engines weigh the same
 *   error        (measured->n) relative standard errors of the times */
void spec_likely_times_engines(spec_likely_engine *ret_engines, const spec_round_times *measured,
                               const double *error, gsl_rng *rng);

/* Draws an engine by its weight, returns its kind, and bends its times to meet the measured ones:
 * log t(K) gets the error at the measured lengths, linear between two of them and constant outside.
 *   ret       (SPEC_ADVICE_K) times in the unit of the measured ones
 *   measured  at the lengths of above; in a resample, times may differ a little */
spec_likely_kind spec_likely_times_draw(double ret[SPEC_ADVICE_K],
                                        const spec_likely_engine *engines,
                                        const spec_round_times *measured, gsl_rng *rng);

/* Bends times in the same way: returns the time at K. */
double spec_likely_times_bent(const double time[SPEC_ADVICE_K], const spec_round_times *measured,
                              int K);

#endif
