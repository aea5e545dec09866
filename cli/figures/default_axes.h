/* SPDX-License-Identifier: GPL-3.0-or-later */
/* default_axes: chooses axes for a file that names no figure.
 * For a result of speclab, the parameters that vary become the x axis and the series, and y is the
 * measure's main column. For any other file, x is the first column, y is the next column of
 * numbers, and texts distinguish series. If the first column is text that names curves over
 * numbers, x is these numbers. */
#ifndef SPECLAB_DEFAULT_AXES_H
#define SPECLAB_DEFAULT_AXES_H

#include "cli/figures/figure_data.h"
#include "cli/figures/figure_script.h"

/* Sets x and y of zeroed axes, and the series unless the user gave some (opt_given). Returns
 * GSL_EINVAL if no two columns can be drawn. */
int spec_default_axes(spec_figure_axes *axes, const spec_figure_axes *opt_given,
                      spec_figure_data *data, spec_error *error);

/* Writes the note "a.csv names no figure; drawn with --x K --y speedup --by alpha" into buffer. */
void spec_default_axes_note(char *buffer, size_t size, const spec_error *why,
                            const spec_figure_axes *axes);

#endif
