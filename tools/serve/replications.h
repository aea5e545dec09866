/* SPDX-License-Identifier: GPL-3.0-or-later */
/* replications: independent runs of a serving engine, with estimates and their standard errors.
 * Replication i draws from stream i on any thread, and results are merged in index order, so they
 * do not depend on threads. Plans that differ in K or costs serve the same requests in replication
 * i, so ratios of their results are paired. Must be freed after _run, even after a failure. */
#ifndef SPECLAB_REPLICATIONS_H
#define SPECLAB_REPLICATIONS_H

#include "base/thread_pool.h"
#include "sim/montecarlo.h"
#include "sim/serving/serving_run.h"
#include "speclab/listener.h"

enum { SPEC_REPLICATIONS = SPEC_MONTECARLO_GROUP };

typedef struct {
    int n;
    spec_serving_sums run[SPEC_REPLICATIONS];
    double early[SPEC_REPLICATIONS], late[SPEC_REPLICATIONS]; /* as in spec_serving_result */
    /* replications in which the number of requests grew throughout */
    int grew;
    /* requests of a replication whose times the plan keeps; NULL if it keeps none */
    uint64_t kept;
    /* (kept) s; per_token is NaN for outputs of one token */
    float *first_token, *per_token, *latency;
    /* (n) histograms of the steps, as in spec_serving_result; also NULL if the plan keeps no
     * times */
    spec_log_histogram *batches[SPEC_REPLICATIONS], *step_times[SPEC_REPLICATIONS];
} spec_replications;

/* How a plan is replicated. */
typedef struct {
    int n; /* replications, 1..SPEC_REPLICATIONS */
    uint64_t seed;
    spec_thread_pool *opt_pool;
    const volatile int *opt_stop;
} spec_replications_plan;

/* Runs all replications. Returns GSL_ESANITY if sums break an identity of
 * analysis/serving/conservation.h, which means that the engine has a bug. Otherwise returns the
 * status and message of the first one that failed, by index; GSL_EFAILED, "interrupted", if
 * *opt_stop was set. */
int spec_replications_run(spec_replications *ret, const spec_serving_plan *plan,
                          const spec_replications_plan *how, spec_error *error);
void spec_replications_free(spec_replications *replications);
void spec_replications_drop_times(spec_replications *replications); /* and the histograms */

/* A number computed from sums, such as their mean batch. */
typedef double spec_replications_statistic(const void *self, const spec_serving_sums *sums);

/* Estimates a statistic of all replications together, by the jackknife over replications [Efron79]:
 *
 *     mean = n f(all) - (n-1) m,   se^2 = (n-1)/n sum_i (f(all but i) - m)^2,   df = n - 1
 *
 * where m is the mean of f(all but i). If replications are equal, an se below 1e-12 of the mean is
 * only rounding and becomes 0. The estimate is NaN if f is; se and df are NaN for n < 2. */
spec_estimate spec_replications_estimate(const spec_replications *replications,
                                         spec_replications_statistic *f, const void *self);

/* Returns the mean of late - early in standard errors, which is standard normal if latency is
 * stationary. NaN for n < 2. */
double spec_replications_drift(const spec_replications *replications);

/* Returns the q-quantile of the n times that are not NaN: the order statistic of rank ceil(q n).
 * Returns NaN if there are none. Reorders the times. */
double spec_replications_quantile(float *times, uint64_t n, double q);

#endif
