/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/requests/request_trace.h"

#include "base/input_file.h"
#include "sim/serving/requests/length_law.h"
#include "sim/serving/requests/record_lines.h"
#include "speclab/no_memory.h"

#include <stdlib.h>

enum { FIRST_ROWS = 1 << 10, COLUMNS = 3 };

static const double LONGEST = 1e10; /* s between the first request and any other */

/* A format has names for the columns of arrivals, prompts and outputs, and a unit of arrivals in
 * seconds. */
typedef struct {
    const char *name, *column[COLUMNS];
    double unit;
} trace_format;

static const trace_format formats[] = {
    {"plain", {"arrival", "prompt", "output"}, 1.0},
    {"azure", {"TIMESTAMP", "ContextTokens", "GeneratedTokens"}, 1.0},
    {"burstgpt", {"Timestamp", "Request tokens", "Response tokens"}, 1.0},
    {"mooncake", {"timestamp", "input_length", "output_length"}, 1e-3},
    {"splitwise", {"arrival_timestamp", "prompt_size", "token_size"}, 1.0},
    {"vidur", {"arrived_at", "num_prefill_tokens", "num_decode_tokens"}, 1.0},
    {"llmservingsim", {"arrival_time", "input_toks", "output_toks"}, 1.0},
    {"llmservingsim", {"arrival_time_ns", "input_toks", "output_toks"}, 1e-9},
    {NULL, {NULL, NULL, NULL}, 0.0},
};

/* Measured times, in the order of the arrays in `measured`. */
enum { MEASURED = 4 };
static const char *const measured_columns[MEASURED] = {"queued_ts", "scheduled_ts",
                                                       "first_token_ts", "last_token_ts"};

typedef struct {
    spec_record_lines records;
    double unit;
    spec_record_field column[COLUMNS], time[MEASURED];
    spec_timestamp first; /* arrival of the first request */
    int64_t capacity;
    double *measured[MEASURED];
} reader;

/* For use in functions with a reader r and an error. */
#define BAD(...) spec_text_lines_bad(&r->records.in, error, __VA_ARGS__)

/* ---- columns --------------------------------------------------------------------------------- */

/* Chooses the format of which most columns are present, the first one among ties. Only arrivals may
 * be missing. */
