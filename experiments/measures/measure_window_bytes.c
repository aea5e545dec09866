/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"

#include "analysis/roofline.h"
#include "analysis/speedup.h"

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    double alpha, weight_bytes, kv_bytes, batch, context, window, sink;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_point_double(&alpha, point, measure, "alpha", 0.0, 1.0, error));
    SPEC_TRY(spec_point_double(&weight_bytes, point, measure, "weight_bytes", 1.0, 1e18, error));
    SPEC_TRY(spec_point_double(&kv_bytes, point, measure, "kv_bytes", 0.0, 1e12, error));
    SPEC_TRY(spec_point_double(&batch, point, measure, "batch", 1.0, 1e6, error));
    SPEC_TRY(spec_point_double(&context, point, measure, "context", 0.0, 1e12, error));
    SPEC_TRY(spec_point_double(&window, point, measure, "window", 1.0, 1e12, error));
    SPEC_TRY(spec_point_double(&sink, point, measure, "sink", 0.0, 1e12, error));
    SPEC_TRY(spec_point_read(point));
    const double weights = weight_bytes / batch, read = window + sink;
    const double c = spec_roofline_window_cost(weights, kv_bytes, read, context);
    spec_table_number(table, "c", c);
    spec_table_number(table, "best_K", spec_speedup_best_K(alpha, c));
    spec_table_number(table, "best_speedup", spec_speedup_best(alpha, c));
    spec_table_number(table, "gains_from",
                      spec_roofline_window_context(alpha, weights, kv_bytes, read));
done:
    return status;
}

static const char *const parameters[] = {
    "alpha=0.8", "weight_bytes=16.06e9", "kv_bytes=131072", "batch=1",
    "context",   "window=512",           "sink=4",          NULL};
static const char *const columns[] = {"c", "best_K", "best_speedup", "gains_from", NULL};
static const spec_headline headlines[] = {{.column = "best_speedup", .exact = true}, {0}};
static const spec_assumption assumes[] = {{"alpha", NULL, NULL, NULL, NULL},
                                          {NULL, NULL, NULL, NULL, NULL}};

const spec_measure spec_measure_window_bytes = {
    .name = "window_bytes",
    .summary = "a draft with a window: its cost in bytes, and the context from which it gains",
    .parameters = parameters,
    .assumes = assumes,
    .columns = columns,
    .headlines = headlines,
    .run = run,
};
