/* SPDX-License-Identifier: GPL-3.0-or-later */
/* figure: draws a CSV with gnuplot and a script of plots/.
 * A result names its script in its provenance ("# figure: NAME"); for any other CSV the request
 * names the columns. Text from a file, a name or an option never reaches a shell, gnuplot or LaTeX
 * as code. */
#ifndef SPECLAB_FIGURE_H
#define SPECLAB_FIGURE_H

#include "cli/figures/figure_script.h"
#include "cli/figures/figure_series.h"
#include "cli/figures/figure_style.h"
#include "experiments/experiment.h"

typedef struct {
    const char *opt_name; /* the script; NULL: the one that the result names */
    /* if x or y is set, a custom figure; otherwise changes to the script's axes. A list of columns
     * is still one text, "COLUMN,...", which drawing splits */
    spec_figure_axes *axes;
    const spec_word_list *where; /* conditions COLUMN=VALUE[,VALUE...] */
    spec_figure_style style;
    const char *verb; /* for the message that an older file was kept (cli/output.h) */
    bool force;       /* do not keep an older file */
} spec_figure_request;

/* Draws the CSV into `path`. On failure an older file of that name stays unchanged; if a column is
 * missing, the error names it and the measures that have it. ret_note may be NULL. */
int spec_figure_draw(const spec_figure_request *request, const char *csv, const char *path,
                     spec_figure_note *ret_note, spec_error *error);

/* Does the same, but makes an SVG in memory, which the caller frees. Pointing at a point shows its
 * numbers. request->style must have the terminal svg. */
int spec_figure_draw_svg(char **ret_svg, size_t *ret_n, const spec_figure_request *request,
                         const char *csv, spec_error *error);

/* Does the same with the script `name`; the ending of the path decides the format. */
int spec_figure_draw_named(const char *name, const char *csv, const char *path, bool force,
                           const char *verb, spec_error *error);

/* Checks before any work that gnuplot is installed, that the path has a figure's ending, and that
 * the file can be written. Returns GSL_EINVAL or GSL_EFAILED. */
int spec_figure_check_path(const char *path, spec_error *error);

/* Checks that the experiment's figure exists, and that its result will have the columns. Returns
 * GSL_EINVAL if not. Succeeds if speclab's own folder is missing. */
int spec_figure_check_experiment(const spec_experiment *experiment, spec_error *error);

#endif
