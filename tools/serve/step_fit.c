/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/serve/step_fit.h"

#include "base/stop_flag.h"
#include "speclab/no_memory.h"

#include <gsl/gsl_multimin.h>
#include <gsl/gsl_qrng.h>
#include <math.h>
#include <stdio.h>

enum { COSTS = 3, STEPS = 200, RESTARTS = 12, SCATTERED = 256, STARTS = 8 };
#define LARGE_ERROR 0.05
/* Times to first token and latencies grow with the queue, which depends only on the throughput;
 * times per token distinguish the three costs. */
static const double weight[SPEC_TIME_KINDS] = {
    [SPEC_TIME_FIRST_TOKEN] = 1.0, [SPEC_TIME_PER_TOKEN] = 10.0, [SPEC_TIME_LATENCY] = 1.0};

void spec_step_fit_spec(char ret_spec[SPEC_STEP_FIT_SPEC], const spec_affine_step *cost)
{
    snprintf(ret_spec, SPEC_STEP_FIT_SPEC, "affine?step=%.17gs&token=%.17gs&kv=%.17gs", cost->step,
             cost->token, cost->kv);
}

/* Returns a cost that roughly suits the measured times: the step takes half of the mean time per
 * token, and tokens and KV cache share the rest. */
static spec_affine_step start_of(const spec_step_fit_problem *problem)
{
    const spec_request_trace *trace = problem->trace;
    const double *const first = problem->measured->of[SPEC_TIME_FIRST_TOKEN];
    const double *const latency = problem->measured->of[SPEC_TIME_LATENCY];
    /* Over all requests: tokens; time from first to last token; that time multiplied by the mean
     * context during it. */
    double tokens = 0.0, outputs = 0.0, decoding = 0.0, contexts = 0.0, end = 0.0;
    for (int64_t i = 0; i < trace->n; i++) {
        const double time = latency[i] - first[i];
        tokens += trace->prompt[i] + trace->output[i];
        outputs += trace->output[i];
        decoding += time;
        contexts += time * (trace->prompt[i] + 0.5 * trace->output[i]);
        end = fmax(end, trace->arrival[i] + latency[i]);
    }
    const double step = decoding / outputs, steps = end / step;
    return (spec_affine_step){.step = 0.5 * step,
                              .token = 0.25 * step / (tokens / steps),
                              .kv = 0.25 * step / (contexts / end)};
}

/* ---- loss ------------------------------------------------------------------------------------ */

static double half_mean(const spec_step_fit_problem *problem, spec_time_kind kind)
{
    const spec_request_times *measured = problem->measured;
    double sum = 0.0, count = 0.0;
    for (int64_t i = 0; i < measured->n; i++)
        if (spec_request_split_first(problem->split, i, measured->n)) {
            sum += measured->of[kind][i];
            count++;
        }
    return sum / count;
}

static double robust(double error)
{
    const double d = LARGE_ERROR;
    return 2.0 * d * d * (sqrt(1.0 + error * error / (d * d)) - 1.0);
}

static double loss_of(const spec_step_fit_problem *problem, const spec_request_times *simulated)
{
    const spec_request_times *measured = problem->measured;
    double sum = 0.0, count = 0.0;
    for (int k = 0; k < SPEC_TIME_KINDS; k++) {
        const double scale = k == SPEC_TIME_PER_TOKEN ? NAN : half_mean(problem, k);
        for (int64_t i = 0; i < measured->n; i++) {
            const double time = measured->of[k][i];
            if (!spec_request_split_first(problem->split, i, measured->n) || !isfinite(time))
                continue;
            sum +=
                weight[k] * robust((simulated->of[k][i] - time) / (isfinite(scale) ? scale : time));
            count += weight[k];
        }
    }
    return sum / count;
}

int spec_step_fit_loss(double *ret_loss, const spec_step_fit_problem *problem,
                       const spec_affine_step *cost, spec_error *error)
{
    int status = GSL_SUCCESS;
    char spec[SPEC_STEP_FIT_SPEC];
    spec_step_cost *simulated_cost = NULL;
    spec_request_times simulated = {0};
    spec_serving_plan plan = problem->plan;
    *ret_loss = NAN;
    spec_step_fit_spec(spec, cost);
    SPEC_TRY(spec_step_cost_create(&simulated_cost, spec, NULL, error));
    plan.cost = simulated_cost;
    SPEC_TRY(spec_request_times_simulated(&simulated, &plan, problem->trace->n, error));
    *ret_loss = loss_of(problem, &simulated);
done:
    spec_request_times_free(&simulated);
    spec_step_cost_free(simulated_cost);
    return status;
}

/* ---- search ---------------------------------------------------------------------------------- */

typedef struct {
    const spec_step_fit_problem *problem;
    const volatile int *opt_stop;
    spec_error *error;
    int status; /* of the first loss that failed */
} search;

static spec_affine_step cost_at(const gsl_vector *logs)
{
    return (spec_affine_step){.step = exp(gsl_vector_get(logs, 0)),
                              .token = exp(gsl_vector_get(logs, 1)),
                              .kv = exp(gsl_vector_get(logs, 2))};
}

