/* SPDX-License-Identifier: GPL-3.0-or-later */
/* length_law: laws of the lengths of prompts and of outputs, in whole tokens.
 * A real number x is rounded up with probability x - floor(x), else down, so that rounding keeps
 * the mean exactly. Lengths outside 1..most become 1 or most. A plain record without memory. */
#ifndef SPECLAB_LENGTH_LAW_H
#define SPECLAB_LENGTH_LAW_H

#include "speclab/status.h"

#include <gsl/gsl_rng.h>

/* The longest prompt or output, tokens; the default of the key `most`. */
enum { SPEC_LENGTH_MAX = 1 << 24, SPEC_LENGTH_MOST = 1 << 17 };

typedef struct {
    enum {
        SPEC_LENGTH_OF_ROW, /* that of a row of a trace; a zeroed record is this one */
        SPEC_LENGTH_NUMBER,
        SPEC_LENGTH_LOGNORMAL,
        SPEC_LENGTH_GEOMETRIC,
        SPEC_LENGTH_UNIFORM,
    } kind;
    int low, most;    /* the shortest and the longest */
    double mean;      /* of the law before lengths are kept within 1..most */
    double mu, sigma; /* LOGNORMAL: mean and standard deviation of the logarithm */
} spec_length_law;

/* A number such as "512", at least `least` (0 for prompts, 1 for outputs). Or
 * "lognormal?mean=512&sigma=1&most=131072", "geometric?mean=256&most=131072" (on 1, 2, ...) or
 * "uniform?low=128&high=512" (both ends included).
 *
 * GSL_EINVAL or GSL_EDOM with one line, and a zeroed record, for anything else: also if lengths
 * below 1, or the `most` that was not given, move the mean by more than 1 %. */
int spec_length_law_init(spec_length_law *law, const char *spec, int least, spec_error *error);
extern const char *const spec_length_law_usages[]; /* NULL-terminated lines "usage\tsummary" */

/* A length, tokens. NUMBER draws no random number. */
int spec_length_law_draw(const spec_length_law *law, gsl_rng *rng);

/* A length with probability proportional to itself and to that of a draw: that of a request which
 * is under way at a given time, if time per token is equal. */
int spec_length_law_draw_by_length(const spec_length_law *law, gsl_rng *rng);

/* The exact law of draws: P(length > n) for n >= -1; the mean and the mean square. With rounding,
 * that of lognormal lengths is
 *
 *     P(length > n) = E[(x - n)+] - E[(x - n - 1)+] for 1 <= n < most,
 *     E[(x - n)+] = mean Phi(sigma - z) - n Phi(-z),  z = (log n - mu) / sigma
 *
 * because a length > n is x + u >= n + 1 with u uniform on [0,1). NaN for OF_ROW. */
double spec_length_law_above(const spec_length_law *law, int n);
double spec_length_law_mean(const spec_length_law *law);
double spec_length_law_mean_square(const spec_length_law *law); /* O(most) */

/* The chance of a length among the longest, which hold this share of E[length^2], within (0, 1):
 * P(length >= x) where E[length^2; length >= x] is the share, or more at x = most. For lognormal
 * lengths, without rounding; NaN for others. */
double spec_length_law_longest(const spec_length_law *law, double share);

#endif
