/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figure_ranges: the axes of a figure of curves (ranges, tics, titles), as gnuplot commands.
 * All panels share them. plots/series.gp reads WHOLE, FIRST, LAST, XSPAN and YSPAN, which decide
 * the step of tics, and NAMES, NAME, XAXIS and YAXIS. ONE says whether to draw a line at 1, between
 * gain and loss. */
#ifndef SPECLAB_FIGURE_RANGES_H
#define SPECLAB_FIGURE_RANGES_H

#include "cli/figures/figure_points.h"

/* Writes the axes. If error bars reach below 0 on a logarithmic axis, they end at its lowest value.
 * Returns GSL_EINVAL if no value is above 0. */
int spec_figure_ranges_write(FILE *out, spec_figure_points *points, const spec_figure_data *data,
                             const spec_figure_axes *axes, spec_error *error);

#endif
