/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timing_online_report: a table of how a draft that learns did in each part of the run.
 * Each part has a row for the static draft and one for the draft that learns; the last part is the
 * whole run. Intervals resample the texts of a part (docs/formulas/statistics.md#bootstrap). */
#ifndef SPECLAB_TIMING_ONLINE_REPORT_H
#define SPECLAB_TIMING_ONLINE_REPORT_H

#include "tools/bench/timing_online.h"

/* The maximum parts of a run, and the fewest texts from which intervals are computed. */
enum { SPEC_TIMING_ONLINE_PARTS = 10, SPEC_TIMING_ONLINE_INTERVAL_TEXTS = 6 };

/* `asked` is the command, for the provenance. Returns GSL_ENOMEM if out of memory. */
int spec_timing_online_report_table(spec_table *ret, const spec_timing_online *timed,
                                    const char *asked, spec_error *error);

#endif
