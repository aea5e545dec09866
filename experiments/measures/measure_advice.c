/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"
#include "speclab/no_memory.h"

#include "analysis/alpha.h"
#include "base/parallel.h"
#include "experiments/advice/advice.h"
#include "experiments/measures/counted_cases.h"
#include "experiments/measures/coverage.h"
#include "sim/serving/step_cost.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REPETITIONS = 1000, REPETITIONS_MAX = 10000000 };

/* The numbers of which intervals are counted. */
enum { ALPHA, TOKENS, CONDITIONAL, SPEEDUP, NUMBERS };

typedef struct {
    spec_counted_case truth;
    spec_counted_reading reading;
    int K, plain; /* plain: windows or requests of plain decoding */
    bool short_drafts;
    double value[NUMBERS];
    const spec_point *point;
} question;

/* One repetition. */
typedef struct {
    int status;
    spec_error error;
    int unread;
    double inexact;                                                  /* share of observations */
    double held[NUMBERS], independent[NUMBERS], half_width[NUMBERS]; /* NaN: no interval */
    double design_effect, drift_p;
} repetition;

/* ---- one repetition -------------------------------------------------------------------------- */

/* Sums of the observations, for intervals under independent trials. */
typedef struct {
    double rounds, accepted, passed[SPEC_ADVICE_K], tested, square;
} plain_sums;

static plain_sums sum_all(const spec_observed_sums *sums, int K)
{
    plain_sums ret = {0};
    for (size_t i = 0; i < sums->n; i++) {
        const spec_observed_series *series = &sums->series[i];
        for (size_t g = 0; g < series->n && series->K == K; g++) {
            const double *c = series->column + g * SPEC_SUM_COLUMNS;
            ret.rounds += c[SPEC_SUM_ROUNDS];
            ret.accepted += c[SPEC_SUM_ACCEPTED];
            for (int j = 1; j <= K; j++) ret.passed[j] += c[SPEC_SUM_PASSED + j - 1];
        }
    }
    ret.tested = ret.rounds;
    for (int j = 1; j < K; j++) ret.tested += ret.passed[j];
    /* sum of n_accepted^2 = sum_j (2 j - 1) rounds that accept j tokens at least */
    for (int j = 1; j <= K; j++) ret.square += (2 * j - 1) * ret.passed[j];
    return ret;
}

/* Wilson's interval for whole numbers. */
static double wilson_holds(double passed, double tested, double value)
{
    double low, high;
    if (!(passed <= tested)) return NAN;
    spec_alpha_wilson_interval(&low, &high, (uint64_t)passed, (uint64_t)tested,
                               SPEC_COVERAGE_ERROR);
    return spec_coverage_holds(low, high, value);
}

static void hold_independent(repetition *r, const plain_sums *s, const question *q)
{
    const double mean = s->accepted / s->rounds;
    const double se = sqrt((s->square / s->rounds - mean * mean) / s->rounds);
    const double z = gsl_cdf_ugaussian_Qinv(0.5 * SPEC_COVERAGE_ERROR);
    r->independent[ALPHA] = wilson_holds(s->accepted, s->tested, q->value[ALPHA]);
    r->independent[TOKENS] =
        spec_coverage_holds(1.0 + mean - z * se, 1.0 + mean + z * se, q->value[TOKENS]);
    r->independent[CONDITIONAL] =
        q->K < 2 ? NAN : wilson_holds(s->passed[2], s->passed[1], q->value[CONDITIONAL]);
    r->independent[SPEEDUP] = NAN;
}

static void hold(repetition *r, int number, double low, double high, double value)
{
    r->held[number] = spec_coverage_holds(low, high, value);
    r->half_width[number] = 0.5 * (high - low) / value;
}

static void hold_advice(repetition *r, const spec_advice *advice, const question *q)
{
    const spec_advice_length *at = NULL, *second = NULL;
    for (int i = 0; i < advice->n; i++) {
        if (advice->length[i].K == q->K) at = &advice->length[i];
        if (advice->length[i].K == 2) second = &advice->length[i];
    }
    for (int i = 0; i < NUMBERS; i++) r->held[i] = r->half_width[i] = NAN;
    if (at == NULL) return;
    hold(r, ALPHA, at->alpha.low, at->alpha.high, q->value[ALPHA]);
    hold(r, TOKENS, at->tokens.low, at->tokens.high, q->value[TOKENS]);
    hold(r, SPEEDUP, at->speedup_low, at->speedup_high, q->value[SPEEDUP]);
    if (second != NULL && q->K >= 2)
        hold(r, CONDITIONAL, second->conditional.low, second->conditional.high,
             q->value[CONDITIONAL]);
    r->design_effect = at->alpha.design_effect;
    r->drift_p = advice->drift.p;
}

