/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/serve/serving_rows.h"

#include "analysis/statistics/moments.h"
#include "sim/chance/rng.h"
#include "tools/serve/begun_requests.h"
#include "tools/serve/saturated_run.h"

#include <math.h>

const char *const spec_serving_state_names[] = {"steady", "over capacity", "not steady", "replay",
                                                "short"};

bool spec_serving_row_counts(const spec_serving_row *row)
{
    return row->state == SPEC_SERVING_STEADY || row->state == SPEC_SERVING_REPLAYED ||
           row->state == SPEC_SERVING_SHORT;
}

/* Most requests in all replications of a replayed trace; longer traces get fewer replications.
 * KEPT_MAX is the most requests of any other replication whose times are kept for percentiles. */
enum { REPLAYED_MAX = 1 << 23, KEPT_MAX = 1 << 17 };

/* ---- before the runs ------------------------------------------------------------------------- */

/* Returns the step that a request sees on average, E[Z t] / E[Z] for Z requests in a step of t. It
 * is longer than the average step, base / (1 - load), because longer steps have more requests. We
 * take Var[Z] = E[Z] / (1 - load), as for a branching process in which each request adds little. */
static double seen_step(const spec_serving_row *row, double base, double rate)
{
    return base / (1.0 - row->load) * (1.0 + row->load / (rate * row->rounds * base));
}

/* Computes capacity, load and relaxation, and judges whether to simulate. */
static int judge_load(spec_serving_row *row, const spec_serving_question *question,
                      const spec_serving_way *way, const spec_point *point, spec_error *error)
{
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_serving_theory_fill(&row->theory, question, way, error));
    double base = row->theory.base, most = INFINITY;
    row->rounds = row->theory.rounds;
    row->capacity = row->theory.capacity;
    if (isnan(row->capacity)) {
        spec_saturated_run run;
        const spec_step_work one = {
            .decode_tokens = way->K + 1, .drafted = way->K, .decoding = 1, .passes = way->K};
        SPEC_TRY(spec_saturated_run_capacity(&run, question, way,
                                             spec_rng_named_seed(point->seed, "saturated"),
                                             point->stop, error));
        row->capacity = run.capacity;
        row->rounds = run.rounds;
        most = run.step;
        base = spec_step_cost_target(question->cost, &one) +
               spec_step_cost_draft(question->cost, &one);
    }
    row->load = question->rate / row->capacity;
    if (question->load == SPEC_SERVING_REPLAY) {
        row->state = SPEC_SERVING_REPLAYED;
    } else if (row->load >= 1.0) {
        row->state = SPEC_SERVING_OVER;
    } else if (question->load == SPEC_SERVING_OPEN) {
        const double running = row->load * question->plan.slots;
        row->relaxation = !isnan(row->theory.relaxation)
                              ? row->theory.relaxation
                              : question->rate * row->rounds * base / pow(1.0 - row->load, 2);
        row->rounds = fmax(row->rounds, 1.0); /* outputs of one token have no rounds */
        row->step_guess = isnan(row->theory.latency) ? seen_step(row, base, question->rate)
                                                     : row->theory.latency / row->rounds;
        row->step_guess =
            fmin(fmin(row->step_guess, most), running / (question->rate * row->rounds));
    }
done:
    return status;
}

static int judge_loads(spec_serving_rows *rows, uint64_t *ret_warm,
                       const spec_serving_question *question, const spec_point *point,
                       spec_error *error)
{
    int status = GSL_SUCCESS;
    double warm = (double)question->warm;
    for (int i = 0; i < rows->n; i++) {
        SPEC_TRY(judge_load(&rows->row[i], question, &question->choices.way[i], point, error));
        if (!question->warm_given) warm = fmax(warm, 5.0 * rows->row[i].relaxation);
    }
    if (!question->warm_given) warm = fmin(warm, SPEC_SERVING_WARM_MAX);
    for (int i = 0; i < rows->n; i++)
        if (warm < 3.0 * rows->row[i].relaxation) rows->row[i].state = SPEC_SERVING_UNSTEADY;
    *ret_warm = (uint64_t)warm;
done:
    return status;
}

/* ---- the runs -------------------------------------------------------------------------------- */

/* Computes quantiles and the share that meets the objectives, then frees the times. */
static void summarise(spec_serving_row *row, const spec_slo *slo)
{
    spec_replications *runs = &row->runs;
    row->slo_share = spec_slo_limits(slo) ? spec_slo_share(slo, runs) : NAN;
    float *const times[] = {runs->first_token, runs->per_token, runs->latency};
    double *const quantile[] = {row->first_token, row->per_token, row->latency};
    for (int q = 0; q < SPEC_SERVING_QUANTILES; q++) {
        const double at = spec_serving_quantiles[q];
        for (int k = 0; k < 3; k++)
            quantile[k][q] = spec_replications_quantile(times[k], runs->kept, at);
    }
    spec_log_histogram_quantiles(row->batch, spec_serving_quantiles, SPEC_SERVING_QUANTILES,
                                 runs->batches, runs->n);
    spec_log_histogram_quantiles(row->step, spec_serving_quantiles, SPEC_SERVING_QUANTILES,
                                 runs->step_times, runs->n);
    spec_replications_drop_times(runs);
}

/* Returns the total latency of the measured requests, divided by the time that requests spent in
 * the system during the measured part. By Little's law this is 1 in a stationary engine. */
static double little(const void *self, const spec_serving_sums *sums)
{
    (void)self;
    return sums->latency / sums->in_system;
}

static int replications(const spec_serving_question *question)
{
    if (question->load != SPEC_SERVING_REPLAY) return SPEC_REPLICATIONS;
    const int64_t most = REPLAYED_MAX / question->trace.n;
    return most < 2 ? 2 : most < SPEC_REPLICATIONS ? (int)most : SPEC_REPLICATIONS;
}