/* Returns infinity after a failure, and for costs without a finite loss. */
static double loss_with(search *s, const spec_affine_step *cost)
{
    double loss = NAN;
    if (s->status == GSL_SUCCESS) s->status = spec_stop_check(s->opt_stop, s->error);
    if (s->status == GSL_SUCCESS) s->status = spec_step_fit_loss(&loss, s->problem, cost, s->error);
    return isfinite(loss) ? loss : GSL_POSINF;
}

static double loss_at(const gsl_vector *logs, void *self)
{
    const spec_affine_step cost = cost_at(logs);
    return loss_with(self, &cost);
}

/* Runs one simplex of this size from x, and keeps the best cost. */
static int descend(spec_affine_step *best, double *best_loss, search *s, const spec_affine_step *x0,
                   double width)
{
    int status = GSL_SUCCESS;
    gsl_multimin_function f = {.f = loss_at, .n = COSTS, .params = s};
    gsl_multimin_fminimizer *simplex =
        gsl_multimin_fminimizer_alloc(gsl_multimin_fminimizer_nmsimplex2, COSTS);
    gsl_vector *size = gsl_vector_alloc(COSTS), *x = gsl_vector_alloc(COSTS);
    if (simplex == NULL || size == NULL || x == NULL) SPEC_TRY(spec_no_memory(s->error));
    gsl_vector_set_all(size, width);
    gsl_vector_set(x, 0, log(x0->step));
    gsl_vector_set(x, 1, log(x0->token));
    gsl_vector_set(x, 2, log(x0->kv));
    const int set = gsl_multimin_fminimizer_set(simplex, &f, x, size);
    SPEC_TRY(s->status);
    SPEC_TRY(set);
    for (int i = 0; i < STEPS && s->status == GSL_SUCCESS; i++) {
        if (gsl_multimin_fminimizer_iterate(simplex) != GSL_SUCCESS) break;
        if (gsl_multimin_fminimizer_size(simplex) < 1e-4) break;
    }
    SPEC_TRY(s->status);
    if (gsl_multimin_fminimizer_minimum(simplex) < *best_loss) {
        *best_loss = gsl_multimin_fminimizer_minimum(simplex);
        *best = cost_at(gsl_multimin_fminimizer_x(simplex));
    }
done:
    gsl_vector_free(size);
    gsl_vector_free(x);
    if (simplex != NULL) gsl_multimin_fminimizer_free(simplex);
    return status;
}

/* Finds the best costs of a quasi-random sequence. Costs of tokens and KV cache are within a factor
 * of 4 of the start. The step is within a factor of 1.9: at the upper end it is nearly all of the
 * time. */
static int scatter(spec_affine_step *ret_best, search *s, const spec_affine_step *start)
{
    int status = GSL_SUCCESS;
    double kept[STARTS];
    gsl_qrng *sequence = gsl_qrng_alloc(gsl_qrng_sobol, COSTS);
    if (sequence == NULL) SPEC_TRY(spec_no_memory(s->error));
    for (int i = 0; i < STARTS; i++) kept[i] = GSL_POSINF;
    for (int i = 0; i < SCATTERED; i++) {
        double u[COSTS];
        gsl_qrng_get(sequence, u);
        spec_affine_step cost = {.step = start->step * pow(1.9, 2.0 * u[0] - 1.0),
                                 .token = start->token * pow(4.0, 2.0 * u[1] - 1.0),
                                 .kv = start->kv * pow(4.0, 2.0 * u[2] - 1.0)};
        double worse = loss_with(s, &cost);
        SPEC_TRY(s->status);
        for (int k = 0; k < STARTS; k++) {
            if (!(worse < kept[k])) continue;
            const double pushed_loss = kept[k];
            const spec_affine_step pushed = ret_best[k];
            kept[k] = worse;
            ret_best[k] = cost;
            worse = pushed_loss;
            cost = pushed;
        }
    }
    if (!isfinite(kept[STARTS - 1]))
        SPEC_TRY(spec_fail(s->error, GSL_EINVAL,
                           "no cost fits: the time per token of a request, or the time to first "
                           "token of all, is 0"));
done:
    if (sequence != NULL) gsl_qrng_free(sequence);
    return status;
}

int spec_step_fit(spec_affine_step *ret_cost, double *ret_loss,
                  const spec_step_fit_problem *problem, const volatile int *opt_stop,
                  spec_error *error)
{
    int status = GSL_SUCCESS;
    search s = {.problem = problem, .opt_stop = opt_stop, .error = error};
    const spec_affine_step start = start_of(problem);
    spec_affine_step from[STARTS];
    double before = GSL_POSINF;
    *ret_cost = start;
    *ret_loss = GSL_POSINF;
    if (!(start.step > 0.0))
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "no request has time between its first and its last token"));
    SPEC_TRY(scatter(from, &s, &start));
    for (int i = 0; i < STARTS; i++) SPEC_TRY(descend(ret_cost, ret_loss, &s, &from[i], 0.1));
    /* The three costs can nearly replace each other, and the scheduler makes the loss rough. So a
     * simplex collapses early, and we continue with a new one. */
    for (int i = 0; i < RESTARTS && *ret_loss < 0.99 * before; i++) {
        from[0] = *ret_cost;
        before = *ret_loss;
        SPEC_TRY(descend(ret_cost, ret_loss, &s, &from[0], 0.05));
    }
done:
    return status;
}
