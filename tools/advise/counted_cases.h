/* SPDX-License-Identifier: GPL-3.0-or-later */
/* counted_cases: simulated engines whose true acceptance is known, and the logs that they write.
 * A case is an engine with a distribution of alpha over requests, so we know what its counters
 * converge to. Its log is text such as a real engine writes (sim/observed/counted_log.h). */
#ifndef SPECLAB_COUNTED_CASES_H
#define SPECLAB_COUNTED_CASES_H

#include "analysis/acceptance/counter_limits.h"
#include "sim/observed/counted_log.h"

typedef struct {
    /* K is set when the case is run or its limits are computed; `kept` is computed from phi */
    spec_counted_engine engine;
    spec_alpha_law alpha;
    double after; /* mean alpha in the second half of a log; NaN: the same as before */
    /* How much alpha persists, in [0,1): the correlation of its normal scores across a window of a
     * run at phi_K, or across one request of llama.cpp. */
    double phi;
    int phi_K;
} spec_counted_case;

/* Fills in acceptance and draft lengths around `alpha` from a kind, such as
 * "rounds?concentration=4". The caller sets the other numbers of the case. Returns GSL_EINVAL or
 * GSL_EDOM. */
int spec_counted_case_kind(spec_counted_case *c, const char *kind, double alpha, spec_error *error);

/* Computes the limits of the counters at a draft length. If `after` is given, they are means over
 * both halves, but rounds, drafts and step come from the first half. Returns GSL_EDOM or
 * GSL_ENOMEM. */
int spec_counted_case_limits(spec_counter_limits *ret, const spec_counted_case *c, int K,
                             spec_error *error);

/* Finds a log by its name: vllm, sglang or llama.cpp. For an unknown name returns GSL_EINVAL, and
 * suggests the nearest. */
int spec_counted_log_find(spec_counted_log *ret, const char *name, spec_error *error);

/* The lengths that were run: one or two, with or without plain decoding. */
typedef struct {
    const char *name; /* "K", "plain+K", "two", "plain+two" */
    int n;
    bool plain;
} spec_counted_runs;

/* Finds runs by their name. Returns GSL_EINVAL for an unknown name, and suggests the nearest; or if
 * there are two lengths but the log does not say K. */
int spec_counted_runs_find(spec_counted_runs *ret, const char *name, spec_counted_log log,
                           spec_error *error);

/* One log. */
typedef struct {
    spec_counted_log log;
    int K;          /* 0: plain decoding */
    int n;          /* windows or requests, >= 1 */
    double seconds; /* seconds of a window of vLLM */
    uint64_t seed, stream;
} spec_counted_run;

/* Runs the engine and writes its log. Returns GSL_EDOM or GSL_ENOMEM; the caller checks the stream
 * for errors. */
int spec_counted_case_write(FILE *out, const spec_counted_case *c, const spec_counted_run *run,
                            spec_error *error);

#endif