static int repeat(repetition *r, const question *q, uint64_t number)
{
    spec_observed_sums sums = {0};
    const spec_observer observer = spec_observed_sums_observer(&sums);
    spec_advice_question asked = SPEC_ADVICE_QUESTION;
    spec_counted_reading reading = q->reading;
    spec_advice *advice = calloc(1, sizeof *advice);
    int status = GSL_SUCCESS;
    if (advice == NULL) SPEC_TRY(spec_no_memory(&r->error));
    asked.K_low = 1;
    asked.K_high = q->K;
    asked.error = SPEC_COVERAGE_ERROR;
    asked.seed = q->point->seed + number;
    reading.stream = 2 * number;
    SPEC_TRY(
        spec_counted_case_observe(&r->unread, &observer, &q->truth, q->K, &reading, &r->error));
    r->inexact = (double)sums.inexact / (double)sums.observations;
    reading.stream++;
    reading.n = q->plain;
    SPEC_TRY(spec_counted_case_observe(NULL, &observer, &q->truth, 0, &reading, &r->error));
    SPEC_TRY(spec_advice_of(advice, &sums, NULL, &asked, &r->error));
    const plain_sums plain = sum_all(&sums, q->K);
    hold_advice(r, advice, q);
    hold_independent(r, &plain, q);
done:
    spec_observed_sums_free(&sums);
    free(advice);
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
    if (stop != NULL && *stop != 0) return;
    j->r[i].status = repeat(&j->r[i], j->q, i);
}

/* ---- columns --------------------------------------------------------------------------------- */

static void fill_number(spec_table *table, const char *name, int i, const question *q,
                        const repetition *r, uint64_t n)
{
    double held = 0.0, independent = 0.0, width = 0.0;
    char column[64];
    for (uint64_t k = 0; k < n; k++) {
        held += r[k].held[i];
        independent += r[k].independent[i];
        width += r[k].half_width[i];
    }
    held /= (double)n;
    independent /= (double)n;
    width /= (double)n;
    /* Short drafts leave open which draft tokens were tested: an advice has a range of a
     * conditional acceptance, and none of alpha. */
    const bool ranged = (i == ALPHA || i == CONDITIONAL) && q->short_drafts;
    snprintf(column, sizeof column, "%s_true", name);
    spec_table_number(table, column, q->value[i]);
    snprintf(column, sizeof column, "%s_held", name);
    spec_table_number(table, column, held);
    snprintf(column, sizeof column, "%s_held_z", name);
    spec_table_number(table, column,
                      ranged && i == ALPHA ? NAN : spec_coverage_z(held, ranged, (double)n));
    snprintf(column, sizeof column, "%s_half_width", name);
    spec_table_number(table, column, width);
    if (i == SPEEDUP) return;
    snprintf(column, sizeof column, "%s_independent", name);
    spec_table_number(table, column, independent);
}

