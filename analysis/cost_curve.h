/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cost_curve: the cost of a pass of n tokens, from timed passes, and the time of a round.
 * A7 (docs/formulas/README.md) only bounds the cost of a pass from below, but a curve measures it.
 * With a curve we no longer need A3, which says that verification costs one target call for every
 * K. The caller owns the arrays. docs/formulas/costs.md#cost-curve. */
#ifndef SPECLAB_COST_CURVE_H
#define SPECLAB_COST_CURVE_H

#include <stdint.h>

/* Times of passes of several widths. */
typedef struct {
    int n;              /* points, >= 1 */
    const int *width;   /* (n) tokens in a pass, >= 1, ascending */
    const double *time; /* (n) in any unit */
} spec_cost_curve;

/* Returns the time of a pass of `width` tokens. Between points it is interpolated linearly; beyond
 * the last point the line through the last two continues; before the first point it is the time of
 * the first. NaN for width < 1 or no points. Checked by: points lie on the curve; a straight line
 * is reproduced everywhere. */
double spec_cost_curve_time(const spec_cost_curve *curve, double width);

/* Returns the mean time of passes, counts[i] of which had i + 1 tokens, i = 0..n-1. NaN without
 * passes. */
double spec_cost_curve_mean(const spec_cost_curve *curve, const uint64_t *counts, int n);

/* Returns the speed-up, given the times of drafting, of verification and of the rest of a round.
 *
 *     speedup = emitted plain / (draft + verify + rest)           docs/formulas/costs.md#cost-curve
 *
 *   emitted   tokens per round, >= 0
 *   plain     time of a token of plain decoding; all times in one unit, >= 0, and finite
 *   returns the factor; NaN outside the domain, and if a round takes no time
 * With draft = K c, verify = plain = 1 and rest = 0 this is Theorem 3.8 of [Leviathan23]. Checked
 * by: spec_speedup. */
double spec_cost_curve_speedup(double emitted, double plain, double draft, double verify,
                               double rest);

#endif
