/* SPDX-License-Identifier: GPL-3.0-or-later */
/* request_times: the times of each request of a trace, as an engine measured or simulated them.
 * Both count from the request's arrival at the engine. The record owns its arrays; free accepts a
 * zeroed one. */
#ifndef SPECLAB_REQUEST_TIMES_H
#define SPECLAB_REQUEST_TIMES_H

#include "sim/serving/requests/request_trace.h"
#include "sim/serving/serving_run.h"

#include <stdbool.h>

/* Times from arrival to first token; from first to last token, per token; from arrival to last
 * token. */
typedef enum { SPEC_TIME_FIRST_TOKEN, SPEC_TIME_PER_TOKEN, SPEC_TIME_LATENCY } spec_time_kind;
enum { SPEC_TIME_KINDS = 3 };
extern const char *const spec_time_names[SPEC_TIME_KINDS]; /* ttft, tpot, latency */

typedef struct {
    int64_t n;
    double *of[SPEC_TIME_KINDS]; /* (n) s, in the order of arrival; NaN per token of one token */
} spec_request_times;

/* The times that a trace has. Its engine may have a clock of its own: the smallest difference of
 * queueing and arrival is the difference of the clocks. GSL_EINVAL with one line if the trace has
 * no arrivals, or no first and last tokens, or if times go back; GSL_ENOMEM. */
int spec_request_times_measured(spec_request_times *ret_times, const spec_request_trace *trace,
                                spec_error *error);

/* Those of a run, from a plan that keeps every one and the n requests of a source. GSL_EINVAL if
 * the run served another number; as spec_serving_run. */
int spec_request_times_simulated(spec_request_times *ret_times, const spec_serving_plan *plan,
                                 int64_t n, spec_error *error);
void spec_request_times_free(spec_request_times *times);

/* Two halves of the requests: one is fitted, the other is predicted.
 * ALTERNATE: every second request, from the first one. TIME: the first half in order of arrival. */
typedef enum { SPEC_SPLIT_ALTERNATE, SPEC_SPLIT_TIME } spec_request_split;
bool spec_request_split_first(spec_request_split split, int64_t request, int64_t n);

/* The finite times of one half, sorted; *ret_n of them. (n) doubles; the caller frees. NULL without
 * memory. */
double *spec_request_times_sorted(int64_t *ret_n, const spec_request_times *times,
                                  spec_time_kind kind, spec_request_split split, bool first);

#endif
