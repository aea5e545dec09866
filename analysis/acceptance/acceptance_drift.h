/* SPDX-License-Identifier: GPL-3.0-or-later */
/* acceptance_drift: a test of constant acceptance that may be read after every window.
 * Under the null hypothesis the windows' acceptance always has the same law. The capital of a bet
 * against it exceeds 1/rate with a chance of at most `rate`, whenever it is read [Ville39]. Numbers
 * in, numbers out. docs/formulas.md#acceptance-drift. */
#ifndef SPECLAB_ACCEPTANCE_DRIFT_H
#define SPECLAB_ACCEPTANCE_DRIFT_H

#include <stddef.h>

typedef struct {
    double p;             /* anytime-valid p-value, in (0,1]; 1 if there was no bet */
    size_t from;          /* the first window after the most likely change; n if there is none */
    double before, after; /* the ratio before `from`, and from there on; NaN without trials */
} spec_acceptance_drift;

/* Tests windows in their order. Under the null the angles asin sqrt((passed + 3/8) / (tested +
 * 3/4)) [Anscombe48] are normal, with unknown level and variance. A window's variance may or may
 * not fall with tested, and windows k apart have the correlation phi^k, with unknown phi in 0 ..
 * .95. So neither clustered nor slowly varying acceptance raises an alarm. Under the alternative
 * the level steps once, after `learn` windows or later. The capital is
 *
 *     mean over variances, phi and steps of the likelihood, over its maximum over variances and phi
 *
 * where the likelihoods of level and scale are integrated out [PerezOrtiz24], and the maximum makes
 * the capital an e-value for every phi [Wasserman20]. A capital counts only if it lasts for 3
 * windows, so a single odd window is no change.
 *   passed, tested  (n), 0 <= passed <= tested; windows with tested = 0 do not count
 *   learn           windows at the start that have no step, >= 2; 10 is a good number
 *   returns p = 1 with n < learn + 3; p NaN for counts outside their domain
 * Beyond 512 windows, neighbours are joined in twos, fours, ... O(min(n, 512)^2). Checked by: the
 * likelihoods by matrices; false alarms under constant mixtures; power against a change of .05. */
spec_acceptance_drift spec_acceptance_drift_test(const double *passed, const double *tested,
                                                 size_t n, size_t learn);

#endif
