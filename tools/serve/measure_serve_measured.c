/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"
#include "sim/serving/requests/requests.h"
#include "speclab/no_memory.h"
#include "tools/serve/step_fit.h"

#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How far a prediction may be off: for means, and for 99 % quantiles. */
#define MEAN_ERROR 0.03
#define TAIL_ERROR 0.05

static const double levels[] = {NAN, 0.01, 0.05, 0.1, 0.2, 0.3,  0.4,
                                0.5, 0.6,  0.7,  0.8, 0.9, 0.95, 0.99}; /* NAN: the mean */
enum { LEVELS = sizeof levels / sizeof *levels, ROWS = 2 * SPEC_TIME_KINDS * LEVELS };

typedef struct {
    const char *cost; /* "fit", or a spec */
    spec_request_trace trace;
    spec_requests requests;
    spec_length_choice *plain;
    spec_request_times measured, simulated;
    spec_step_fit_problem problem;
    spec_affine_step fitted; /* zero if the cost is given */
    double loss;
    spec_step_cost *given;
} comparison;

/* ---- the engine ------------------------------------------------------------------------------ */

static int read_plan(comparison *c, const spec_point *point, const spec_measure *measure,
                     spec_error *error)
{
    enum { MOST = 1 << 30 };
    spec_serving_plan *plan = &c->problem.plan;
    int status = GSL_SUCCESS, budget, blocks, asynchronous;
    *plan = (spec_serving_plan){.measured = UINT64_MAX, .keep_every = 1};
    SPEC_TRY(spec_point_int(&plan->slots, point, measure, "batch", 1, MOST, error));
    SPEC_TRY(spec_point_int(&budget, point, measure, "budget", 0, MOST, error));
    SPEC_TRY(spec_point_int(&blocks, point, measure, "blocks", 0, MOST, error));
    SPEC_TRY(spec_point_int(&plan->block, point, measure, "block", 1, MOST, error));
    SPEC_TRY(spec_point_int(&asynchronous, point, measure, "asynchronous", 0, 1, error));
    plan->asynchronous = asynchronous == 1;
    plan->budget = budget;
    plan->blocks = blocks;
    c->cost = spec_point_text(point, measure, "cost");
    const char *split = spec_point_text(point, measure, "split");
    if (strcmp(split, "alternate") != 0 && strcmp(split, "time") != 0)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "split: '%.60s' is not alternate or time", split));
    c->problem.split = strcmp(split, "time") == 0 ? SPEC_SPLIT_TIME : SPEC_SPLIT_ALTERNATE;
    if (strcmp(c->cost, "fit") != 0)
        SPEC_TRY(spec_point_blame(spec_step_cost_create(&c->given, c->cost, NULL, error), "cost",
                                  error));
done:
    return status;
}

static int read_trace(comparison *c, const char *path, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_serving_plan *plan = &c->problem.plan;
    SPEC_TRY(spec_request_trace_load(&c->trace, path, error));
    if (c->trace.failed > 0)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "%s: %lld requests failed, and engines differ there",
                           path, (long long)c->trace.failed));
    SPEC_TRY(spec_request_times_measured(&c->measured, &c->trace, error));
    c->requests = (spec_requests){
        .arrivals = {.kind = SPEC_ARRIVALS_TRACE}, .speed = 1.0, .opt_trace = &c->trace};
    SPEC_TRY(spec_requests_check(&c->requests, error));
    SPEC_TRY(spec_length_choice_create(&c->plain, "fixed?K=0", NULL, error));
    plan->requests = spec_requests_source(&c->requests);
    plan->lengths = c->plain;
    c->problem.trace = &c->trace;
    c->problem.measured = &c->measured;
done:
    return status;
}

static int simulate(comparison *c, const volatile int *opt_stop, spec_error *error)
{
    int status = GSL_SUCCESS;
    spec_serving_plan plan = c->problem.plan;
    if (c->given == NULL) {
        char spec[SPEC_STEP_FIT_SPEC];
        SPEC_TRY(spec_step_fit(&c->fitted, &c->loss, &c->problem, opt_stop, error));
        spec_step_fit_spec(spec, &c->fitted);
        SPEC_TRY(spec_step_cost_create(&c->given, spec, NULL, error));
    }
    plan.cost = c->given;
    SPEC_TRY(spec_request_times_simulated(&c->simulated, &plan, c->trace.n, error));
done:
    return status;
}

static void free_comparison(comparison *c)
{
    spec_request_trace_free(&c->trace);
    spec_request_times_free(&c->measured);
    spec_request_times_free(&c->simulated);
    spec_length_choice_free(c->plain);
    spec_step_cost_free(c->given);
}

/* ---- the table ------------------------------------------------------------------------------- */

static double statistic(const double *sorted, int64_t n, double level)
{
    if (n == 0) return NAN;
    return isnan(level) ? gsl_stats_mean(sorted, 1, (size_t)n)
                        : gsl_stats_quantile_from_sorted_data(sorted, 1, (size_t)n, level);
}

