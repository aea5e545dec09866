/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/bench/gpu/gpu_rows.h"

#include "base/build_info.h"
#include "base/clock.h"
#include "models/context.h"
#include "models/gpu/driver.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

enum { WARM = 3, LEAST = 5, TINY = 1, MOST = 200 };
static const double budget = 0.25; /* seconds */

static const char *const columns[] = {"what", "asked", "measured", "unit",
                                      "met",  "card",  "driver",   "speclab"};

int gpu_rows_init(gpu_rows *rows, const spec_backend *backend, const char *path, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_driver driver;
    *rows = (gpu_rows){.backend = backend};
    SPEC_TRY(spec_driver_load(&driver, &backend->opt_context->gpu, error));
    snprintf(rows->driver, sizeof rows->driver, "CUDA %d.%d", driver.version / 1000,
             driver.version % 1000 / 10);
    SPEC_TRY(backend->roofline(backend, &rows->roofline, error));
    SPEC_TRY(spec_table_init(&rows->table, columns, (int)(sizeof columns / sizeof columns[0])));
    if ((rows->out = fopen(path, "w")) == NULL)
        SPEC_TRY(spec_fail(error, GSL_EFAILED, "%s cannot be written", path));
    SPEC_TRY(spec_table_write_head(&rows->table, rows->out, error));
    printf("%s, driver for %s\n%-52s %12s %-8s %9s %s\n", backend->device, rows->driver, "what",
           "measured", "unit", "asked", "met");
done:
    if (status != GSL_SUCCESS) gpu_rows_free(rows);
    return status;
}

void gpu_rows_free(gpu_rows *rows)
{
    if (rows->out != NULL) fclose(rows->out);
    rows->out = NULL;
    spec_table_free(&rows->table);
}

int gpu_rows_add(gpu_rows *rows, gpu_wanted wanted, double asked, double measured, const char *unit,
                 const char *format, ...)
{
    int status = GSL_SUCCESS;
    char what[120], text[32] = "";
    const char *met = "";
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (wanted != GPU_TOLD) {
        const bool reached = wanted == GPU_AT_LEAST ? measured >= asked : measured <= asked;
        snprintf(text, sizeof text, "%s %g", wanted == GPU_AT_LEAST ? ">=" : "<=", asked);
        met = reached ? "yes" : "NO";
        rows->asked++;
        rows->reached += reached;
    }
    spec_table_clear(&rows->table);
    spec_table_text(&rows->table, "what", what);
    spec_table_text(&rows->table, "asked", text);
    spec_table_number(&rows->table, "measured", measured);
    spec_table_text(&rows->table, "unit", unit);
    spec_table_text(&rows->table, "met", met);
    spec_table_text(&rows->table, "card", rows->backend->device);
    spec_table_text(&rows->table, "driver", rows->driver);
    spec_table_text(&rows->table, "speclab", spec_build_info_version);
    SPEC_TRY(spec_table_append(&rows->table));
    SPEC_TRY(spec_table_write_row(&rows->table, 0, rows->out, &rows->error));
    printf("%-52s %12.4g %-8s %9s %s\n", what, measured, unit, text, met);
    if (fflush(stdout) != 0 || fflush(rows->out) != 0) status = GSL_EFAILED;
done:
    return status;
}

int gpu_median_seconds(double *ret, int (*run)(void *context, spec_error *error), void *context,
                       bool tiny, spec_error *error)
{
    int status = GSL_SUCCESS, n = 0;
    double seconds[MOST], all = 0.0;
    for (int i = 0; i < (tiny ? TINY : WARM); i++) SPEC_TRY(run(context, error));
    while (n < (tiny ? TINY : LEAST) || (!tiny && all < budget && n < MOST)) {
        const double begun = spec_clock_monotonic();
        SPEC_TRY(run(context, error));
        all += seconds[n++] = spec_clock_monotonic() - begun;
    }
    gsl_sort(seconds, 1, (size_t)n);
    *ret = gsl_stats_median_from_sorted_data(seconds, 1, (size_t)n);
done:
    return status;
}
