/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/stop_flag.h"
#include "experiments/measures/measures.h"
#include "speclab/no_memory.h"

#include "base/parallel.h"
#include "experiments/measures/coverage.h"
#include "sim/serving/step_cost.h"
#include "tools/advise/advised_logs.h"

#include <math.h>
#include <stdlib.h>

enum { REPETITIONS = 200, REPETITIONS_MAX = 10000000, LENGTHS = SPEC_COUNTED_K + 1 };

/* ---- the printed numbers --------------------------------------------------------------------- */

/* Which lengths a number covers: those that were run, and others below or above the longest of
 * them. */
enum { RUN = 1, BELOW = 2, ABOVE = 4 };

/* The limits of the counters at one length, and at the lengths that were run. */
typedef struct {
    spec_counter_limits at, plain, run[3];
    int K, n, depths[3]; /* (n) K of run */
} truth;

static double true_alpha(const truth *t)
{
    return t->at.alpha;
}

static double true_tokens(const truth *t)
{
    return 1.0 + t->at.accepted;
}

/* Returns the true conditional acceptance. Every run that reaches the depth covers the same length
 * of time. */
static double true_conditional(const truth *t)
{
    double passes = 0.0, tests = 0.0;
    for (int i = 0; i < t->n; i++) {
        if (t->depths[i] < t->K) continue;
        passes += t->run[i].passes[t->K] / t->run[i].step;
        tests += t->run[i].tests[t->K] / t->run[i].step;
    }
    return passes / tests;
}

static double true_time(const truth *t)
{
    return t->at.step / t->plain.step;
}

static double true_speedup(const truth *t)
{
    return t->at.tokens_per_s / t->plain.tokens_per_s;
}

/* Column names begin with `name`; in the advice's own table they begin with `printed`. */
static const struct {
    const char *name, *printed;
    int where;
    double (*value)(const truth *t);
} numbers[] = {
    {"alpha", "alpha_tested", RUN, true_alpha},
    {"tokens", "tokens_per_round", RUN, true_tokens},
    {"shorter", "tokens_per_round", BELOW, true_tokens},
    {"longer", "tokens_per_round", ABOVE, true_tokens},
    {"conditional", "conditional", RUN | BELOW, true_conditional},
    {"time", "round_over_plain", RUN, true_time},
    {"times", "round_over_plain", BELOW | ABOVE, true_time},
    {"speedup", "speedup", RUN, true_speedup},
    {"speedups", "speedup", BELOW | ABOVE, true_speedup},
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

typedef struct {
    spec_counted_case truth;
    spec_counted_run run[3]; /* the longest draft first */
    int n;
    int where[LENGTHS]; /* 0: the length is not considered */
    double value[NUMBERS][LENGTHS];
    const spec_point *point;
} question;

/* One repetition. NaN: no interval is printed. */
typedef struct {
    int status;
    spec_error error;
    float held[NUMBERS][LENGTHS], half_width[NUMBERS][LENGTHS];
    double drift_p;
} repetition;

/* ---- one repetition -------------------------------------------------------------------------- */

/* The truth may lie exactly on the end of a range that is known without error. */
static const double SLACK = 1e-9;

static void hold(repetition *r, const spec_advised *advised, const question *q, int number, int K)
{
    const double value = q->value[number][K];
    const spec_advised_interval i =
        spec_advised_interval_of(advised, spec_advised_row(advised, K), numbers[number].printed);
    const bool interval = i.low < i.high;
    r->held[number][K] =
        interval ? (float)spec_coverage_holds(i.low * (1.0 - SLACK), i.high * (1.0 + SLACK), value)
                 : NAN;
    r->half_width[number][K] = interval ? (float)(0.5 * (i.high - i.low) / value) : NAN;
}

static int repeat(repetition *r, const question *q, uint64_t number)
{
    spec_advised advised = {.K = -1};
    spec_counted_run run[3];
    int status = GSL_SUCCESS;
    for (int i = 0; i < q->n; i++) {
        run[i] = q->run[i];
        run[i].stream = 3 * number + (uint64_t)i;
    }
    SPEC_TRY(spec_advised_case(&advised, &q->truth, run, q->n, q->point->seed + number, &r->error));
    for (int i = 0; i < NUMBERS; i++)
        for (int K = 1; K < LENGTHS; K++)
            if ((q->where[K] & numbers[i].where) != 0) hold(r, &advised, q, i, K);
    r->drift_p = advised.drift_p;
done:
    spec_advised_free(&advised);
    return status;
}

typedef struct {
    const question *q;
    repetition *r;
} job;

static void run_repetition(void *self, uint64_t i, int worker)
{
    const job *j = self;
    (void)worker;
    const volatile int *stop = j->q->point->stop;
    if (spec_stop_is_set(stop)) return;
    j->r[i].status = repeat(&j->r[i], j->q, i);
}

/* ---- columns --------------------------------------------------------------------------------- */

typedef struct {
    double held, half_width, n; /* n: intervals */
} coverage;

static coverage coverage_of(const repetition *r, uint64_t n, int number, int K)
{
    coverage ret = {0};
    for (uint64_t k = 0; k < n; k++) {
        if (isnan(r[k].held[number][K])) continue;
        ret.held += (double)r[k].held[number][K];
        ret.half_width += (double)r[k].half_width[number][K];
        ret.n++;
    }
    ret.held /= ret.n;
    ret.half_width /= ret.n;
    return ret;
}

/* Fills in the length with the lowest coverage. */
static void fill_number(spec_table *table, const question *q, const repetition *r, uint64_t n,
                        int number)
{
    coverage worst = {.held = NAN, .half_width = NAN};
    int at = -1;
    char column[64];
    for (int K = 1; K < LENGTHS; K++) {
        if ((q->where[K] & numbers[number].where) == 0) continue;
        const coverage c = coverage_of(r, n, number, K);
        if (c.n == 0.0 || (at >= 0 && c.held >= worst.held)) continue;
        worst = c;
        at = K;
    }
    snprintf(column, sizeof column, "%s_held", numbers[number].name);
    spec_table_number(table, column, worst.held);
    snprintf(column, sizeof column, "%s_held_z", numbers[number].name);
    spec_table_number(table, column,
                      spec_coverage_z_between(worst.held, SPEC_COVERAGE_LOW, 1.0, worst.n));
    snprintf(column, sizeof column, "%s_half_width", numbers[number].name);
    spec_table_number(table, column, worst.half_width);
    snprintf(column, sizeof column, "%s_true", numbers[number].name);
    spec_table_number(table, column, at >= 0 ? q->value[number][at] : NAN);
    snprintf(column, sizeof column, "%s_K", numbers[number].name);
    if (at >= 0) spec_table_integer(table, column, at);
}

static void fill(spec_table *table, const question *q, const repetition *r, uint64_t n)
{
    double alarms = 0.0;
    for (uint64_t k = 0; k < n; k++) alarms += r[k].drift_p <= SPEC_COVERAGE_ERROR;
    for (int i = 0; i < NUMBERS; i++) fill_number(table, q, r, n, i);
    spec_table_number(table, "drift_alarms", alarms / (double)n);
}

/* ---- the measure ----------------------------------------------------------------------------- */

static int read_cost(spec_affine_step *ret, const spec_point *point, const spec_measure *measure,
                     spec_error *error)
{
    spec_step_cost *cost = NULL;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_point_step_cost(&cost, point, measure, error));
    const spec_affine_step *affine = spec_step_cost_affine(cost);
    if (affine == NULL)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "cost: must be affine, such as step=10ms,token=1ms"));
    *ret = *affine;
