/* SPDX-License-Identifier: GPL-3.0-or-later */
/* report: a Markdown page of several results: question, theory, inputs, figure, table, conclusions.
 * A finding is printed only with the inputs that it was written for (input_digest.h). The page
 * links to figures and CSV files, <folder>/<name>.svg (or .png) and <folder>/<name>.csv, by
 * relative names. */
#ifndef SPECLAB_REPORT_H
#define SPECLAB_REPORT_H

#include "experiments/experiment.h"

typedef struct {
    const char *title;  /* title of the page; NULL: "speclab report" */
    const char *folder; /* the folder of figures and CSV files; NULL: "." */
    const char
        *link; /* the path from the page to that folder: "." if the page is in it; NULL: "." */
    int rows;  /* maximum rows of a table; 0: 24 */
    /* (n) the command that repeats each result, without overrides; NULL: "speclab run NAME" */
    const char *const *command;
    const char *opt_share; /* the folder of shared texts (models/ngram/corpus.h) */
} spec_report_options;

#define SPEC_REPORT_DEFAULT ((spec_report_options){.rows = 24})

/* Writes the page: a summary of the checks that hold and fail, then a section for each of the n
 * experiments. experiments[i] belongs to results[i]. Flushes the stream. Returns GSL_EFAILED with
 * the reason from errno. */
int spec_report_write(FILE *out, const spec_experiment *const *experiments,
                      const spec_result *const *results, int n,
                      const spec_report_options *opt_options, spec_error *error);

#endif