static void fill(spec_table *table, const question *q, const repetition *r, uint64_t n)
{
    static const char *const names[NUMBERS] = {"alpha", "tokens", "conditional", "speedup"};
    double design_effect = 0.0, alarms = 0.0, inexact = 0.0;
    long long unread = 0;
    for (uint64_t k = 0; k < n; k++) {
        design_effect += r[k].design_effect;
        alarms += r[k].drift_p <= SPEC_COVERAGE_ERROR;
        inexact += r[k].inexact;
        unread += r[k].unread;
    }
    /* An alpha that changes is no number that an interval could hold. */
    for (int i = 0; i < NUMBERS && isnan(q->truth.after); i++)
        fill_number(table, names[i], i, q, r, n);
    spec_table_number(table, "design_effect", design_effect / (double)n);
    spec_table_number(table, "drift_alarms", alarms / (double)n);
    if (q->reading.source == SPEC_COUNTED_ROUNDED) {
        spec_table_number(table, "inexact", inexact / (double)n);
        spec_table_integer(table, "unread", unread);
    }
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

static int read_question(question *q, const spec_point *point, const spec_measure *measure,
                         spec_error *error)
{
    int status = GSL_SUCCESS, windows, requests;
    double alpha;
    spec_counted_engine *engine = &q->truth.engine;
    *q = (question){.point = point};
    SPEC_TRY(spec_point_double(&alpha, point, measure, "alpha", 0.0, 1.0, error));
    SPEC_TRY(spec_point_blame(
        spec_counted_case_kind(&q->truth, spec_point_text(point, measure, "kind"), alpha, error),
        "kind", error));
    SPEC_TRY(spec_point_int(&q->K, point, measure, "K", 1, SPEC_COUNTED_K, error));
    SPEC_TRY(spec_point_int(&engine->batch, point, measure, "batch", 1, SPEC_COUNTED_BATCH, error));
    SPEC_TRY(spec_point_double(&engine->output, point, measure, "output", 1.0, 1e6, error));
    SPEC_TRY(spec_point_int(&windows, point, measure, "windows", 2, 100000, error));
    SPEC_TRY(spec_point_double(&q->reading.seconds, point, measure, "seconds", 1e-3, 1e6, error));
    SPEC_TRY(spec_point_int(&requests, point, measure, "requests", 2, 100000, error));
    SPEC_TRY(read_cost(&engine->cost, point, measure, error));
    SPEC_TRY(spec_counted_source_find(&q->reading.source, spec_point_text(point, measure, "source"),
                                      error));
    q->reading.n = q->reading.source == SPEC_COUNTED_REQUESTS ? requests : windows;
    q->reading.seed = point->seed;
    q->short_drafts = engine->stop + engine->sees > 0.0;
    q->plain = (q->reading.n + 1) / 2;
done:
    return status;
}

/* The truth, once the parameters are read. */
static int find_truth(question *q, spec_error *error)
{
    spec_counter_limits limits, plain;
    int status = GSL_SUCCESS;
    SPEC_TRY(spec_counted_case_limits(&limits, &q->truth, q->K, error));
    SPEC_TRY(spec_counted_case_limits(&plain, &q->truth, 0, error));
    q->value[ALPHA] = limits.alpha;
    q->value[TOKENS] = 1.0 + limits.accepted;
    q->value[CONDITIONAL] = q->K >= 2 ? limits.passes[2] / limits.tests[2] : NAN;
    q->value[SPEEDUP] = limits.tokens_per_s / plain.tokens_per_s;
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
    if (point->stop != NULL && *point->stop != 0)
        SPEC_TRY(spec_fail(error, GSL_EFAILED, "interrupted"));
    for (uint64_t k = 0; k < n; k++)
        if (r[k].status != GSL_SUCCESS)
            SPEC_TRY(spec_fail(error, r[k].status, "%s", r[k].error.text));
    fill(table, &q, r, n);
done:
    free(r);
    return status;
}

static const char *const parameters[] = {"kind=one",
                                         "source=windows",
                                         "alpha=0.7",
                                         "K=4",
                                         "batch=8",
                                         "output=200",
                                         "windows=48",
                                         "seconds=2.5",
                                         "requests=80",
                                         "cost=step=10ms,token=0.1ms",
                                         "draft_cost=pass=0.5ms",
                                         NULL};
static const char *const columns[] = {"alpha_held",
                                      "alpha_independent",
                                      "tokens_held",
                                      "tokens_independent",
                                      "conditional_held",
                                      "conditional_independent",
                                      "speedup_held",
                                      "drift_alarms",
                                      "design_effect",
                                      "alpha_true",
                                      "alpha_half_width",
                                      "alpha_held_z",
                                      "tokens_true",
                                      "tokens_half_width",
                                      "tokens_held_z",
                                      "conditional_true",
                                      "conditional_half_width",
                                      "conditional_held_z",
                                      "speedup_true",
                                      "speedup_half_width",
                                      "speedup_held_z",
                                      "inexact",
                                      "unread",
                                      NULL};
static const spec_headline headlines[] = {{.column = "alpha_held"},
                                          {.column = "alpha_independent"},
                                          {.column = "tokens_held"},
                                          {.column = "speedup_held"},
                                          {0}};
static const char *const checked[] = {"alpha_held_z", "tokens_held_z", "conditional_held_z",
                                      "speedup_held_z", NULL};

const spec_measure spec_measure_advice = {
    .name = "advice",
    .summary =
        "how often the 95 % intervals of advise hold the truth of a simulated engine, beside "
        "intervals that take trials for independent",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .checked = checked,
    .simulates = true,
    .run = run,
};