/* Returns the time that a token of context adds to a request's step. */
static double kv_time(const spec_serving_question *question, const spec_serving_way *way,
                      double context)
{
    const spec_step_cost *cost = question->cost;
    spec_step_work one = {
        .decode_tokens = way->K + 1, .drafted = way->K, .decoding = 1, .passes = way->K};
    const double without = spec_step_cost_target(cost, &one) + spec_step_cost_draft(cost, &one);
    one.kv_tokens = 1 + (int64_t)context;
    return fmax(0.0,
                spec_step_cost_target(cost, &one) + spec_step_cost_draft(cost, &one) - without) /
           (double)one.kv_tokens;
}

/* Returns the requests that a method's engine has under way after running for long. */
static spec_begun_requests begun_of(const spec_serving_row *row,
                                    const spec_serving_question *question,
                                    const spec_serving_way *way)
{
    static const spec_step_work one = {.decode_tokens = 1, .decoding = 1};
    const double output = spec_requests_mean_output(&question->requests),
                 unit = spec_step_cost_target(question->cost, &one);
    spec_begun_requests begun = {.inner = question->plan.requests,
                                 .by_length = spec_requests_source(&question->by_length),
                                 .step = 1.0,
                                 .K = way->K};
    if (!way->fixed || question->process.kind != SPEC_PROCESS_IID)
        begun.tokens = fmax(1.0, output / row->rounds);
    begun.context = spec_requests_mean_context(&question->requests);
    begun.most_context = spec_requests_most_context(&question->requests);
    double step = row->step_guess;
    if (question->load == SPEC_SERVING_CLOSED) {
        begun.slots = question->plan.slots;
        step = question->plan.slots / (row->capacity * row->rounds);
    } else {
        begun.mean = question->rate * output * unit;
        begun.step = row->step_guess / unit;
    }
    if (step > 0.0)
        begun.growth = fmin(kv_time(question, way, begun.context) / step, 0.9 / begun.context);
    return begun;
}

static int simulate(spec_serving_row *row, const spec_serving_question *question,
                    const spec_serving_way *way, uint64_t warm, const spec_point *point,
                    spec_error *error)
{
    spec_serving_plan plan = spec_serving_question_plan(question, way);
    const spec_begun_requests begun = begun_of(row, question, way);
    if (question->load != SPEC_SERVING_REPLAY) plan.requests = spec_begun_requests_source(&begun);
    plan.warm = warm;
    plan.measured = question->measured;
    plan.keep_every =
        question->load == SPEC_SERVING_REPLAY ? 1 : 1 + (plan.measured - 1) / KEPT_MAX;
    const spec_replications_plan how = {.n = replications(question),
                                        .seed = point->seed,
                                        .opt_pool = spec_context_pool(point->opt_context),
                                        .opt_stop = point->stop};
    const int status = spec_replications_run(&row->runs, &plan, &how, error);
    if (status != GSL_SUCCESS) return status;
    summarise(row, &question->slo);
    if (row->state == SPEC_SERVING_REPLAYED) return status;
    row->drift_z = spec_replications_drift(&row->runs);
    const spec_estimate ratio = spec_replications_estimate(&row->runs, little, NULL);
    row->little_z = spec_moments_z(ratio.mean, 1.0, ratio.se > 0.0 ? ratio.se : NAN, ratio.df);
    if (2 * row->runs.grew > row->runs.n || fabs(row->drift_z) > SPEC_SERVING_DRIFT_Z ||
        (question->load == SPEC_SERVING_OPEN && fabs(row->little_z) > SPEC_SERVING_DRIFT_Z))
        row->state = SPEC_SERVING_UNSTEADY;
    else if (question->measured < question->enough)
        row->state = SPEC_SERVING_SHORT;
    return status;
}

static int compare(spec_serving_rows *rows, const spec_serving_question *question,
                   const spec_point *point, spec_error *error)
{
    const spec_replications *of[SPEC_SERVING_WAYS];
    spec_paired_plan paired[SPEC_SERVING_WAYS];
    bool fixed[SPEC_SERVING_WAYS];
    for (int i = 0; i < rows->n; i++) {
        of[i] = spec_serving_row_counts(&rows->row[i]) ? &rows->row[i].runs : NULL;
        fixed[i] = question->choices.way[i].fixed;
    }
    const int status = spec_paired_latency(paired, &rows->best, of, fixed, rows->n,
                                           question->choices.plain, point->seed, error);
    for (int i = 0; i < rows->n && status == GSL_SUCCESS; i++) rows->row[i].paired = paired[i];
    return status;
}

int spec_serving_rows_run(spec_serving_rows *rows, const spec_serving_question *question,
                          const spec_point *point, spec_error *error)
{
    uint64_t warm;
    int status = GSL_SUCCESS;
    *rows = (spec_serving_rows){.n = question->choices.n, .best = -1};
    for (int i = 0; i < rows->n; i++) rows->row[i].drift_z = rows->row[i].little_z = NAN;
    SPEC_TRY(judge_loads(rows, &warm, question, point, error));
    for (int i = 0; i < rows->n; i++) {
        if (spec_serving_row_counts(&rows->row[i]))
            SPEC_TRY(
                simulate(&rows->row[i], question, &question->choices.way[i], warm, point, error));
        spec_listener_tell(point->opt_listener, (i + 1.0) / rows->n);
    }
    SPEC_TRY(compare(rows, question, point, error));
done:
    return status;
}

void spec_serving_rows_free(spec_serving_rows *rows)
{
    for (int i = 0; i < rows->n; i++) spec_replications_free(&rows->row[i].runs);
    *rows = (spec_serving_rows){.best = -1};
}
