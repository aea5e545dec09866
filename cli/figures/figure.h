/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figure: draws a CSV with gnuplot and a script of plots/.
 * A result names its script in its provenance ("# figure: NAME"); for any other CSV the request
 * names the columns. No text from a file, a name or an option is interpreted by a shell, by gnuplot
 * or by LaTeX. */
#ifndef SPECLAB_FIGURE_H
#define SPECLAB_FIGURE_H

#include "cli/figures/figure_script.h"
#include "cli/figures/figure_series.h"
#include "cli/figures/figure_style.h"
#include "experiments/experiment.h"

typedef struct {
    const char *opt_name; /* the script; NULL: the one that the result names */
    spec_figure_axes *axes; /* with x or y: a custom figure; else changes to the script's axes. A
                             * list of columns is still one text, "COLUMN,..."; drawing splits it */
    const spec_word_list *where; /* conditions COLUMN=VALUE[,VALUE...] */
    spec_figure_style style;
    const char *verb; /* for the message about a kept older file (cli/output.h) */
    bool force;       /* do not keep an older file */
} spec_figure_request;

/* Draws the CSV into `path`. On failure an older file of that name stays unchanged; the error names
 * the missing column and the measures that have it. ret_note may be NULL. */
int spec_figure_draw(const spec_figure_request *request, const char *csv, const char *path,
                     spec_figure_note *ret_note, spec_error *error);

/* Does the same as an SVG in memory, which the caller frees. The mouse shows the numbers of points.
 * request->style must have the terminal svg. */
int spec_figure_draw_svg(char **ret_svg, size_t *ret_n, const spec_figure_request *request,
                         const char *csv, spec_error *error);

/* Does the same with the script `name`, in the format of the path's ending. */
int spec_figure_draw_named(const char *name, const char *csv, const char *path, bool force,
                           const char *verb, spec_error *error);

/* Checks before any work that gnuplot is installed, that the path has a figure's ending, and that
 * the file can be written. Returns GSL_EINVAL or GSL_EFAILED. */
int spec_figure_check_path(const char *path, spec_error *error);

/* Checks that the experiment's figure exists and that its result has the columns. Returns
 * GSL_EINVAL. Succeeds if speclab's own folder is missing. */
int spec_figure_check_experiment(const spec_experiment *experiment, spec_error *error);

#endif
