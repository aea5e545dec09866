/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bounded_ratio: decides whether a ratio of measured times is reported as a result.
 * It withholds ratios that first principles exclude, and ratios that are not known to within a
 * factor of two. docs/formulas/costs.md#feasible. */
#ifndef SPECLAB_BOUNDED_RATIO_H
#define SPECLAB_BOUNDED_RATIO_H

#include "analysis/statistics/block_bootstrap.h"

#include <stdbool.h>

/* The widest interval of a reported ratio: its upper end over its lower end. */
#define SPEC_RATIO_WIDEST 2.0

/* A ratio is impossible if it lies beyond its bound with this one-sided error. */
#define SPEC_RATIO_IMPOSSIBLE_ERROR 1e-3

typedef enum {
    SPEC_RATIO_REPORTED,
    SPEC_RATIO_VAGUE,     /* wider than SPEC_RATIO_WIDEST, or of unknown width */
    SPEC_RATIO_IMPOSSIBLE /* beyond its bound by more than noise explains */
} spec_ratio_verdict;

/* Returns whether a ratio may be reported, and adjusts it. If it is reported, value and interval
 * are cut to [least, most], which keeps the confidence of the interval; if the whole interval lies
 * above `most`, its lower end becomes the value. If it is vague, value and se become NaN and the
 * interval stays. If it is impossible, all become NaN.
 *
 *   ratio        as measured, from spec_block_bootstrap_interval or _joint
 *   impossible   the caller's test at SPEC_RATIO_IMPOSSIBLE_ERROR
 *   least, most  bounds of the value; INFINITY: none
 *   most_high    bound of the upper end: `most`, or the upper end of its interval if measured */
spec_ratio_verdict spec_bounded_ratio(spec_block_interval *ratio, bool impossible, double least,
                                      double most, double most_high);

#endif
