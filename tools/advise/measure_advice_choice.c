/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/stop_flag.h"
#include "experiments/measures/measures.h"
#include "speclab/no_memory.h"

#include "base/names.h"
#include "base/parallel.h"
#include "experiments/measures/coverage.h"
#include "sim/chance/rng.h"
#include "tools/advise/advised_logs.h"

#include <math.h>
#include <stdlib.h>

/* The minimum share of decisions that must be right. */
#define RIGHT 0.9
/* A recommended length may be this much slower than the best one. */
#define TOLERANCE 0.02

enum { CASES = 300, CASES_MAX = 10000000, RUNS_MAX = 3, K_RUN_MAX = 6, WINDOWS_LEAST = 12 };

/* ---- cases ----------------------------------------------------------------------------------- */

static const char *engines_name(int i)
{
    static const char *const names[] = {"usual", "other", NULL};
    return names[i];
}

static const char *times_name(int i)
{
    static const char *const names[] = {"linear", "flat", NULL};
    return names[i];
}

typedef struct {
    spec_counted_case truth;
    int windows;
    int n, K[RUNS_MAX]; /* the lengths with drafts come first, ascending */
    int longest;
    double rate[2 * K_RUN_MAX + 1]; /* true tokens per second, K = 0..2 longest */
} trial;

typedef struct {
    spec_counted_runs runs;
    int windows, further;
    bool flat, other;
    double seconds;
    spec_counted_log log;
    const spec_point *point;
} question;

static double between(gsl_rng *rng, double low, double high)
{
    return low + (high - low) * gsl_rng_uniform(rng);
}

static double log_between(gsl_rng *rng, double low, double high)
{
    return low * pow(high / low, gsl_rng_uniform(rng));
}

/* Draws a draft and an engine at random. Alpha is .3 to .95, with any kind of acceptance whose
 * drafts all have K tokens. A verified token costs .1 % to 5 % of a step, a draft pass 1 % to 30 %.
 * Outputs have 50 to 500 tokens, and in every fourth case requests are ten times as long. In every
 * fourth case windows depend on each other. With `flat`, 2 to 8 tokens per request cost as much as
 * one. */
static void draw_engine(spec_counted_case *c, bool flat, gsl_rng *rng)
{
    const double step = 0.04;
    const int batch = 1 << (int)between(rng, 0.0, 6.0);
    c->alpha = (spec_alpha_law){.kind = SPEC_ALPHA_ONE, .mean = between(rng, 0.3, 0.95)};
    c->after = NAN;
    c->phi = gsl_rng_uniform(rng) < 0.25 ? between(rng, 0.3, 0.9) : 0.0;
    c->engine = (spec_counted_engine){.decay = 1.0,
                                      .output = log_between(rng, 50.0, 500.0),
                                      .long_share = gsl_rng_uniform(rng) < 0.25 ? 0.1 : 0.0,
                                      .batch = batch,
                                      .cost = {.step = step,
                                               .token = step * log_between(rng, 0.001, 0.05),
                                               .draft_pass = step * log_between(rng, 0.01, 0.3)}};
    c->engine.long_output = 10.0 * c->engine.output;
    if (flat) {
        c->engine.free_tokens = batch * (int)between(rng, 2.0, 9.0);
        c->engine.cost.token = step / batch * log_between(rng, 0.1, 1.0);
    }
    switch ((int)between(rng, 0.0, 6.0)) {
    case 0: break;
    case 1:
        c->alpha.kind = SPEC_ALPHA_BETA;
        c->alpha.concentration = log_between(rng, 2.0, 20.0);
        break;
    case 2:
        c->alpha.kind = SPEC_ALPHA_TWO;
        c->alpha.spread = fmin(c->alpha.mean, 1.0 - c->alpha.mean) * between(rng, 0.3, 1.0);
        break;
    case 3: c->engine.over_rounds = log_between(rng, 2.0, 20.0); break;
    case 4: c->engine.decay = between(rng, 0.8, 1.0); break;
    default: c->engine.stay = between(rng, 0.0, 0.8); break;
    }
}

