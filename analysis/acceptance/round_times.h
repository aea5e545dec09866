/* SPDX-License-Identifier: GPL-3.0-or-later */
/* round_times: the time of a round by draft length, from the lengths that were run.
 * Times are relative to a plain token at the same load. Several lengths are assumed to be on a line
 * in K; with one, time is between proportional to K and fixed. A time that is flat and then rises
 * is neither. Pure functions. docs/formulas.md#round-times. */
#ifndef SPECLAB_ROUND_TIMES_H
#define SPECLAB_ROUND_TIMES_H

#include "analysis/acceptance/moment_bounds.h"

/* Times of rounds at several K; plain decoding is K = 0 with time 1 where it was measured. */
typedef struct {
    int n;              /* lengths, >= 1 */
    const int *K;       /* (n) ascending, >= 0 */
    const double *time; /* (n) > 0 */
    const double *se;   /* (n) >= 0; 0: exact */
} spec_round_times;

/* The time of a round at K, as bounds that are equal where the times determine it. A K that was
 * run: its own time. With two or more positive K: the line by weighted least squares through them,
 * with a slope of 0 at least, and at least the time of a plain token. Plain decoding does not
 * draft, so K = 0 is not on that line; with one positive K_1, time t_1 and plain time t_0, a round
 * at K takes
 *
 *     between t_0 + (t_1 - t_0) K / K_1 (linear) and t_1 (fixed)
 *
 * Without t_0: 0 takes its place, and a plain token takes between 0 and the time of the least K.
 *   *opt_se  the standard error of the time: of the line, times the scatter about it where that is
 *            more than se explains; of the less certain bound
 *   returns  NaN for K < 0, for K > 0 if plain decoding alone was run, and outside the domain
 * Checked by: points of a line are met; the published example of one length; simulation. */
spec_bounds spec_round_times_at(double *opt_se, const spec_round_times *times, int K);

/* accepted/drafted above which a round at K pays: (round/plain - 1)/K, the number of TensorRT-LLM's
 * acceptance_rate_threshold. 0 if a round is no longer than a plain token; above 1 it never pays.
 * NaN for K < 1 and round_over_plain <= 0. */
double spec_round_times_break_even(double round_over_plain, int K);

#endif
