/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timing_online_report: a measured draft that learns, as a table by parts of the run.
 * Each part has a row for the static draft and one for the draft that learns; the last part is the
 * whole run. Intervals resample the texts of a part (docs/formulas.md#bootstrap). */
#ifndef SPECLAB_TIMING_ONLINE_REPORT_H
#define SPECLAB_TIMING_ONLINE_REPORT_H

#include "timing/timing_online.h"

/* Most parts of a run, and fewest texts that intervals are computed from. */
enum { SPEC_TIMING_ONLINE_PARTS = 10, SPEC_TIMING_ONLINE_INTERVAL_TEXTS = 6 };

/* `asked` is the command, for the provenance. GSL_ENOMEM. */
int spec_timing_online_report_table(spec_table *ret, const spec_timing_online *timed,
                                    const char *asked, spec_error *error);

#endif
