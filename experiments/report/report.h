/* report: the results of several experiments as one readable Markdown page: question, theory, figure, table, and what
 * the numbers say. Figures and CSV files are linked where they lie: <folder>/<name>.csv and <folder>/<name>.svg (or
 * .png), by names relative to the page. */
#ifndef SPECLAB_REPORT_H
#define SPECLAB_REPORT_H

#include "experiments/experiment.h"

typedef struct {
    const char *title;   /* of the page; NULL: "speclab report" */
    const char *folder;  /* where figures and CSV files are looked for; NULL: "." */
    const char *link;    /* how the page refers to that folder: "." if the page lies in it; NULL: "." */
    int rows;            /* most rows of a table; 0: 24 */
    const char *command; /* how a result is made again, with one %s for the experiment's name; NULL: "speclab run
                            experiments/%s.cfg" */
} spec_report_options;

#define SPEC_REPORT_DEFAULT ((spec_report_options){.rows = 24})

/* Write the page: a summary (what holds, what fails), then one section for each of the n experiments with its result.
 * experiments[i] belongs to results[i]. The stream is flushed; GSL_EFAILED with errno's reason. */
int spec_report_write(FILE *out, const spec_experiment *const *experiments, const spec_result *const *results, int n,
                      const spec_report_options *opt_options, spec_error *error);

#endif
