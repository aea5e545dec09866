/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figure_series: the input of plots/series.gp and plots/heat.gp, as gnuplot commands.
 * This module decides on points, panels, colours, legend and ranges; the scripts lay them out and
 * draw them. */
#ifndef SPECLAB_FIGURE_SERIES_H
#define SPECLAB_FIGURE_SERIES_H

#include "cli/figures/figure_points.h"

/* A note about something that the user may not expect, or "". */
typedef struct {
    char text[256];
} spec_figure_note;

/* Writes curves of y over x, which has numbers, or names along one axis. Columns with only one
 * value go into ret_constant, for the title. */
int spec_figure_series_write(FILE *out, spec_word_list *ret_constant, spec_figure_note *ret_note,
                             spec_figure_data *data, const spec_figure_axes *axes,
                             spec_error *error);

/* Writes a heat map of axes->heat over x and y. If two rows belong in the same cell, returns
 * GSL_EINVAL and names the columns in which they differ. */
int spec_figure_heat_write(FILE *out, spec_word_list *ret_constant, spec_figure_data *data,
                           const spec_figure_axes *axes, spec_error *error);

/* Returns, for a message, the columns in which two rows of the same position differ: "c and rule";
 * "" if there are none. Writes into buffer (size), which it returns. */
const char *spec_figure_series_differ(char *buffer, size_t size, const spec_figure_data *data,
                                      size_t row, size_t other, const spec_figure_axes *axes);

#endif
