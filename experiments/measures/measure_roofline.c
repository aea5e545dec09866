/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"

#include "analysis/roofline.h"

#include <string.h>

/* Reads a known machine by name, or "custom" with given peak_flops and bandwidth. */
static int read_hardware(spec_hardware *ret, const spec_point *point, const spec_measure *measure,
                         spec_error *error)
{
    const char *name = spec_point_text(point, measure, "hardware");
    const spec_hardware *known = spec_hardware_find(name);
    int status = GSL_SUCCESS;
    *ret = (spec_hardware){.name = "custom", .source = ""};
    if (known != NULL) {
        *ret = *known;
    } else if (strcmp(name, "custom") == 0) {
        SPEC_TRY(spec_point_double(&ret->flops, point, measure, "peak_flops", 1.0, 1e30, error));
        SPEC_TRY(spec_point_double(&ret->bandwidth, point, measure, "bandwidth", 1.0, 1e30, error));
    } else {
        char meant[SPEC_HARDWARE_MEANT_SIZE];
        status = spec_fail(error, GSL_EINVAL,
                           "hardware: '%.60s' is not known%s; for another, hardware = "
                           "\"custom\" with peak_flops (FLOP/s) and bandwidth (bytes/s)",
                           name, spec_hardware_meant(meant, name));
    }
done:
    return status;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    spec_transformer_shape shape;
    spec_hardware hardware;
    double n_tokens, context;
    int status = GSL_SUCCESS;
    SPEC_TRY(read_hardware(&hardware, point, measure, error));
    SPEC_TRY(spec_point_double(&shape.parameters, point, measure, "parameters", 1.0, 1e18, error));
    SPEC_TRY(spec_point_double(&shape.bytes_per_weight, point, measure, "bytes_per_weight", 1e-3,
                               1e3, error));
    SPEC_TRY(spec_point_double(&shape.layers, point, measure, "layers", 0.0, 1e6, error));
    SPEC_TRY(spec_point_double(&shape.width, point, measure, "width", 0.0, 1e9, error));
    SPEC_TRY(spec_point_double(&shape.kv_bytes, point, measure, "kv_bytes", 0.0, 1e12, error));
    SPEC_TRY(spec_point_double(&n_tokens, point, measure, "n_tokens", 1.0, 1e9, error));
    SPEC_TRY(spec_point_double(&context, point, measure, "context", 0.0, 1e12, error));
    SPEC_TRY(spec_point_read(point));
    const double intensity = spec_roofline_intensity(&shape, n_tokens, context);
    const double seconds = spec_roofline_pass_time(&hardware, &shape, n_tokens, context);

    spec_table_number(table, "flops", spec_roofline_pass_flops(&shape, n_tokens, context));
    spec_table_number(table, "bytes", spec_roofline_pass_bytes(&shape, n_tokens, context));
    spec_table_number(table, "intensity", intensity);
    spec_table_number(table, "utilization", spec_roofline_utilization(&hardware, intensity));
    spec_table_number(table, "time_ms", 1e3 * seconds);
    spec_table_number(table, "tokens_per_s", n_tokens / seconds);
    spec_table_number(table, "ridge_tokens",
                      spec_roofline_ridge_tokens(&hardware, shape.bytes_per_weight));
done:
    return status;
}

static const char *const parameters[] = {
    "hardware=A100",      "peak_flops=", "bandwidth=", "parameters=7e9",
    "bytes_per_weight=2", "layers=0",    "width=0",    "kv_bytes=0",
    "n_tokens=1",         "context=0",   NULL};
static const char *const columns[] = {"flops",   "bytes",        "intensity",    "utilization",
                                      "time_ms", "tokens_per_s", "ridge_tokens", NULL};
static const spec_headline headlines[] = {{.column = "time_ms", .unit = "ms", .exact = true}, {0}};

const spec_measure spec_measure_roofline = {
    .name = "roofline",
    .summary = "the roofline of a pass of n tokens: FLOP, bytes, intensity and time",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .run = run,
};
