/* SPDX-License-Identifier: GPL-3.0-or-later */
/* checked_rows: one sentence about the checked rows of a result.
 * It gives the number of rows that hold or fail (spec_measure_check), the largest difference from
 * theory, and the number of each verdict. */
#ifndef SPECLAB_CHECKED_ROWS_H
#define SPECLAB_CHECKED_ROWS_H

#include "experiments/experiment.h"

/* Writes the sentence without its full stop; with `row`, it names the row of the largest
 * difference. Returns GSL_ENOMEM. */
int spec_checked_rows_write(FILE *out, const spec_experiment *experiment, const spec_result *result,
                            bool row);

#endif
