/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gnuplot: runs a gnuplot program in a child process.
 * The program, its output and its messages stay in memory, so no temporary file is left, and
 * gnuplot sees no file name. Errors are one line. */
#ifndef SPECLAB_GNUPLOT_H
#define SPECLAB_GNUPLOT_H

#include "speclab/status.h"

#include <stdbool.h>
#include <stddef.h>

/* Checks that gnuplot is in PATH. If not, returns GSL_EFAILED with the command that installs it. */
int spec_gnuplot_check(spec_error *error);

/* Runs the program (n bytes), which must not set an output. Returns its output, which has at least
 * one byte and which the caller frees. Returns GSL_EFAILED if gnuplot is missing, fails, is killed,
 * draws nothing, or warns that it left out points or the legend. */
int spec_gnuplot_run(char **ret_drawn, size_t *ret_n, const char *program, size_t n,
                     spec_error *error);

/* Writes an array of n >= 1 texts, "array NAME[n] = [...]", as tic labels or as plain strings. */
void spec_gnuplot_texts(FILE *out, const char *name, char *const *text, int n, bool tics);

/* Writes a number of a data row after `separator`; NaN if it is undefined. */
void spec_gnuplot_number(FILE *out, char separator, double value);

#endif
