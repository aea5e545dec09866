/* SPDX-License-Identifier: GPL-3.0-or-later */
/* trend: whether a column rises, falls or peaks along an axis, by its standard errors.
 * Two values differ if their difference exceeds SPEC_TREND_SE combined standard errors (the root
 * of the sum of squares). Exact values have a standard error of 0, and differ if they do beyond
 * rounding. */
#ifndef SPECLAB_TREND_H
#define SPECLAB_TREND_H

#include <stdbool.h>

#define SPEC_TREND_SE 2.0

typedef enum {
    SPEC_TREND_RISES, /* the last value is above the first, and none is below an earlier one */
    SPEC_TREND_FALLS, /* the last value is below the first, and none is above an earlier one */
    SPEC_TREND_PEAKS, /* the largest value is above the first and the last; none falls before it,
                       * none rises after it */
    SPEC_TREND_DIPS,  /* the reverse of a peak */
    SPEC_TREND_FLAT,  /* no two values differ */
    SPEC_TREND_MIXED, /* none of these */
    SPEC_TRENDS
} spec_trend;

/* Returns whether `y` is above `other` by more than standard errors and rounding (1e-12, and 1e-9
 * of the larger value) explain. Every sentence of a report about a difference relies on this. */
bool spec_trend_above(double y, double y_se, double other, double other_se);

/* Returns the trend of n >= 2 values (n), se (n) in the order of the axis. *ret_at is the index of
 * the largest value, or of the smallest for SPEC_TREND_DIPS. */
spec_trend spec_trend_of(const double *y, const double *se, int n, int *ret_at);

#endif
