/* SPDX-License-Identifier: GPL-3.0-or-later */
/* counted_cases: simulated engines with a known truth, and the logs that they write.
 * A case is an engine and the law of its requests' alpha, so the limits of its counters are known.
 * A log of it is text that an engine would have written (sim/observed/counted_log.h). */
#ifndef SPECLAB_COUNTED_CASES_H
#define SPECLAB_COUNTED_CASES_H

#include "analysis/acceptance/counter_limits.h"
#include "sim/observed/counted_log.h"

typedef struct {
    spec_counted_engine engine; /* its K is that of a run or of the limits; kept follows from phi */
    spec_alpha_law alpha;
    double after; /* mean alpha of the second half of a log; NaN: as before */
    /* Correlation of the normal scores of alpha over the time of a window of a run at phi_K, or
     * over one request of llama.cpp, in [0,1). */
    double phi;
    int phi_K;
} spec_counted_case;

/* Fill acceptance and lengths of drafts from a kind, such as "rounds?concentration=4", around
 * `alpha`; the other numbers of the case are the caller's. GSL_EINVAL or GSL_EDOM. */
int spec_counted_case_kind(spec_counted_case *c, const char *kind, double alpha, spec_error *error);

/* The limits of the counters at a draft length; with `after`, the mean over both halves (rounds,
 * drafts and step are those of the first). GSL_EDOM, GSL_ENOMEM. */
int spec_counted_case_limits(spec_counter_limits *ret, const spec_counted_case *c, int K,
                             spec_error *error);

/* By its name: vllm, sglang or llama.cpp. GSL_EINVAL, naming the nearest. */
int spec_counted_log_find(spec_counted_log *ret, const char *name, spec_error *error);

/* The lengths that were run: one or two, and plain decoding or not. */
typedef struct {
    const char *name; /* "K", "plain+K", "two", "plain+two" */
    int n;
    bool plain;
} spec_counted_runs;

/* By its name. GSL_EINVAL, naming the nearest, or for two lengths of a log that does not say K. */
int spec_counted_runs_find(spec_counted_runs *ret, const char *name, spec_counted_log log,
                           spec_error *error);

/* One log. */
typedef struct {
    spec_counted_log log;
    int K;          /* 0: plain decoding */
    int n;          /* windows or requests, >= 1 */
    double seconds; /* of a window of vLLM */
    uint64_t seed, stream;
} spec_counted_run;

/* Run the engine and write its log. GSL_EDOM, GSL_ENOMEM; errors of the stream remain in it. */
int spec_counted_case_write(FILE *out, const spec_counted_case *c, const spec_counted_run *run,
                            spec_error *error);

#endif
