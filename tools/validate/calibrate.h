/* SPDX-License-Identifier: GPL-3.0-or-later */
/* calibrate: measures false alarms: validates an exact sampler many times, with fresh seeds.
 * It reports how often the exact sampler FAILs, whether p-values are uniform, and whether large
 * e-values are as rare as promised. Runs are independent and parallel, and the result is the same
 * for any number of threads. The calibration owns its arrays. */
#ifndef SPECLAB_CALIBRATE_H
#define SPECLAB_CALIBRATE_H

#include "base/groups.h"
#include "tools/validate/validate.h"

/* One test, over all runs, fixtures and scopes in which it had data. */
typedef struct {
    const char *name;
    double *p;          /* (n) sorted */
    size_t n, capacity;
    double ks, ks_p;    /* Kolmogorov-Smirnov distance from uniform, and its p-value */
    double largest_e;   /* logarithm of the largest e-value */
} spec_calibration_test;

typedef struct {
    int n, failed, inconclusive;
    /* (n) sorted: smallest p-value of each run after Holm's correction. For any x, at most a share
     * x of these should be <= x */
    double *p;
    double *log_e;      /* (n) sorted: log e-value of each run */
    spec_calibration_test test[SPEC_TESTS_MAX];
    int n_tests;
    /* used while runs are added */
    int added;
    const char *subject;
    const spec_validate_plan *plan;
    spec_listener listener;
} spec_calibration;

/* Runs spec_validate n times under the plan, each time with its own seed and one thread.
 * plan->progress receives the runs done out of n. If limits.opt_stop is set, the calibration keeps
 * the first runs that ended, and n is their number. Errors come from spec_validate, in the first
 * run that fails. */
int spec_calibrate(spec_calibration *ret, const char *subject, int n,
                   const spec_validate_plan *plan, spec_error *error);
void spec_calibration_free(spec_calibration *calibration);

/* The same in three steps, for several machines: runs are groups of work (base/groups.h). The
 * calibration borrows subject and plan, which are NULL if this machine computes no run. Call
 * _finish after all runs are added. */
int spec_calibration_init(spec_calibration *calibration, const char *opt_subject, int n,
                          const spec_validate_plan *opt_plan, spec_error *error);
spec_groups spec_calibration_runs(spec_calibration *calibration);
void spec_calibration_finish(spec_calibration *calibration);

/* Return the share of runs with an e-value of at least 1/a, and with p <= a. */
double spec_calibration_e_share(const spec_calibration *calibration, double a);
double spec_calibration_p_share(const double *sorted, size_t n, double a);

#endif
