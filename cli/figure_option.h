/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figure_option: --figure FILE of verbs that draw their own result; it requires -o FILE.csv. */
#ifndef SPECLAB_FIGURE_OPTION_H
#define SPECLAB_FIGURE_OPTION_H

#include "cli/options.h"

#define SPEC_FIGURE_OPTION_HELP "draw the result: .svg, .png, .pdf or .tex; needs -o FILE.csv"

/* Checks before any work that the figure can be drawn, or exits 2. NULL: no figure. */
void spec_figure_option_check(const char *opt_figure, const spec_options *common, const char *verb);

/* Draws the written result with the script `name`, unless `code` says that there is no result.
 * Returns `code`, or exits 2. */
int spec_figure_option_draw(const char *opt_figure, const char *name, const spec_options *common,
                            const char *verb, int code);

#endif