done:
    spec_step_cost_free(cost);
    return status;
}

static int read_case(spec_counted_case *c, const spec_point *point, const spec_measure *measure,
                     spec_error *error)
{
    int status = GSL_SUCCESS;
    double alpha;
    spec_counted_engine *engine = &c->engine;
    SPEC_TRY(spec_point_double(&alpha, point, measure, "alpha", 0.0, 1.0, error));
    SPEC_TRY(spec_point_blame(
        spec_counted_case_kind(c, spec_point_text(point, measure, "kind"), alpha, error), "kind",
        error));
    SPEC_TRY(spec_point_int(&engine->batch, point, measure, "batch", 1, SPEC_COUNTED_BATCH, error));
    SPEC_TRY(spec_point_double(&engine->output, point, measure, "output", 1.0, 1e6, error));
    SPEC_TRY(spec_point_double(&engine->long_share, point, measure, "long", 0.0, 0.99, error));
    SPEC_TRY(
        spec_point_double(&engine->long_output, point, measure, "long_output", 1.0, 1e6, error));
    SPEC_TRY(spec_point_double(&c->phi, point, measure, "phi", 0.0, 0.999, error));
    SPEC_TRY(spec_point_int(&engine->free_tokens, point, measure, "flat", 0, 1000000, error));
    SPEC_TRY(read_cost(&engine->cost, point, measure, error));
done:
    return status;
}

