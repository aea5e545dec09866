/* SPDX-License-Identifier: GPL-3.0-or-later */
/* serial_widening: how much wider the interval of a mean becomes if values depend on earlier ones.
 * Windows of a log depend on earlier windows. A short series cannot show how strongly, so we
 * average over the possibilities. Pure functions. docs/formulas/statistics.md#serial-widening. */
#ifndef SPECLAB_SERIAL_WIDENING_H
#define SPECLAB_SERIAL_WIDENING_H

#include <stddef.h>

/* Returns the half-width of the interval of the mean, divided by the half-width of Student's
 * interval for independent values; at least 1. Values are normal, with the same mean and variance.
 * Each is the sum of an independent part and a part that is autoregressive of order 1, with
 *
 *     phi = 0 (a third of the prior), .4, .7, .85, .93, .97, .99
 *     its share of the variance = .3, .6, 1, equally likely
 *
 * Given both, and with flat priors for the mean and for the log of the variance, the posterior of
 * the mean is Student's. We mix these posteriors, weighted by their marginal likelihoods, and the
 * interval contains 1 - error of the mixture. Time is O(n).
 *   value    (n) finite, in order of time
 *   returns  1 for n < 3 and for values without spread; NaN for an error outside (0,1)
 * Checked by: dense matrices; coverage by autocorrelation and length. */
double spec_serial_widening(const double *value, size_t n, double error);

/* One of the models above. */
typedef struct {
    double weight; /* posterior probability */
    /* root of the posterior's squared scale and squared distance of its centre from the plain mean,
     * divided by the standard error of independent values */
    double widening;
} spec_serial_model;

enum { SPEC_SERIAL_MODELS = 19 };

/* Computes all models, the one of independent values first. For n < 3 and for values without spread
 * their weights are equal and their widenings 1. */
void spec_serial_widenings(spec_serial_model ret[SPEC_SERIAL_MODELS], const double *value,
                           size_t n);

#endif
