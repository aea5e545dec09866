/* SPDX-License-Identifier: GPL-3.0-or-later */
/* summary: sentences that state what the numbers of a result show, for any inputs.
 * They give the ranges of the main columns of the measure, then trends and comparisons that
 * exceed their standard errors (experiments/report/comparison.h). */
#ifndef SPECLAB_SUMMARY_H
#define SPECLAB_SUMMARY_H

#include "experiments/experiment.h"

/* Writes one Markdown list item per sentence. Returns GSL_ENOMEM. */
int spec_summary_write(FILE *out, const spec_experiment *experiment, const spec_result *result);

#endif
