/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/bench/bench.h"
#include "tools/validate/traces/trace.h"
#include "tools/validate/traces/trace_write.h"

#include <stdlib.h>

enum { TOKENS = 20000 };

typedef struct {
    const char *fixture;
    spec_trace_contents contents;
} trace_setup;

typedef struct {
    char *text;
    size_t size;
} trace;

static void close_trace(void *state)
{
    trace *t = state;
    free(t->text);
    free(t);
}

static const char *open_trace(void **ret_state, const void *setup)
{
    const trace_setup *s = setup;
    const spec_fixture_kind *kind;
    trace *t = calloc(1, sizeof *t);
    FILE *file = t != NULL ? open_memstream(&t->text, &t->size) : NULL;
    *ret_state = t;
    if (file == NULL || spec_fixture_find(&kind, s->fixture, NULL) != GSL_SUCCESS) abort();
    const int status =
        spec_trace_write(file, "rule:token", kind, s->contents, TOKENS, 42, NULL, NULL);
    if (fclose(file) == 0 && status == GSL_SUCCESS) return NULL;
    close_trace(t);
    return "it could not be written";
}

static uint64_t judge(void *state, uint64_t n)
{
    const trace *t = state;
    uint64_t done = 0;
    while (done < n) {
        spec_validation v;
        FILE *file = fmemopen(t->text, t->size, "r");
        if (file == NULL || spec_trace_validate_file(&v, file, "", &SPEC_VALIDATE_PLAN_DEFAULT,
                                                     NULL) != GSL_SUCCESS)
            abort();
        fclose(file);
        done += v.draws;
        spec_validation_free(&v);
    }
    return done;
}

#define ROW(name, ...)                                                                             \
    .work = name, .unit = "records", .init = open_trace, .run = judge, .free = close_trace,        \
    .setup = &(const trace_setup)                                                                  \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

const spec_bench_row spec_bench_trace[] = {
    {ROW("log-probabilities alone", "plain-4", SPEC_TRACE_LOGPROBS), .asked = 200e3},
    {ROW("3 most probable tokens", "zipf-16", SPEC_TRACE_TOP),
     .yardstick = "row:log-probabilities alone"},
    {ROW("whole rows, V = 4", "plain-4", SPEC_TRACE_ROWS),
     .yardstick = "row:log-probabilities alone"},
    {ROW("whole rows, V = 64", "llm-64", SPEC_TRACE_ROWS),
     .yardstick = "row:log-probabilities alone"},
    {.work = NULL},
};
