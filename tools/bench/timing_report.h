/* SPDX-License-Identifier: GPL-3.0-or-later */
/* timing_report: turns a measurement of bench into one table.
 * It has a row per K, with the pass of K + 1 tokens; then rows for the passes without a K.
 * docs/notation.md explains the columns. */
#ifndef SPECLAB_TIMING_REPORT_H
#define SPECLAB_TIMING_REPORT_H

#include "base/table.h"
#include "tools/bench/timing_prediction.h"

extern const char *const spec_timing_report_columns[]; /* NULL-terminated */

/* `asked` is the command, for the provenance. Returns GSL_ENOMEM if out of memory. */
int spec_timing_report_table(spec_table *ret, const spec_timing *timed,
                             const spec_timing_prediction *prediction, const char *asked,
                             spec_error *error);

/* Returns whether the number of accepted tokens contradicts the engine's own rows. Sets *ret_K to
 * the K where it does, and *ret_z to the deviation in standard errors. */
bool spec_timing_report_contradicts(const spec_timing_prediction *prediction, int *ret_K,
                                    double *ret_z);

#endif
