/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figure_title: the title of a figure, made from its data.
 * It names the columns that have the same value in every row, and lines of the provenance, so it is
 * true for any data. */
#ifndef SPECLAB_FIGURE_TITLE_H
#define SPECLAB_FIGURE_TITLE_H

#include "cli/figures/figure_data.h"
#include "cli/figures/figure_script.h"

/* Adds "c = 0.1" for a column that is constant. Returns GSL_ENOMEM. */
int spec_figure_title_add(spec_word_list *constant, const spec_figure_column *column);

/* Adds the parameters of the result's measure that are constant and not on any axis. */
int spec_figure_title_parameters(spec_word_list *constant, spec_figure_data *data,
                                 const spec_figure_axes *axes, spec_error *error);

/* Returns the script's title and the constants, separated by commas; it may be "". The caller frees
 * it; NULL: out of memory. */
char *spec_figure_title(const spec_figure_script *opt_script, const spec_word_list *constant,
                        const spec_figure_data *data);

#endif
