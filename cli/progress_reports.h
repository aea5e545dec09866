/* SPDX-License-Identifier: GPL-3.0-or-later */
/* progress_reports: callbacks that show the work of library code in the progress line.
 * Each has the type of the field it is meant for (base/progress.h describes the line). `context` is
 * unused unless stated. */
#ifndef SPECLAB_PROGRESS_REPORTS_H
#define SPECLAB_PROGRESS_REPORTS_H

#include <stdint.h>

/* Shows grid points of an experiment, as a spec_run_options.progress. */
void spec_progress_reports_points(void *context, double done, uint64_t total);

/* Shows the share of the work, as a spec_timing_plan.opt_progress or a spec_listener.hear. */
void spec_progress_reports_share(void *context, double share);

/* Shows positions of a file of rows, as a spec_rows_make_plan.progress. */
void spec_progress_reports_places(void *context, uint64_t done, uint64_t total);

/* Shows known mistakes of the self-test, as a spec_self_test_plan.progress. */
void spec_progress_reports_mistakes(void *context, const char *mutant, int done, int total);

#endif