/* Draws costs and acceptance from wider ranges, which no likely engine or draft was made for:
 * rounds have a fixed cost, the free tokens are no whole number, and acceptance falls with depth
 * and also differs between requests or rounds. */
static void draw_other_engine(spec_counted_case *c, bool flat, gsl_rng *rng)
{
    spec_counted_engine *engine = &c->engine;
    const double step = engine->cost.step;
    c->alpha.kind = SPEC_ALPHA_ONE;
    c->alpha.mean = between(rng, 0.15, 0.97);
    if (c->phi > 0.0) c->phi = between(rng, 0.8, 0.95);
    engine->over_rounds = engine->stay = 0.0;
    engine->decay = gsl_rng_uniform(rng) < 0.5 ? between(rng, 0.7, 1.0) : 1.0;
    engine->cost.token = step * log_between(rng, 0.0005, 0.08);
    engine->cost.draft_round = step * log_between(rng, 0.005, 0.2);
    engine->cost.draft_pass = step * log_between(rng, 0.005, 0.5);
    if (flat) {
        engine->free_tokens = (int)(engine->batch * between(rng, 1.0, 12.0));
        engine->cost.token = step / engine->batch * log_between(rng, 0.05, 1.5);
    }
    switch ((int)between(rng, 0.0, 4.0)) {
    case 0: break;
    case 1:
        c->alpha.kind = SPEC_ALPHA_BETA;
        c->alpha.concentration = log_between(rng, 0.8, 60.0);
        break;
    case 2:
        c->alpha.kind = SPEC_ALPHA_TWO;
        c->alpha.spread = fmin(c->alpha.mean, 1.0 - c->alpha.mean);
        break;
    default:
        engine->over_rounds = log_between(rng, 0.8, 60.0);
        engine->stay = between(rng, 0.0, 0.95);
    }
}

static int draw_trial(trial *t, const question *q, gsl_rng *rng, spec_error *error)
{
    spec_counter_limits limits;
    draw_engine(&t->truth, q->flat, rng);
    if (q->other) draw_other_engine(&t->truth, q->flat, rng);
    t->n = 0;
    const int K = 1 + (int)between(rng, 0.0, K_RUN_MAX - 1);
    t->K[t->n++] = t->longest = t->truth.phi_K = K;
    if (q->runs.n == 2) {
        t->longest = K + 1 + (int)between(rng, 0.0, K_RUN_MAX - K);
        t->K[t->n++] = t->longest;
    }
    if (q->runs.plain) t->K[t->n++] = 0;
    for (int L = 0; L <= 2 * t->longest; L++) {
        const int status = spec_counted_case_limits(&limits, &t->truth, L, error);
        if (status != GSL_SUCCESS) return status;
        t->rate[L] = limits.tokens_per_s;
    }
    return GSL_SUCCESS;
}

/* ---- one case -------------------------------------------------------------------------------- */

typedef struct {
    int status;
    spec_error error;
    /* decided_after: once the lengths that the advice asks for were run too */
    bool decided, decided_after;
    /* the length that it names differs by at most 1 from the fastest */
    bool near;
    double loss, loss_after; /* 1 - true speed of the recommended length over the best one's */
    /* speed gain of plain decoding over the recommended length, in truth */
    double plain_gain;
    int further; /* runs added until it decided, or the maximum */
} decision;

static spec_counted_run run_of(const question *q, const trial *t, int K, uint64_t stream)
{
    return (spec_counted_run){.log = q->log,
                              .K = K,
                              .n = t->windows,
                              .seconds = q->seconds,
                              .seed = q->point->seed,
                              .stream = stream};
}

/* Returns the fastest length up to twice the longest run. Without times of plain decoding an advice
 * compares only lengths from 1 on. */
