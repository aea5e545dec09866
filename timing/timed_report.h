/* timed_report: a measurement as one table of everything.
 * A row for each K, with the pass of K + 1 tokens beside it; then rows of the passes that no K has. The columns are
 * explained in docs/notation.md. */
#ifndef SPECLAB_TIMED_REPORT_H
#define SPECLAB_TIMED_REPORT_H

#include "base/table.h"
#include "timing/timed_prediction.h"

/* `asked` is the command, for the provenance. GSL_ENOMEM. */
int spec_timed_report_table(spec_table *ret, const spec_timed *timed, const spec_timed_prediction *prediction,
                            const char *asked, spec_error *error);

/* Lines "key: value" of what was measured where: models, texts, machine. */
void spec_timed_report_circumstances(const spec_timed *timed, FILE *out);

/* Does the engine accept as its own rows say? 1: no, for the K named in *ret_K, at *ret_z standard errors. */
bool spec_timed_report_contradicts(const spec_timed_prediction *prediction, int *ret_K, double *ret_z);

#endif
