/* cost_curve: what a pass of n tokens costs, from passes that were timed, and what a round then takes.
 * A7 (docs/formulas.md) says what a pass costs at best; a curve says what it does cost, and does away with A3, that
 * verification costs one target call whatever K. The caller owns the arrays. docs/formulas.md#cost-curve. */
#ifndef SPECLAB_COST_CURVE_H
#define SPECLAB_COST_CURVE_H

#include <stdint.h>

/* Times of passes of some widths. */
typedef struct {
    int n;             /* points, >= 1 */
    const int *width;  /* (n) tokens in a pass, >= 1, ascending */
    const double *time; /* (n) in any unit */
} spec_cost_curve;

/* The time of a pass of `width` tokens: the point's own, on the line between its neighbours, on the line through the
 * last two beyond them, and the first one's before it. NaN for width < 1 or no points.
 * Checked by: points lie on it; a straight line is met everywhere. */
double spec_cost_curve_time(const spec_cost_curve *curve, double width);

/* The mean time of passes of which counts[i] had i + 1 tokens, i = 0..n-1. NaN where there were none. */
double spec_cost_curve_mean(const spec_cost_curve *curve, const uint64_t *counts, int n);

/* Speed-up where a round's draft, its verification and the rest cost what they cost.
 *
 *     speedup = emitted plain / (draft + verify + rest)                             docs/formulas.md#cost-curve
 *
 *   emitted   tokens per round, >= 0
 *   plain     time of a token of plain decoding; all times in one unit, >= 0, and finite
 *   returns the factor; NaN outside the domain, and where a round takes no time. Theorem 3.8 of [Leviathan23] for
 *           draft = K c, verify = plain = 1 and rest = 0.
 * Checked by: spec_speedup. */
double spec_speedup_of_round(double emitted, double plain, double draft, double verify, double rest);

#endif
