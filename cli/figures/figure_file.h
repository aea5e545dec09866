/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figure_file: turns gnuplot's output into the figure's file.
 * An SVG gets a generic font as a fallback. Texts of a TikZ picture are escaped, so that LaTeX
 * prints them literally. */
#ifndef SPECLAB_FIGURE_FILE_H
#define SPECLAB_FIGURE_FILE_H

#include "cli/figures/figure_style.h"

#include <stdio.h>

/* Writes the file. Returns GSL_EFAILED if the picture is incomplete; the message then names `path`.
 * The caller checks the stream for write errors. */
int spec_figure_file_write(FILE *out, const char *path, const char *drawn, size_t n,
                           spec_terminal terminal, spec_error *error);

#endif
