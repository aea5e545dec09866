/* SPDX-License-Identifier: GPL-3.0-or-later */
/* length_law: distributions of the lengths of prompts and outputs, in whole tokens.
 * A real number x is rounded up with probability x - floor(x), else down, so that rounding keeps
 * the mean exactly. Lengths outside 1..most become 1 or most. A plain record without memory. */
#ifndef SPECLAB_LENGTH_LAW_H
#define SPECLAB_LENGTH_LAW_H

#include "speclab/status.h"

#include <gsl/gsl_rng.h>

/* SPEC_LENGTH_MAX is the longest prompt or output, in tokens; SPEC_LENGTH_MOST is the default of
 * the key `most`. */
enum { SPEC_LENGTH_MAX = 1 << 24, SPEC_LENGTH_MOST = 1 << 17 };

typedef struct {
    enum {
        SPEC_LENGTH_OF_ROW, /* taken from a row of a trace; a zeroed record means this */
        SPEC_LENGTH_NUMBER,
        SPEC_LENGTH_LOGNORMAL,
        SPEC_LENGTH_GEOMETRIC,
        SPEC_LENGTH_UNIFORM,
    } kind;
    int low, most;    /* the shortest and the longest */
    double mean;      /* of the law before lengths are kept within 1..most */
    double mu, sigma; /* LOGNORMAL: mean and standard deviation of the logarithm */
} spec_length_law;

/* Reads a number such as "512", at least `least` (0 for prompts, 1 for outputs), or
 * "lognormal?mean=512&sigma=1&most=131072", "geometric?mean=256&most=131072" (on 1, 2, ...) or
 * "uniform?low=128&high=512" (both ends included).
 *
 * For anything else returns GSL_EINVAL or GSL_EDOM with a message of one line, and zeroes the
 * record. This includes distributions whose mean moves by more than 1 % because lengths below 1, or
 * above the default of `most`, are cut. */
int spec_length_law_init(spec_length_law *law, const char *spec, int least, spec_error *error);
extern const char *const spec_length_law_usages[]; /* NULL-terminated lines "usage\tsummary" */

/* Draws a length, tokens. NUMBER uses no random number. */
int spec_length_law_draw(const spec_length_law *law, gsl_rng *rng);

/* Draws a length l with probability proportional to l P(length = l). This is the length of a
 * request that is under way at a given time, if every token takes the same time. */
int spec_length_law_draw_by_length(const spec_length_law *law, gsl_rng *rng);

/* Return exact values for the drawn lengths: P(length > n) for n >= -1; the mean; and the mean
 * square. For lognormal lengths, including the rounding,
 *
 *     P(length > n) = E[(x - n)+] - E[(x - n - 1)+] for 1 <= n < most,
 *     E[(x - n)+] = mean Phi(sigma - z) - n Phi(-z),  z = (log n - mu) / sigma
 *
 * because a length > n is x + u >= n + 1 with u uniform on [0,1). NaN for OF_ROW. */
double spec_length_law_above(const spec_length_law *law, int n);
double spec_length_law_mean(const spec_length_law *law);
double spec_length_law_mean_square(const spec_length_law *law); /* O(most) */

/* Returns the probability of the longest lengths that together make up this share, in (0, 1), of
 * E[length^2]. That is P(length >= x) for the x at which E[length^2; length >= x] is this share (at
 * x = most it may be more). Only for lognormal lengths, ignoring the rounding; otherwise NaN. */
double spec_length_law_longest(const spec_length_law *law, double share);

#endif
