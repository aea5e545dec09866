/* SPDX-License-Identifier: GPL-3.0-or-later */
/* counted_cases: simulated engines with a known truth, and the logs that they write.
 * A case is an engine and the law of its requests' alpha, so the limits of its counters are known.
 * A log of it is text that an engine would have written (sim/observed/counted_log.h). */
#ifndef SPECLAB_COUNTED_CASES_H
#define SPECLAB_COUNTED_CASES_H

#include "analysis/acceptance/counter_limits.h"
#include "sim/observed/counted_log.h"

typedef struct {
    spec_counted_engine engine; /* its K is set by a run or by the limits; kept follows from phi */
    spec_alpha_law alpha;
    double after; /* mean alpha of the second half of a log; NaN: as before */
    /* Correlation of the normal scores of alpha over the time of a window of a run at phi_K, or
     * over one request of llama.cpp, in [0,1). */
    double phi;
    int phi_K;
} spec_counted_case;

/* Fills acceptance and draft lengths from a kind, such as "rounds?concentration=4", around `alpha`;
 * the caller sets the other numbers of the case. Returns GSL_EINVAL or GSL_EDOM. */
int spec_counted_case_kind(spec_counted_case *c, const char *kind, double alpha, spec_error *error);

/* Computes the limits of the counters at a draft length; with `after`, the mean over both halves
 * (rounds, drafts and step are those of the first). Returns GSL_EDOM or GSL_ENOMEM. */
int spec_counted_case_limits(spec_counter_limits *ret, const spec_counted_case *c, int K,
                             spec_error *error);

/* Finds a log by its name: vllm, sglang or llama.cpp. Returns GSL_EINVAL, naming the nearest. */
int spec_counted_log_find(spec_counted_log *ret, const char *name, spec_error *error);

/* The lengths that were run: one or two, with or without plain decoding. */
typedef struct {
    const char *name; /* "K", "plain+K", "two", "plain+two" */
    int n;
    bool plain;
} spec_counted_runs;

/* Finds runs by their name. Returns GSL_EINVAL, naming the nearest, or if there are two lengths and
 * the log does not say K. */
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
