/* SPDX-License-Identifier: GPL-3.0-or-later */
/* progress_reports: callbacks that show the work of library code in the progress line.
 * Each has the type of the field that it is for (see base/progress.h for the line); `context` is
 * unused unless stated. */
#ifndef SPECLAB_PROGRESS_REPORTS_H
#define SPECLAB_PROGRESS_REPORTS_H

#include <stdint.h>

/* Grid points of an experiment: a spec_run_options.progress. */
void spec_progress_reports_points(void *context, double done, uint64_t total);

/* The share of the work: a spec_timing_plan.opt_progress and a spec_listener.hear. */
void spec_progress_reports_share(void *context, double share);

/* Positions of a file of rows: a spec_rows_make_plan.progress. */
void spec_progress_reports_places(void *context, uint64_t done, uint64_t total);

/* Known mistakes of the self-test: a spec_self_test_plan.progress. */
void spec_progress_reports_mistakes(void *context, const char *mutant, int done, int total);

#endif
