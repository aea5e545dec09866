/* SPDX-License-Identifier: GPL-3.0-or-later */
/* default_axes: the axes of a CSV that names no figure, chosen by its columns.
 * In a result of speclab the parameters that vary are the axis and the series, and the main column
 * of the measure is the value. In any other CSV the first column is the axis, the next column of
 * numbers the value, and texts distinguish series. Texts that come first do so, too, if they share
 * values of a column of numbers, which is then the axis. */
#ifndef SPECLAB_DEFAULT_AXES_H
#define SPECLAB_DEFAULT_AXES_H

#include "cli/figures/figure_data.h"
#include "cli/figures/figure_script.h"

/* Sets x and y of zeroed axes, and series if the user gave none (opt_given). GSL_EINVAL if the data
 * have no two columns that can be drawn. */
int spec_default_axes(spec_figure_axes *axes, const spec_figure_axes *opt_given,
                      spec_figure_data *data, spec_error *error);

/* Writes why they were chosen, and the options that draw them: "a.csv names no figure; drawn with
 * --x K --y speedup --by alpha". */
void spec_default_axes_note(char *buffer, size_t size, const spec_error *why,
                            const spec_figure_axes *axes);

#endif
