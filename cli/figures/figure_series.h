/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figure_series: the input of plots/series.gp and plots/heat.gp, as gnuplot commands.
 * This module finds points, panels, colours, legend and ranges; the scripts place and draw them. */
#ifndef SPECLAB_FIGURE_SERIES_H
#define SPECLAB_FIGURE_SERIES_H

#include "cli/figures/figure_points.h"

/* A note on something that the user may not expect, or "". */
typedef struct {
    char text[256];
} spec_figure_note;

/* Writes curves of y over x: numbers, or names along one axis. ret_constant receives the columns
 * with one value, for the title. */
int spec_figure_series_write(FILE *out, spec_word_list *ret_constant, spec_figure_note *ret_note,
                             spec_figure_data *data, const spec_figure_axes *axes,
                             spec_error *error);

/* Writes a heat map of axes->heat over x and y. Returns GSL_EINVAL if two rows have the same place,
 * and names the columns that differ. */
int spec_figure_heat_write(FILE *out, spec_word_list *ret_constant, spec_figure_data *data,
                           const spec_figure_axes *axes, spec_error *error);

/* Returns the columns in which two rows of the same place differ, "c and rule", for a message; ""
 * if none differ. Writes into buffer (size), which it returns. */
const char *spec_figure_series_differ(char *buffer, size_t size, const spec_figure_data *data,
                                      size_t row, size_t other, const spec_figure_axes *axes);

#endif
