/* SPDX-License-Identifier: GPL-3.0-or-later */
/* acceptance_drift: a test of constant acceptance that may be read after every window.
 * The null hypothesis is that acceptance has the same distribution in all windows. If it holds, the
 * capital of a bet against it ever exceeds 1/rate with a chance of at most `rate` [Ville39]. Pure
 * functions. docs/formulas/statistics.md#acceptance-drift. */
#ifndef SPECLAB_ACCEPTANCE_DRIFT_H
#define SPECLAB_ACCEPTANCE_DRIFT_H

#include <stddef.h>

typedef struct {
    double p;             /* anytime-valid p-value, in (0,1]; 1 if there was no bet */
    size_t from;          /* the first window after the most likely change; n if there is none */
    double before, after; /* the ratio before `from`, and from there on; NaN without trials */
} spec_acceptance_drift;

/* Tests windows in their order. Under the null the angles asin sqrt((passed + 3/8) / (tested +
 * 3/4)) [Anscombe48] are normal, with unknown level and variance. The variance of a window may or
 * may not fall with `tested`. Windows k apart have correlation phi^k, with unknown phi in 0 .. .95.
 * So neither clustered nor slowly varying acceptance raises an alarm. Under the alternative the
 * level steps once, after `learn` windows or later. The capital is
 *
 *     mean over variances, phi and steps of the likelihood, over its maximum over variances and phi
 *
 * where the likelihoods of level and scale are integrated out [PerezOrtiz24], and the maximum makes
 * the capital an e-value for every phi [Wasserman20]. We use a capital only if it lasts for 3
 * windows, so that a single odd window does not look like a change.
 *   passed, tested  (n), 0 <= passed <= tested; windows with tested = 0 do not count
 *   learn           this many windows at the start cannot have the step, >= 2; 10 works well
 *   returns p = 1 with n < learn + 3; p NaN for counts outside their domain
 * If there are more than 512 windows, neighbours are merged in twos, fours, and so on. O(min(n,
 * 512)^2). Checked by: the likelihoods by matrices; false alarms under constant mixtures; power
 * against a change of .05. */
spec_acceptance_drift spec_acceptance_drift_test(const double *passed, const double *tested,
                                                 size_t n, size_t learn);

#endif