static int fastest(const trial *t, bool plain)
{
    int best = plain ? 0 : 1;
    for (int L = best; L <= 2 * t->longest; L++)
        if (t->rate[L] > t->rate[best]) best = L;
    return best;
}

static double loss_of(const trial *t, int K, bool plain)
{
    if (K < 0 || K > 2 * t->longest) return 1.0;
    return fmax(1.0 - t->rate[K] / t->rate[fastest(t, plain)], 0.0);
}

static int decide(decision *d, const question *q, uint64_t number, gsl_rng *rng)
{
    spec_advised advised = {.K = -1};
    spec_counted_run run[SPEC_ADVISED_LOGS];
    trial t;
    uint64_t stream = (uint64_t)(RUNS_MAX + q->further) * number;
    bool plain = q->runs.plain;
    int status = GSL_SUCCESS, n = 0;
    t.windows = (int)log_between(rng, WINDOWS_LEAST, q->windows + 1.0);
    SPEC_TRY(draw_trial(&t, q, rng, &d->error));
    for (; n < t.n; n++) run[n] = run_of(q, &t, t.K[n], stream++);
    SPEC_TRY(spec_advised_case(&advised, &t.truth, run, n, q->point->seed, &d->error));
    d->decided = d->decided_after = advised.decided;
    d->loss = d->loss_after = loss_of(&t, advised.K, plain);
    d->near = advised.K >= 0 && abs(advised.K - fastest(&t, plain)) <= 1;
    if (d->decided) d->plain_gain = t.rate[0] / t.rate[advised.K] - 1.0;
    /* Responses of llama.cpp do not say K, so we cannot give those of two lengths together. */
    const int most = q->log == SPEC_COUNTED_LLAMACPP ? 0 : 2 * t.longest;
    while (!d->decided_after && d->further < q->further && advised.K >= 0 && advised.K <= most) {
        plain = plain || advised.K == 0;
        run[n++] = run_of(q, &t, advised.K, stream++);
        spec_advised_free(&advised);
        SPEC_TRY(spec_advised_case(&advised, &t.truth, run, n, q->point->seed, &d->error));
        d->further++;
        d->decided_after = advised.decided;
        d->loss_after = loss_of(&t, advised.K, plain);
    }
done:
    spec_advised_free(&advised);
    return status;
}

typedef struct {
    const question *q;
    decision *d;
} job;

static void run_case(void *self, uint64_t i, int worker)
{
    const job *j = self;
    (void)worker;
    const volatile int *stop = j->q->point->stop;
    if (spec_stop_is_set(stop)) return;
    decision *d = &j->d[i];
    gsl_rng *rng = spec_rng_alloc();
    if (rng == NULL) {
        d->status = spec_no_memory(&d->error);
        return;
    }
    spec_rng_stream(rng, spec_rng_named_seed(j->q->point->seed, "advice cases"), i);
    d->status = decide(d, j->q, i, rng);
    gsl_rng_free(rng);
}

/* ---- the measure ----------------------------------------------------------------------------- */

/* Fills in the share of right decisions, and how many standard errors it lies below RIGHT. */
static void fill_share(spec_table *table, const char *name, const char *z, double right, double n)
{
    const double share = right / n;
    spec_table_number(table, name, share);
    spec_table_number(table, z, spec_coverage_z_between(share, RIGHT, 1.0, n));
}

