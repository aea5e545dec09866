/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "conformance/calibrate.h"

#include "analysis/statistics/goodness.h"
#include "base/parallel.h"
#include "sim/chance/rng.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The results of one run. */
typedef struct {
    spec_validate_verdict verdict;
    double p, log_e;
    double *test_p;      /* (n_results, SPEC_TESTS_MAX) NaN: the test does not apply */
    double test_log_e[SPEC_TESTS_MAX];
    int n_results, status;
    spec_error error;
} outcome;

static int line_of(const char *test)
{
    int i = 0;
    while (spec_tests[i].name != NULL && strcmp(spec_tests[i].name, test) != 0) i++;
    return i;
}

static void run_once(outcome *ret, const char *subject, int i, const spec_validate_plan *plan)
{
    spec_validation v;
    spec_validate_plan fresh = *plan;
    char name[32];
    snprintf(name, sizeof name, "calibrate %d", i);
    fresh.seed = spec_rng_named_seed(plan->seed, name);
    fresh.opt_pool = NULL;
    fresh.progress = NULL;
    fresh.stage = NULL;
    fresh.hints = false;
    if ((ret->status = spec_validate(&v, subject, &fresh, &ret->error)) != GSL_SUCCESS) return;
    ret->verdict = v.verdict;
    ret->p = v.p;
    ret->log_e = v.log_e;
    ret->n_results = v.n_results;
    for (int k = 0; k < SPEC_TESTS_MAX; k++) ret->test_log_e[k] = -INFINITY;
    ret->test_p = malloc(((size_t)v.n_results * SPEC_TESTS_MAX + 1) * sizeof *ret->test_p);
    if (ret->test_p == NULL) ret->status = spec_fail(&ret->error, GSL_ENOMEM, "out of memory");
    for (int r = 0; r < v.n_results && ret->test_p != NULL; r++) {
        double *p = ret->test_p + (size_t)r * SPEC_TESTS_MAX;
        for (int k = 0; k < SPEC_TESTS_MAX; k++) p[k] = NAN;
        for (int k = 0; k < v.result[r].n_findings; k++) {
            const spec_finding *finding = &v.result[r].finding[k];
            const int test = line_of(finding->name);
            if (finding->df != 0.0) p[test] = finding->p; /* a single cell has no p-value */
            ret->test_log_e[test] = fmax(ret->test_log_e[test], finding->log_e);
        }
    }
    spec_validation_free(&v);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Collects the p-values of one test, sorted. */
static int gather_test(spec_calibration *c, const outcome *run, int test)
{
    spec_calibration_test *t = &c->test[c->n_tests];
    size_t n = 0;
    *t = (spec_calibration_test){.name = spec_tests[test].name, .largest_e = -INFINITY};
    for (int i = 0; i < c->n; i++) n += (size_t)run[i].n_results;
    t->p = malloc((n + 1) * sizeof *t->p);
    if (t->p == NULL) return GSL_ENOMEM;
    c->n_tests++;
    for (int i = 0; i < c->n; i++) {
        t->largest_e = fmax(t->largest_e, run[i].test_log_e[test]);
        for (int r = 0; r < run[i].n_results; r++) {
            const double p = run[i].test_p[(size_t)r * SPEC_TESTS_MAX + (size_t)test];
            if (!isnan(p)) t->p[t->n++] = p;
        }
    }
    qsort(t->p, t->n, sizeof *t->p, ascending);
    spec_goodness_ks_uniform(&t->ks, &t->ks_p, t->p, t->n);
    return GSL_SUCCESS;
}

static int gather(spec_calibration *c, const outcome *run)
{
    int status = GSL_SUCCESS;
    for (int i = 0; i < c->n; i++) {
        c->failed += run[i].verdict == SPEC_VERDICT_FAIL || run[i].verdict == SPEC_VERDICT_LOSSY;
        c->inconclusive += run[i].verdict == SPEC_VERDICT_INCONCLUSIVE;
        c->p[i] = run[i].p;
        c->log_e[i] = run[i].log_e;
    }
    qsort(c->p, (size_t)c->n, sizeof *c->p, ascending);
    qsort(c->log_e, (size_t)c->n, sizeof *c->log_e, ascending);
    for (int k = 0; spec_tests[k].name != NULL; k++) {
        SPEC_TRY(gather_test(c, run, k));
        if (c->test[c->n_tests - 1].n == 0) free(c->test[--c->n_tests].p);
    }
done:
    return status;
}

typedef struct {
    outcome *run;
    const char *subject;
    const spec_validate_plan *plan;
    int n;
    pthread_mutex_t lock; /* protects the fields below, and the progress of the caller */
    int done, bad;        /* runs done; the first run that failed, or n */
} job;

static void run_one(void *self, uint64_t item, int worker)
{
    job *j = self;
    const int i = (int)item;
    (void)worker;
    pthread_mutex_lock(&j->lock);
    const bool needed = i < j->bad;
    pthread_mutex_unlock(&j->lock);
    if (!needed) return;
    run_once(&j->run[i], j->subject, i, j->plan);
    pthread_mutex_lock(&j->lock);
    if (j->run[i].status != GSL_SUCCESS && i < j->bad) j->bad = i;
    j->done++;
    if (j->plan->progress != NULL)
        j->plan->progress(j->plan->self, "runs", (uint64_t)j->done, (uint64_t)j->n, 0.0);
    pthread_mutex_unlock(&j->lock);
}

int spec_calibrate(spec_calibration *ret, const char *subject, int n,
                   const spec_validate_plan *plan, spec_error *error)
{
    int status = GSL_SUCCESS, bad = n;
    outcome *run = calloc((size_t)n, sizeof *run);
    *ret = (spec_calibration){.n = n};
    ret->p = malloc((size_t)n * sizeof *ret->p);
    ret->log_e = malloc((size_t)n * sizeof *ret->log_e);
    if (run == NULL || ret->p == NULL || ret->log_e == NULL) SPEC_TRY(GSL_ENOMEM);
    job j = {.run = run,
             .subject = subject,
             .plan = plan,
             .n = n,
             .lock = PTHREAD_MUTEX_INITIALIZER,
             .bad = n};
    spec_parallel_run(plan->opt_pool, run_one, &j, (uint64_t)n,
                      spec_thread_pool_size(plan->opt_pool));
    bad = j.bad;
    if (bad < n) {
        if (error != NULL) *error = run[bad].error;
        SPEC_TRY(run[bad].status);
    }
    SPEC_TRY(gather(ret, run));
done:
    for (int i = 0; i < n && run != NULL; i++) free(run[i].test_p);
    free(run);
    if (status == GSL_SUCCESS) return status;
    spec_calibration_free(ret);
    return bad < n ? status : spec_fail(error, status, "out of memory");
}

void spec_calibration_free(spec_calibration *calibration)
{
    free(calibration->p);
    free(calibration->log_e);
    for (int k = 0; k < calibration->n_tests; k++) free(calibration->test[k].p);
    *calibration = (spec_calibration){.n = 0};
}

double spec_calibration_p_share(const double *sorted, size_t n, double a)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (sorted[middle] <= a) low = middle + 1;
        else high = middle;
    }
    return (double)low / (double)n;
}

double spec_calibration_e_share(const spec_calibration *calibration, double a)
{
    int below = 0;
    while (below < calibration->n && calibration->log_e[below] < -log(a)) below++;
    return (double)(calibration->n - below) / calibration->n;
}
