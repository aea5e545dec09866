/* SPDX-License-Identifier: GPL-3.0-or-later */
/* comparison: sentences that compare the rows of a result by numbers and by names.
 * It finds trends along numbers, and the largest among names. Rows are compared within a series,
 * where all other keys are equal. Each function writes one Markdown list item, or nothing if a
 * series has two rows with the same value of the axis or more than 1000 rows. Returns
 * GSL_ENOMEM. */
#ifndef SPECLAB_COMPARISON_H
#define SPECLAB_COMPARISON_H

#include "experiments/report/main_column.h"

/* Along a column of numbers: writes in how many series the values rise, fall, peak and so on
 * (experiments/report/trend.h). */
int spec_comparison_trend(FILE *out, const spec_main_column *measured, int axis);

/* Among a column of names: writes in how many series each name has the largest value, significantly
 * above all others. */
int spec_comparison_names(FILE *out, const spec_main_column *measured, int axis);

#endif
