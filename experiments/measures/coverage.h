/* SPDX-License-Identifier: GPL-3.0-or-later */
/* coverage: the share of 95 % intervals that contain the truth, and whether it is acceptable.
 * We accept a share between .93 and .97. Headers only. */
#ifndef SPECLAB_COVERAGE_H
#define SPECLAB_COVERAGE_H

#include <math.h>
#include <stdbool.h>

#define SPEC_COVERAGE_ERROR 0.05
#define SPEC_COVERAGE_LOW 0.93
#define SPEC_COVERAGE_HIGH 0.97

/* Returns 1 if the interval contains the value, else 0; NaN without an interval. */
static inline double spec_coverage_holds(double low, double high, double value)
{
    return isnan(low) || isnan(high) ? NAN : low <= value && value <= high;
}

/* Returns how far a share lies below `least` (< 0) or above `most` (> 0), in the standard errors
 * that n intervals have if their true coverage is that end; 0 within, NaN for NaN. */
static inline double spec_coverage_z_between(double share, double least, double most, double n)
{
    const double end = share < least ? least : share > most ? most : share;
    return share == end ? 0.0 : (share - end) / sqrt(end * (1.0 - end) / n);
}

/* Returns the same for the accepted shares. Ranges that also cover what the data cannot determine
 * may contain the truth more often. */
static inline double spec_coverage_z(double share, bool ranges, double n)
{
    return spec_coverage_z_between(share, SPEC_COVERAGE_LOW, ranges ? 1.0 : SPEC_COVERAGE_HIGH, n);
}

#endif