static int read_question(question *q, const spec_point *point, const spec_measure *measure,
                         spec_error *error)
{
    int status = GSL_SUCCESS, K, second;
    spec_counted_runs runs;
    spec_counted_run run = {.seed = point->seed};
    *q = (question){.point = point};
    SPEC_TRY(read_case(&q->truth, point, measure, error));
    SPEC_TRY(spec_point_int(&K, point, measure, "K", 1, SPEC_COUNTED_K / 2, error));
    SPEC_TRY(spec_point_int(&second, point, measure, "second", 1, SPEC_COUNTED_K / 2, error));
    SPEC_TRY(spec_counted_log_find(&run.log, spec_point_text(point, measure, "log"), error));
    SPEC_TRY(
        spec_counted_runs_find(&runs, spec_point_text(point, measure, "runs"), run.log, error));
    SPEC_TRY(spec_point_int(&run.n, point, measure, "windows", 2, 100000, error));
    SPEC_TRY(spec_point_double(&run.seconds, point, measure, "seconds", 1.0, 1e6, error));
    if (runs.n == 2 && second == K)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "second: must differ from K"));
    q->truth.phi_K = K;
    run.K = K;
    q->run[q->n++] = run;
    run.K = second;
    if (runs.n == 2) q->run[q->n++] = run;
    run.K = 0;
    if (runs.plain) q->run[q->n++] = run;
    const int longest = runs.n == 2 && second > K ? second : K;
    for (int L = 1; L <= 2 * longest; L++) q->where[L] = L < longest ? BELOW : ABOVE;
    for (int i = 0; i < q->n; i++) q->where[q->run[i].K] = q->run[i].K > 0 ? RUN : 0;
done:
    return status;
}

/* Computes the truth once the parameters are read. */
static int find_truth(question *q, spec_error *error)
{
    truth t = {.n = q->n};
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_counted_case_limits(&t.plain, &q->truth, 0, error));
    for (int i = 0; i < q->n; i++) {
        t.depths[i] = q->run[i].K;
        SPEC_TRY(spec_counted_case_limits(&t.run[i], &q->truth, q->run[i].K, error));
    }
    for (int K = 1; K < LENGTHS; K++) {
        if (q->where[K] == 0) continue;
        t.K = K;
        SPEC_TRY(spec_counted_case_limits(&t.at, &q->truth, K, error));
        for (int i = 0; i < NUMBERS; i++) q->value[i][K] = numbers[i].value(&t);
    }
done:
    return status;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    question q;
    repetition *r = NULL;
    int status = GSL_SUCCESS;
    const uint64_t n = point->rounds > 0 ? point->rounds : REPETITIONS;
    SPEC_TRY(read_question(&q, point, measure, error));
    SPEC_TRY(spec_point_read(point));
    SPEC_TRY(find_truth(&q, error));
    if (n > REPETITIONS_MAX || (r = calloc(n, sizeof *r)) == NULL) SPEC_TRY(spec_no_memory(error));
    spec_thread_pool *const pool = spec_context_pool(point->opt_context);
    spec_parallel_run(pool, run_repetition, &(job){&q, r}, n, spec_thread_pool_size(pool));
    SPEC_TRY(spec_stop_check(point->stop, error));
    for (uint64_t k = 0; k < n; k++)
        if (r[k].status != GSL_SUCCESS)
            SPEC_TRY(spec_fail(error, r[k].status, "%s", r[k].error.text));
    fill(table, &q, r, n);
done:
    free(r);
    return status;
}

static const char *const parameters[] = {"kind=one",
                                         "log=vllm",
                                         "alpha=0.7",
                                         "K=4",
                                         "runs=plain+K",
                                         "second=1",
                                         "batch=8",
                                         "output=200",
                                         "long=0",
                                         "long_output=2000",
                                         "phi=0",
                                         "windows=60",
                                         "seconds=10",
                                         "flat=0",
                                         "cost=step=40ms,token=0.4ms",
                                         "draft_cost=pass=2ms",
                                         NULL};
#define COLUMNS(name) name "_held_z", name "_half_width", name "_true", name "_K"
static const char *const columns[] = {
    "alpha_held",       "tokens_held",      "shorter_held",         "longer_held",
    "conditional_held", "time_held",        "times_held",           "speedup_held",
    "speedups_held",    "drift_alarms",     COLUMNS("alpha"),       COLUMNS("tokens"),
    COLUMNS("shorter"), COLUMNS("longer"),  COLUMNS("conditional"), COLUMNS("time"),
    COLUMNS("times"),   COLUMNS("speedup"), COLUMNS("speedups"),    NULL};
static const spec_headline headlines[] = {{.column = "alpha_held"},
                                          {.column = "tokens_held"},
                                          {.column = "shorter_held"},
                                          {.column = "longer_held"},
                                          {.column = "speedup_held"},
                                          {.column = "speedups_held"},
                                          {0}};
static const char *const checked[] = {
    "alpha_held_z", "tokens_held_z", "shorter_held_z", "longer_held_z",   "conditional_held_z",
    "time_held_z",  "times_held_z",  "speedup_held_z", "speedups_held_z", NULL};

const spec_measure spec_measure_advice = {
    .name = "advice",
    .summary = "how often the 95 % intervals that advise prints from an engine's logs contain the "
               "true values of the simulated engine",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .checked = checked,
    .simulates = true,
    .run = run,
};
