/* SPDX-License-Identifier: GPL-3.0-or-later */
/* calibrate_part: the runs of `speclab validate SAMPLER --calibrate N` on several machines.
 * Each machine writes a part with --shard I/N, which has a row for each of its runs
 * (experiments/group_file.h). */
#ifndef SPECLAB_CALIBRATE_PART_H
#define SPECLAB_CALIBRATE_PART_H

#include "cli/validate_args.h"
#include "conformance/calibrate.h"

/* Computes the runs of args->common.shard into the file of -o. */
int spec_calibrate_part_write(const spec_calibration *runs, const spec_groups *groups,
                              const spec_validate_args *args, const char *verb, spec_error *error);

/* Returns whether these merged rows come from a calibration. */
bool spec_calibrate_part_is(const spec_table *merged);

/* Makes a calibration, and its false-alarm rate, from merged rows. The caller frees it. Returns
 * GSL_EINVAL for a row that is not a run. */
int spec_calibrate_part_add(spec_calibration *ret, double *ret_rate, const spec_table *merged,
                            spec_error *error);

#endif
