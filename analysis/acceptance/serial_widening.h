/* SPDX-License-Identifier: GPL-3.0-or-later */
/* serial_widening: how much wider the interval of a mean becomes for values that follow in time.
 * Windows of a log depend on earlier ones. A short series cannot show how much, so the interval
 * averages over the possibilities. Pure functions. docs/formulas.md#serial-widening. */
#ifndef SPECLAB_SERIAL_WIDENING_H
#define SPECLAB_SERIAL_WIDENING_H

#include <stddef.h>

/* Returns the half-width of the interval of the mean over that of Student's for independent values,
 * at least 1. Values are normal with one mean and variance, and the sum of two parts: an
 * independent one, and an autoregressive one of order 1 with
 *
 *     phi = 0 (a third of the prior), .4, .7, .85, .93, .97, .99
 *     its share of the variance = .3, .6, 1, with equal chances
 *
 * Given both, the posterior of the mean is Student's, with a flat prior of the mean and of the log
 * of the variance. The interval holds 1 - error of their mixture, weighted by marginal likelihoods.
 * Time is O(n).
 *   value    (n) finite, in order of time
 *   returns  1 for n < 3 and for values without spread; NaN for an error outside (0,1)
 * Checked by: dense matrices; coverage by autocorrelation and length. */
double spec_serial_widening(const double *value, size_t n, double error);

#endif
