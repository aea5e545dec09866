/* SPDX-License-Identifier: GPL-3.0-or-later */
/* observed_runs: the clusters of each draft length and range of batches that an engine ran.
 * Requests are independent. Windows of a log are joined into stretches of time, which form a
 * series. A run's columns are those of observed_sums.h. Owns its arrays. */
#ifndef SPECLAB_OBSERVED_RUNS_H
#define SPECLAB_OBSERVED_RUNS_H

#include "analysis/acceptance/cluster_ratio.h"
#include "tools/advise/observed_sums.h"

/* Number of stretches in a series of windows; they show how strongly windows depend on each other
 * (analysis/acceptance/serial_widening.h). */
enum { SPEC_OBSERVED_STRETCHES = 240 };

typedef struct {
    int K;     /* 0: plain decoding */
    int batch; /* range of batches (observed_sums.h); -1: all */
    int depths;
    bool requests; /* clusters are requests */
    size_t n;
    double *column; /* (n, SPEC_SUM_COLUMNS) */
} spec_observed_run;

typedef struct {
    size_t n;
    spec_observed_run *run; /* by K, then batch, ascending; batch -1 comes first */
} spec_observed_runs;

/* Makes the runs; leaves out series of unknown K. Returns GSL_ENOMEM. */
int spec_observed_runs_init(spec_observed_runs *runs, const spec_observed_sums *sums,
                            spec_error *error);
void spec_observed_runs_free(spec_observed_runs *runs);

/* Gathers the clusters of K and batch (-1: all) from all their series, in order of time; the caller
 * frees the column. Returns GSL_ENOMEM. */
int spec_observed_run_gather(spec_observed_run *ret, const spec_observed_sums *sums, int K,
                             int batch);

/* Returns the run of K and batch; NULL if there is none. */
const spec_observed_run *spec_observed_runs_find(const spec_observed_runs *runs, int K, int batch);

/* Returns the sum of a column over a run's clusters. */
double spec_observed_run_sum(const spec_observed_run *run, int column);

/* Returns m_{j-1} m_{j+1} - m_j^2, where m_j is the share of rounds that accept at least j >= 1
 * tokens and m_0 = 1. One alpha gives 0, a mixture more, and acceptance that falls with depth less.
 * *ret_variance is that of the jackknife over clusters with depths; NaN for fewer than two. Changes
 * within rounding are ignored, so clusters with the same distribution show no spread. */
double spec_observed_run_excess(double *ret_variance, const spec_observed_run *run, int j);

/* Computes a number from a cluster, for ratios; `arg` is a column, a depth or a draft length. */
typedef double spec_cluster_value(const double *cluster, int arg);
spec_cluster_value spec_cluster_column;   /* column number `arg` */
spec_cluster_value spec_cluster_per_pass; /* target passes plus accepted tokens */
spec_cluster_value spec_cluster_most;     /* arg draft tokens for each target pass */
spec_cluster_value spec_cluster_accepted; /* draft tokens accepted up to depth arg */
/* draft tokens of depth at most arg that were tested, provided that drafts had that many tokens:
 * one in every round, and one after each accepted token except at depth arg */
spec_cluster_value spec_cluster_tested;

/* The values of a run's clusters, and the arrays that spec_cluster_ratio_of reads. */
typedef struct {
    spec_cluster_value *passed, *tested;
    int passed_arg, tested_arg;
    bool proportion;
} spec_cluster_question;

/* Computes the ratio of a run's clusters at confidence 1 - error. For a series, the interval is
 * widened because its stretches depend on each other. Returns GSL_ENOMEM. */
int spec_observed_run_ratio(spec_cluster_ratio *ret, const spec_observed_run *run,
                            const spec_cluster_question *question, double error);

/* Returns the same for n clusters in order of time, from arrays as in cluster_ratio.h.
 *   work           (n)
 *   *opt_widening  how much dependence widens the interval; 1 for requests */
spec_cluster_ratio spec_observed_ratio_of(const double *passed, const double *tested, double *work,
                                          size_t n, bool proportion, bool requests, double error,
                                          double *opt_widening);

#endif
