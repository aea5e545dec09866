/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/pass_costs.h"

#include "analysis/cost_curve.h"
#include "experiments/measures/measures.h"
#include "experiments/measures/plan_files.h"
#include "speclab/no_memory.h"
#include "tools/bench/timing_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int allocate(spec_pass_costs *costs, size_t n, spec_error *error)
{
    *costs = (spec_pass_costs){.c = NAN, .alpha = NAN};
    costs->width = malloc(n * sizeof *costs->width);
    costs->time = malloc(n * sizeof *costs->time);
    return costs->width != NULL && costs->time != NULL ? GSL_SUCCESS : spec_no_memory(error);
}

static void add(spec_pass_costs *costs, int width, double time)
{
    costs->width[costs->n] = width;
    costs->time[costs->n++] = time;
}

static int take_nodes(spec_pass_costs *costs, const spec_table *table, const char *path,
                      spec_error *error)
{
    const int at = spec_table_column(table, "nodes"), cost = spec_table_column(table, "time");
    int status = GSL_SUCCESS;
    if (at < 0 || cost < 0)
        SPEC_TRY(spec_fail(
            error, GSL_EINVAL,
            "%s: neither a result of bench nor a table with columns 'nodes' and 'time'", path));
    SPEC_TRY(allocate(costs, table->n_rows + 1, error));
    add(costs, 1, 1.0);
    for (size_t row = 0; row < table->n_rows; row++) {
        const double n = spec_cell_number(spec_table_cell(table, row, at));
        const double time = spec_cell_number(spec_table_cell(table, row, cost));
        if (!(time > 0.0) || isinf(time) || !(n >= 0.0 && n <= 1e9) || n != floor(n))
            SPEC_TRY(spec_fail(error, GSL_EINVAL,
                               "%s: row %zu: give a number of nodes and a time above 0", path,
                               row + 1));
        if (row == 0 && n == 0.0) {
            if (time == 1.0) continue;
            SPEC_TRY(spec_fail(error, GSL_EINVAL,
                               "%s: verifying no tokens must take 1 plain target call, but takes "
                               "%g; divide all times by that number",
                               path, time));
        }
        if ((int)n + 1 <= costs->width[costs->n - 1])
            SPEC_TRY(
                spec_fail(error, GSL_EINVAL, "%s: row %zu: the nodes must ascend", path, row + 1));
        add(costs, (int)n + 1, time);
    }
done:
    return status;
}

static int take_bench(spec_pass_costs *costs, const spec_table *table, const char *path,
                      spec_error *error)
{
    spec_timing_result *result = malloc(sizeof *result);
    int status = GSL_SUCCESS;
    if (result == NULL) SPEC_TRY(spec_no_memory(error));
    SPEC_TRY(spec_timing_result_init(result, table, path, error));
    SPEC_TRY(allocate(costs, (size_t)result->n_passes, error));
    costs->of_bench = true;
    costs->c = result->has_draft ? result->c : 0.0;
    costs->alpha = result->alpha;
    spec_timing_result_warning(costs->warning, sizeof costs->warning, result);
    for (int i = 0; i < result->n_passes; i++) {
        const spec_cell *ratio = spec_table_cell(table, result->pass_row[i],
                                                 spec_table_column(table, "target_pass_ratio"));
        const double time = i == 0 ? 1.0 : spec_cell_number(ratio);
        if (time >= 1.0 && time <= 1e9) add(costs, result->width[i], time);
        else if (!isnan(time))
            SPEC_TRY(spec_fail(error, GSL_EINVAL,
                               "%s: row %zu: 'target_pass_ratio' is out of its range", path,
                               result->pass_row[i] + 1));
    }
done:
    free(result);
    return status;
}

int spec_pass_costs_read(spec_pass_costs *costs, const char *path, spec_error *error)
{
    spec_table table = {0};
    int status = GSL_SUCCESS;
    *costs = (spec_pass_costs){0};
    if (strcmp(path, "none") == 0) return GSL_SUCCESS;
    SPEC_TRY(spec_plan_read_table(&table, path, error));
    SPEC_TRY(spec_table_column(&table, "target_pass_ratio") >= 0
                 ? take_bench(costs, &table, path, error)
                 : take_nodes(costs, &table, path, error));
done:
    spec_table_free(&table);
    if (status != GSL_SUCCESS) spec_pass_costs_free(costs);
    return status;
}

void spec_pass_costs_free(spec_pass_costs *costs)
{
    free(costs->width);
    free(costs->time);
    *costs = (spec_pass_costs){0};
}

double spec_pass_costs_time(const spec_pass_costs *costs, int width)
{
    const spec_cost_curve curve = {costs->n, costs->width, costs->time};
    return costs->n > 0 && width <= costs->width[costs->n - 1] ? spec_cost_curve_time(&curve, width)
                                                               : NAN;
}

int spec_pass_costs_of_point(spec_pass_costs *costs, double *ret_c, const spec_point *point,
                             const spec_measure *measure, spec_error *error)
{
    const char *path = spec_point_text(point, measure, "costs");
    int status = GSL_SUCCESS;
    *costs = (spec_pass_costs){0};
    if (path[0] != '\0')
        SPEC_TRY(spec_point_blame(spec_pass_costs_read(costs, path, error), "costs", error));
    if (!costs->of_bench || spec_grid_axis(point->grid, "c") != NULL)
        SPEC_TRY(spec_point_double(ret_c, point, measure, "c", 0.0, 1e6, error));
    else if (isnan(*ret_c = costs->c))
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "c: %.200s reports no c: give one", path));
done:
    if (status != GSL_SUCCESS) spec_pass_costs_free(costs);
    return status;
}
