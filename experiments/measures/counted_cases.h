/* SPDX-License-Identifier: GPL-3.0-or-later */
/* counted_cases: simulated engines with a known truth, and their counters as observations.
 * A case is an engine and the law of its requests' alpha, so the limits of its counters are known.
 * Its windows or requests go to an observer as a reader of logs would hand them over. */
#ifndef SPECLAB_COUNTED_CASES_H
#define SPECLAB_COUNTED_CASES_H

#include "analysis/acceptance/counter_limits.h"
#include "experiments/advice/observation.h"
#include "sim/serving/requests/alpha_law.h"

typedef struct {
    spec_counted_engine engine; /* its K is that of the observation or of the limits */
    spec_alpha_law alpha;
    double after; /* mean alpha of the second half of an observation; NaN: as before */
} spec_counted_case;

/* Fill acceptance and lengths of drafts from a kind, such as "rounds?concentration=4", around
 * `alpha`; output, batch and cost of the engine are the caller's. GSL_EINVAL or GSL_EDOM. */
int spec_counted_case_kind(spec_counted_case *c, const char *kind, double alpha, spec_error *error);

/* The limits of the counters at a draft length, before the second half. GSL_EDOM, GSL_ENOMEM. */
int spec_counted_case_limits(spec_counter_limits *ret, const spec_counted_case *c, int K,
                             spec_error *error);

/* Sources of counters. */
typedef enum {
    SPEC_COUNTED_WINDOWS,  /* windows of time, exact */
    SPEC_COUNTED_ROUNDED,  /* the same as vLLM prints them: rounded means, and no rounds */
    SPEC_COUNTED_REQUESTS, /* requests, exact */
} spec_counted_source;

/* By its name: windows, rounded or requests. GSL_EINVAL, naming the nearest. */
int spec_counted_source_find(spec_counted_source *ret, const char *name, spec_error *error);

typedef struct {
    spec_counted_source source;
    int n;          /* windows or requests, >= 1 */
    double seconds; /* of a window */
    uint64_t seed, stream;
} spec_counted_reading;

/* Run the engine with drafts of K tokens, and hand over its counters. *opt_unread: windows whose
 * rounded numbers contradict themselves. GSL_EDOM, GSL_ENOMEM, and statuses of the observer. */
int spec_counted_case_observe(int *opt_unread, const spec_observer *observer,
                              const spec_counted_case *c, int K,
                              const spec_counted_reading *reading, spec_error *error);

#endif
