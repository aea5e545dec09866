/* SPDX-License-Identifier: GPL-3.0-or-later */
/* acceptance_drift: a test of constant acceptance that may be read after every window.
 * Under the null hypothesis the windows' acceptance always has the same law. The capital of a bet
 * against it exceeds 1/rate with a chance of at most `rate`, whenever it is read [Ville39]. Numbers
 * in, numbers out. docs/formulas.md#acceptance-drift. */
#ifndef SPECLAB_ACCEPTANCE_DRIFT_H
#define SPECLAB_ACCEPTANCE_DRIFT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    double p;             /* anytime-valid p-value, in (0,1]; 1 without a bet */
    size_t from;          /* the first window after the most likely change; n without one */
    double before, after; /* the ratio before and from there on */
} spec_acceptance_drift;

/* The test over windows in their order. The null law of passed given
 * tested is beta-binomial. Its mean and design effect are those of the windows before, so that
 * clustered acceptance raises no alarm.
 *   passed, tested  (n), passed <= tested
 *   learn           windows at the start from which no bet is made, >= 2
 *   returns p = 1 with n <= learn
 * Checked by: false alarms under constant mixtures; power against a change of .05. */
spec_acceptance_drift spec_acceptance_drift_test(const double *passed, const double *tested,
                                                 size_t n, size_t learn);

#endif