static int choose_format(spec_request_trace *trace, reader *r, spec_error *error)
{
    const trace_format *best = NULL;
    int most = 0;
    for (const trace_format *format = formats; format->name != NULL; format++) {
        int there = 0;
        for (int c = 0; c < COLUMNS; c++)
            there += spec_record_lines_field(&r->records, format->column[c]).name != NULL;
        if (there > most) {
            best = format;
            most = there;
        }
    }
    if (best == NULL) {
        char names[160];
        spec_record_lines_names(names, sizeof names, &r->records);
        return BAD("has no column of a known trace; name them arrival,prompt,output or as in "
                   "docs/formats.md#traces-of-requests. There are: %s",
                   names);
    }
    for (int c = 0; c < COLUMNS; c++) {
        r->column[c] = spec_record_lines_field(&r->records, best->column[c]);
        if (c > 0 && r->column[c].name == NULL)
            return BAD("has no column '%s'; a trace of this format (%s) has %s, %s and %s",
                       best->column[c], best->name, best->column[0], best->column[1],
                       best->column[2]);
    }
    for (int m = 0; m < MEASURED; m++)
        r->time[m] = spec_record_lines_field(&r->records, measured_columns[m]);
    trace->format = best->name;
    r->unit = best->unit;
    return GSL_SUCCESS;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Resizes the array to n elements. On failure returns it as it was and sets *there to false. */
static void *grown(void *array, int64_t n, size_t size, bool *there)
{
    void *more = realloc(array, (size_t)n * size);
    if (more == NULL) *there = false;
    return more != NULL ? more : array;
}

static int reserve(spec_request_trace *trace, reader *r, spec_error *error)
{
    if (trace->n < r->capacity) return GSL_SUCCESS;
    if (trace->n == SPEC_REQUEST_TRACE_MAX)
        return BAD("is request %d: a trace has no more; split it", SPEC_REQUEST_TRACE_MAX + 1);
    const int64_t n = r->capacity > 0 ? 2 * r->capacity : FIRST_ROWS;
    bool there = true;
    trace->prompt = grown(trace->prompt, n, sizeof *trace->prompt, &there);
    trace->output = grown(trace->output, n, sizeof *trace->output, &there);
    if (r->column[0].name != NULL)
        trace->arrival = grown(trace->arrival, n, sizeof *trace->arrival, &there);
    for (int m = 0; m < MEASURED; m++)
        if (r->time[m].name != NULL)
            r->measured[m] = grown(r->measured[m], n, sizeof *r->measured[m], &there);
    if (!there) return spec_no_memory_for(error, r->records.in.name);
    r->capacity = n;
    return GSL_SUCCESS;
}

static int take_arrival(spec_request_trace *trace, reader *r, spec_error *error)
{
    spec_timestamp at;
    int status = GSL_SUCCESS;
    if (r->column[0].name == NULL) return status;
    SPEC_TRY(spec_record_lines_time(&at, &r->records, r->column[0], error));
    if (trace->n == 0) r->first = at;
    if (at.date != r->first.date)
        return BAD("%s is a %s, but the first request's is a %s", r->column[0].name,
                   at.date ? "date" : "number", at.date ? "number" : "date");
    const double arrival = spec_timestamp_difference(&r->first, &at) * (at.date ? 1.0 : r->unit);
    if (trace->n > 0 && !(arrival >= trace->arrival[trace->n - 1]))
        return BAD("time goes back, from %.9g s to %.9g s after the first request: sort the file "
                   "by %s",
                   trace->arrival[trace->n - 1], arrival, r->column[0].name);
    if (!(arrival <= LONGEST))
        return BAD("%s is %.3g s after the first request; the limit is %.0g s", r->column[0].name,
                   arrival, LONGEST);
    trace->arrival[trace->n] = arrival;
done:
    return status;
}

static int take_measured(const spec_request_trace *trace, reader *r, spec_error *error)
{
    int status = GSL_SUCCESS, before = -1;
    for (int m = 0; m < MEASURED; m++) {
        if (r->time[m].name == NULL) continue;
        double *time = &r->measured[m][trace->n];
        SPEC_TRY(spec_record_lines_real(time, &r->records, r->time[m], error));
        if (before >= 0 && !(*time >= r->measured[before][trace->n]))
            return BAD("%s is before %s", measured_columns[m], measured_columns[before]);
        before = m;
    }
done:
    return status;
}

static int take_row(spec_request_trace *trace, reader *r, spec_error *error)
{
    int status = GSL_SUCCESS;
    if (r->records.json && json_object_get(r->records.object, "sub_requests") != NULL)
        return BAD("is a session with sub_requests: write its requests as lines of their own");
    SPEC_TRY(reserve(trace, r, error));
    SPEC_TRY(spec_record_lines_whole(&trace->output[trace->n], &r->records, r->column[2], 0,
                                     SPEC_LENGTH_MAX, error));
    if (trace->output[trace->n] == 0) {
        trace->failed++;
        return status;
    }
    SPEC_TRY(spec_record_lines_whole(&trace->prompt[trace->n], &r->records, r->column[1], 0,
                                     SPEC_LENGTH_MAX, error));
    SPEC_TRY(take_arrival(trace, r, error));
    SPEC_TRY(take_measured(trace, r, error));
    trace->n++;
done:
    return status;
}

/* ---- the file -------------------------------------------------------------------------------- */

int spec_request_trace_read(spec_request_trace *trace, FILE *file, const char *name,
                            spec_error *error)
{
    int status = GSL_SUCCESS;
    reader r = {0};
    *trace = (spec_request_trace){0};
    SPEC_TRY(spec_record_lines_init(&r.records, file, name, error));
    SPEC_TRY(choose_format(trace, &r, error));
    for (;;) {
        bool end;
        SPEC_TRY(spec_record_lines_next(&r.records, &end, error));
        if (end) break;
        SPEC_TRY(take_row(trace, &r, error));
    }
    if (trace->n == 0)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%.300s: no request%s", name,
                           trace->failed > 0 ? " with an output of 1 token or more" : ""));
done:
    spec_record_lines_free(&r.records);
    trace->queued = r.measured[0];
    trace->scheduled = r.measured[1];
    trace->first_token = r.measured[2];
    trace->last_token = r.measured[3];
    if (status != GSL_SUCCESS) spec_request_trace_free(trace);
    return status;
}

int spec_request_trace_load(spec_request_trace *trace, const char *path, spec_error *error)
{
    FILE *file;
    *trace = (spec_request_trace){0};
    int status = spec_input_file_stream(&file, path, error);
    if (status != GSL_SUCCESS) return status;
    status = spec_request_trace_read(trace, file, path, error);
    fclose(file);
    return status;
}

void spec_request_trace_free(spec_request_trace *trace)
{
    free(trace->arrival);
    free(trace->prompt);
    free(trace->output);
    free(trace->queued);
    free(trace->scheduled);
    free(trace->first_token);
    free(trace->last_token);
    *trace = (spec_request_trace){0};
}
