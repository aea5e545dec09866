/* SPDX-License-Identifier: GPL-3.0-or-later */
/* validate_calibrate: `speclab validate SAMPLER --calibrate N`: false alarms of an exact sampler.
 * Prints a table, and draws a figure. */
#ifndef SPECLAB_VALIDATE_CALIBRATE_H
#define SPECLAB_VALIDATE_CALIBRATE_H

#include "cli/validate_args.h"

/* Tokens of one run if --budget is missing. */
#define SPEC_VALIDATE_CALIBRATE_DRAWS 200000ull

/* Returns the exit code: 0; 1 if this many false alarms would be rare (p < 0.01) at the stated
 * false-alarm rate; 2 or 130 on failure. */
int spec_validate_calibrate(const spec_validate_args *args, const char *verb);

/* Returns whether merged rows come from a calibration with --shard, which has a row for each run.
 */
bool spec_validate_calibrate_is(const spec_table *merged);

/* Does the same for these rows; `options` says where the output goes. */
int spec_validate_calibrate_merge(const spec_table *merged, const spec_options *options,
                                  const char *verb);

#endif
