/* calibrate: a sampler that is known to be exact, validated many times over with fresh seeds: how often it is called
 * wrong, and whether p-values are uniform and e-values as rare as they promise. Runs are independent and go in
 * parallel: the result is the same for any number of threads. The calibration owns its arrays. */
#ifndef SPECLAB_CALIBRATE_H
#define SPECLAB_CALIBRATE_H

#include "conformance/validate.h"

/* One test, over all runs, fixtures and scopes in which it had something to count. */
typedef struct {
    const char *name;
    double *p;          /* (n) sorted */
    size_t n;
    double ks, ks_p;    /* distance from the uniform law, and its p-value */
    double largest_e;   /* logarithm */
} spec_calibration_test;

typedef struct {
    int n, failed, inconclusive;
    double *p;          /* (n) sorted: of each run, the least after Holm: at most x in a share x of runs or less */
    double *log_e;      /* (n) sorted: of each run, over everything */
    spec_calibration_test test[SPEC_TESTS_MAX];
    int n_tests;
} spec_calibration;

/* n runs of spec_validate under the plan, each with a seed of its own and one thread. plan->progress is told of runs:
 * done, of n. Errors are spec_validate's, of the first run that has one. */
int spec_calibrate(spec_calibration *ret, const char *subject, int n, const spec_validate_plan *plan,
                   spec_error *error);
void spec_calibration_free(spec_calibration *calibration);

/* The share of runs with an e-value of at least 1/a, of runs with p <= a. */
double spec_calibration_e_share(const spec_calibration *calibration, double a);
double spec_calibration_p_share(const double *sorted, size_t n, double a);

#endif