static void fill(spec_table *table, const decision *d, uint64_t n)
{
    double decided = 0.0, right = 0.0, worst = 0.0, after = 0.0, right_after = 0.0, further = 0.0;
    double undecided_right = 0.0, plain_faster = 0.0, near = 0.0, next = 0.0;
    for (uint64_t i = 0; i < n; i++) {
        const bool good = d[i].loss <= TOLERANCE;
        decided += d[i].decided;
        right += d[i].decided && good;
        near += d[i].near;
        next += !d[i].decided && d[i].near;
        undecided_right += !d[i].decided && good;
        plain_faster += d[i].decided && d[i].plain_gain > TOLERANCE;
        after += d[i].decided_after;
        right_after += d[i].decided_after && d[i].loss_after <= TOLERANCE;
        further += d[i].further;
        if (d[i].decided) worst = fmax(worst, d[i].loss);
    }
    spec_table_number(table, "decided", decided / (double)n);
    if (decided > 0.0) {
        fill_share(table, "right", "right_z", right, decided);
        spec_table_number(table, "largest_loss", worst);
        spec_table_number(table, "plain_faster", plain_faster / decided);
    }
    spec_table_number(table, "near", near / (double)n);
    spec_table_number(table, "next_near", next / ((double)n - decided));
    spec_table_number(table, "undecided_right", undecided_right / ((double)n - decided));
    spec_table_number(table, "further_runs", further / (double)n);
    spec_table_number(table, "decided_after", after / (double)n);
    if (after > 0.0) fill_share(table, "right_after", "right_after_z", right_after, after);
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    question q = {.point = point};
    decision *d = NULL;
    int status = GSL_SUCCESS;
    const uint64_t n = point->rounds > 0 ? point->rounds : CASES;
    const int times =
        spec_names_find(times_name, spec_point_text(point, measure, "times"), "times", error);
    if (times < 0) return GSL_EINVAL;
    q.flat = times == 1;
    const int engines =
        spec_names_find(engines_name, spec_point_text(point, measure, "engines"), "engines", error);
    if (engines < 0) return GSL_EINVAL;
    q.other = engines == 1;
    SPEC_TRY(spec_counted_log_find(&q.log, spec_point_text(point, measure, "log"), error));
    SPEC_TRY(
        spec_counted_runs_find(&q.runs, spec_point_text(point, measure, "runs"), q.log, error));
    SPEC_TRY(spec_point_int(&q.windows, point, measure, "windows", WINDOWS_LEAST, 100000, error));
    SPEC_TRY(spec_point_double(&q.seconds, point, measure, "seconds", 1.0, 1e6, error));
    SPEC_TRY(spec_point_int(&q.further, point, measure, "further", 0, SPEC_ADVISED_LOGS - RUNS_MAX,
                            error));
    SPEC_TRY(spec_point_read(point));
    if (n > CASES_MAX || (d = calloc(n, sizeof *d)) == NULL) SPEC_TRY(spec_no_memory(error));
    spec_thread_pool *const pool = spec_context_pool(point->opt_context);
    spec_parallel_run(pool, run_case, &(job){&q, d}, n, spec_thread_pool_size(pool));
    SPEC_TRY(spec_stop_check(point->stop, error));
    for (uint64_t i = 0; i < n; i++)
        if (d[i].status != GSL_SUCCESS)
            SPEC_TRY(spec_fail(error, d[i].status, "%s", d[i].error.text));
    fill(table, d, n);
done:
    free(d);
    return status;
}

static const char *const parameters[] = {"runs=plain+K",  "log=vllm",    "times=linear",
                                         "engines=usual", "windows=240", "seconds=10",
                                         "further=3",     NULL};
static const char *const columns[] = {
    "decided",     "right",           "largest_loss", "near",
    "next_near",   "plain_faster",    "further_runs", "decided_after",
    "right_after", "undecided_right", "right_z",      "right_after_z",
    NULL};
static const spec_headline headlines[] = {
    {.column = "decided"}, {.column = "right"}, {.column = "decided_after"}, {0}};
static const char *const checked[] = {"right_z", "right_after_z", NULL};

const spec_measure spec_measure_advice_choice = {
    .name = "advice_choice",
    .summary = "how often advise decides on a draft length for a simulated engine, and how often "
               "that is within 2 % of the fastest one",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .checked = checked,
    .simulates = true,
    .run = run,
};
