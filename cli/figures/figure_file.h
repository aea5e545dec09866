/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figure_file: post-processes the output of gnuplot and writes the figure's file.
 * An SVG names a generic font as a fallback; texts of a TikZ picture are escaped, so that LaTeX
 * prints them literally. */
#ifndef SPECLAB_FIGURE_FILE_H
#define SPECLAB_FIGURE_FILE_H

#include "cli/figures/figure_style.h"

#include <stdio.h>

/* Writes the file. Returns GSL_EFAILED if the picture is incomplete; `path` appears in the message.
 * The caller checks the stream for write errors. */
int spec_figure_file_write(FILE *out, const char *path, const char *drawn, size_t n,
                           spec_terminal terminal, spec_error *error);

#endif
