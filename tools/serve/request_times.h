/* SPDX-License-Identifier: GPL-3.0-or-later */
/* request_times: the times of each request of a trace, measured or simulated.
 * Both kinds count from the request's arrival at the engine. The record owns its arrays, and can be
 * freed when zeroed. */
#ifndef SPECLAB_REQUEST_TIMES_H
#define SPECLAB_REQUEST_TIMES_H

#include "sim/serving/requests/request_trace.h"
#include "sim/serving/serving_run.h"

#include <stdbool.h>

/* Time from arrival to first token; from first to last token, per token; from arrival to last
 * token. */
typedef enum { SPEC_TIME_FIRST_TOKEN, SPEC_TIME_PER_TOKEN, SPEC_TIME_LATENCY } spec_time_kind;
enum { SPEC_TIME_KINDS = 3 };
extern const char *const spec_time_names[SPEC_TIME_KINDS]; /* ttft, tpot, latency */

typedef struct {
    int64_t n;
    /* (n) s, in order of arrival; per token is NaN if there is one token */
    double *of[SPEC_TIME_KINDS];
} spec_request_times;

/* Computes the times in a measured trace. The engine may have its own clock; we take the smallest
 * difference between queueing and arrival as the difference between the clocks. Returns GSL_EINVAL
 * with one line if the trace has no arrivals, or no first and last tokens, or if times go
 * backwards; GSL_ENOMEM. */
int spec_request_times_measured(spec_request_times *ret_times, const spec_request_trace *trace,
                                spec_error *error);

/* Computes the times of a simulated run. The plan must keep the times of all requests; n is the
 * number of requests in the source. Returns GSL_EINVAL if the run served another number; otherwise
 * as spec_serving_run. */
int spec_request_times_simulated(spec_request_times *ret_times, const spec_serving_plan *plan,
                                 int64_t n, spec_error *error);
void spec_request_times_free(spec_request_times *times);

/* Splits the requests into two halves: we fit one and predict the other.
 * ALTERNATE: every second request, from the first one. TIME: the first half in order of arrival. */
typedef enum { SPEC_SPLIT_ALTERNATE, SPEC_SPLIT_TIME } spec_request_split;
bool spec_request_split_first(spec_request_split split, int64_t request, int64_t n);

/* Returns the *ret_n finite times of one half, sorted. The caller frees the array. Returns NULL if
 * memory runs out. */
double *spec_request_times_sorted(int64_t *ret_n, const spec_request_times *times,
                                  spec_time_kind kind, spec_request_split split, bool first);

#endif
