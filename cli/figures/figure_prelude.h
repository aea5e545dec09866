/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figure_prelude: the variables that a script of plots/ reads, as gnuplot commands before it.
 * $DATA has the columns that the script names, as numbers. In a column of names NAME, these are
 * level numbers, and four arrays hold the levels: NAME_name for the reader, NAME_tic for tics,
 * NAME_text as in the file, NAME_value as numbers. has_NAME says whether an optional column has
 * numbers; said_KEY is a value of the provenance. */
#ifndef SPECLAB_FIGURE_PRELUDE_H
#define SPECLAB_FIGURE_PRELUDE_H

#include "cli/figures/figure_data.h"
#include "cli/figures/figure_script.h"

/* Writes the prelude. Returns GSL_EINVAL if a column of numbers holds texts, or no row has all the
 * numbers. */
int spec_figure_prelude_write(FILE *out, spec_figure_data *data, const spec_figure_script *script,
                              spec_error *error);

#endif