/* Returns the verdict. The fitted half and costs from data sheets get no verdict; nor does a fit to
 * the first half of a run, which has not seen how the run ends. */
static const char *verdict(const comparison *c, bool fitted_half, double level, double error)
{
    if (c->fitted.step == 0.0 || fitted_half || c->problem.split == SPEC_SPLIT_TIME) return NULL;
    if (isnan(level)) return fabs(error) <= MEAN_ERROR ? "within 3 %" : "NOT within 3 %";
    if (level != 0.99) return NULL;
    return fabs(error) <= TAIL_ERROR ? "within 5 %" : "NOT within 5 %";
}

static void write_row(spec_table *table, const comparison *c, bool fitted_half, spec_time_kind kind,
                      double level, const double *value)
{
    const double error = value[1] / value[0] - 1.0;
    const bool fits = c->fitted.step > 0.0;
    spec_table_text(table, "half",
                    !fits         ? (fitted_half ? "first" : "second")
                    : fitted_half ? "fitted"
                                  : "predicted");
    spec_table_text(table, "time", spec_time_names[kind]);
    spec_table_text(table, "statistic", isnan(level) ? "mean" : "quantile");
    spec_table_number(table, "level", level);
    spec_table_number(table, "measured_ms", 1e3 * value[0]);
    spec_table_number(table, "simulated_ms", 1e3 * value[1]);
    spec_table_number(table, "error", error);
    spec_table_number(table, "step_ms", fits ? 1e3 * c->fitted.step : NAN);
    spec_table_number(table, "token_us", fits ? 1e6 * c->fitted.token : NAN);
    spec_table_number(table, "kv_ns", fits ? 1e9 * c->fitted.kv : NAN);
    spec_table_number(table, "loss", fits ? c->loss : NAN);
    const char *text = verdict(c, fitted_half, level, error);
    if (text != NULL) spec_table_text(table, "verdict", text);
}

/* Writes the rows for one half of the requests and one kind of time. */
static int write_times(spec_table *table, const comparison *c, bool fitted_half,
                       spec_time_kind kind, bool last, spec_error *error)
{
    int status = GSL_SUCCESS;
    int64_t n[2];
    double *sorted[2] = {NULL, NULL};
    const spec_request_times *const times[] = {&c->measured, &c->simulated};
    for (int i = 0; i < 2; i++) {
        sorted[i] = spec_request_times_sorted(&n[i], times[i], kind, c->problem.split, fitted_half);
        if (sorted[i] == NULL) SPEC_TRY(spec_no_memory(error));
    }
    for (int k = 0; k < LEVELS; k++) {
        const double value[] = {statistic(sorted[0], n[0], levels[k]),
                                statistic(sorted[1], n[1], levels[k])};
        write_row(table, c, fitted_half, kind, levels[k], value);
        if ((!last || k < LEVELS - 1) && spec_table_append(table) != GSL_SUCCESS)
            SPEC_TRY(spec_no_memory(error));
    }
done:
    free(sorted[0]);
    free(sorted[1]);
    return status;
}

static int count_rows(uint64_t *ret_rows, const spec_point *point, const spec_measure *measure,
                      spec_error *error)
{
    (void)point;
    (void)measure;
    (void)error;
    *ret_rows = ROWS;
    return GSL_SUCCESS;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    int status = GSL_SUCCESS;
    comparison c = {0};
    SPEC_TRY(read_plan(&c, point, measure, error));
    SPEC_TRY(spec_point_read(point));
    SPEC_TRY(spec_point_blame(read_trace(&c, spec_point_text(point, measure, "trace"), error),
                              "trace", error));
    SPEC_TRY(simulate(&c, point->stop, error));
    for (int half = 0; half < 2; half++)
        for (int kind = 0; kind < SPEC_TIME_KINDS; kind++)
            SPEC_TRY(write_times(table, &c, half == 0, (spec_time_kind)kind,
                                 half == 1 && kind == SPEC_TIME_KINDS - 1, error));
done:
    free_comparison(&c);
    return status;
}

static const char *const parameters[] = {"trace",     "cost=fit",       "split=alternate",
                                         "batch=256", "budget=0",       "blocks=0",
                                         "block=16",  "asynchronous=0", NULL};
static const char *const columns[] = {
    "half",     "time",  "statistic", "level",   "measured_ms", "simulated_ms", "error", "step_ms",
    "token_us", "kv_ns", "loss",      "verdict", NULL};
static const char *const checked[] = {"verdict", NULL};
static const char *const keys[] = {"half", "time", "statistic", "level", NULL};
static const spec_headline headlines[] = {{.column = "error"}, {0}};

const spec_measure spec_measure_serve_measured = {
    .name = "serve_measured",
    .summary = "request times that an engine measured, compared with those of a simulated engine "
               "whose step cost was fitted to half of them",
    .parameters = parameters,
    .columns = columns,
    .checked = checked,
    .headlines = headlines,
    .keys = keys,
    .rows = count_rows,
    .run = run,
};
