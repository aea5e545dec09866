/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/serve/request_times.h"

#include "speclab/no_memory.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>

const char *const spec_time_names[SPEC_TIME_KINDS] = {"ttft", "tpot", "latency"};

static int allocate(spec_request_times *times, int64_t n, spec_error *error)
{
    *times = (spec_request_times){.n = n};
    for (int k = 0; k < SPEC_TIME_KINDS; k++)
        if ((times->of[k] = malloc((size_t)n * sizeof(double))) == NULL) {
            spec_request_times_free(times);
            return spec_no_memory(error);
        }
    return GSL_SUCCESS;
}

void spec_request_times_free(spec_request_times *times)
{
    for (int k = 0; k < SPEC_TIME_KINDS; k++) free(times->of[k]);
    *times = (spec_request_times){0};
}

static void set(spec_request_times *times, int64_t i, double first_token, double latency,
                int32_t output)
{
    times->of[SPEC_TIME_FIRST_TOKEN][i] = first_token;
    times->of[SPEC_TIME_LATENCY][i] = latency;
    times->of[SPEC_TIME_PER_TOKEN][i] = output > 1 ? (latency - first_token) / (output - 1) : NAN;
}

int spec_request_times_measured(spec_request_times *ret_times, const spec_request_trace *trace,
                                spec_error *error)
{
    int status = GSL_SUCCESS;
    double clock = INFINITY; /* the engine's clock when the first request arrives */
    *ret_times = (spec_request_times){0};
    if (trace->arrival == NULL || trace->queued == NULL || trace->first_token == NULL ||
        trace->last_token == NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "a trace of format %s without measured times; it needs arrivals, "
                           "queued_ts, first_token_ts and last_token_ts",
                           trace->format));
    for (int64_t i = 0; i < trace->n; i++)
        clock = fmin(clock, trace->queued[i] - trace->arrival[i]);
    SPEC_TRY(allocate(ret_times, trace->n, error));
    for (int64_t i = 0; i < trace->n; i++) {
        const double first = trace->first_token[i] - clock - trace->arrival[i];
        const double last = trace->last_token[i] - clock - trace->arrival[i];
        if (!(first >= 0.0 && last >= first))
            SPEC_TRY(spec_fail(error, GSL_EINVAL,
                               "request %lld: its times go back: first token after %g s, last "
                               "after %g s",
                               (long long)i + 1, first, last));
        set(ret_times, i, first, last, trace->output[i]);
    }
done:
    if (status != GSL_SUCCESS) spec_request_times_free(ret_times);
    return status;
}

int spec_request_times_simulated(spec_request_times *ret_times, const spec_serving_plan *plan,
                                 int64_t n, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_serving_result result = {0};
    *ret_times = (spec_request_times){0};
    SPEC_TRY(spec_serving_run(&result, plan, 0, 0, NULL, error));
    if (result.n != (uint64_t)n)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "the engine served %llu requests of %lld",
                           (unsigned long long)result.n, (long long)n));
    SPEC_TRY(allocate(ret_times, n, error));
    for (int64_t k = 0; k < n; k++) {
        const int64_t i = result.request[k];
        const double first = result.first_token[k], last = result.latency[k];
        ret_times->of[SPEC_TIME_FIRST_TOKEN][i] = first;
        ret_times->of[SPEC_TIME_LATENCY][i] = last;
        ret_times->of[SPEC_TIME_PER_TOKEN][i] = result.per_token[k];
    }
done:
    spec_serving_result_free(&result);
    if (status != GSL_SUCCESS) spec_request_times_free(ret_times);
    return status;
}

bool spec_request_split_first(spec_request_split split, int64_t request, int64_t n)
{
    return split == SPEC_SPLIT_TIME ? 2 * request < n : request % 2 == 0;
}

double *spec_request_times_sorted(int64_t *ret_n, const spec_request_times *times,
                                  spec_time_kind kind, spec_request_split split, bool first)
{
    double *half = malloc((size_t)times->n * sizeof *half);
    *ret_n = 0;
    if (half == NULL) return NULL;
    for (int64_t i = 0; i < times->n; i++)
        if (spec_request_split_first(split, i, times->n) == first && isfinite(times->of[kind][i]))
            half[(*ret_n)++] = times->of[kind][i];
    gsl_sort(half, 1, (size_t)*ret_n);
    return half;
}
