/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/validate/calibrate.h"

#include "analysis/statistics/goodness.h"
#include "base/number_line.h"
#include "base/stop_flag.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a run ----------------------------------------------------------------------------------- */

static int line_of(const char *test)
{
    int i = 0;
    while (spec_tests[i].name != NULL && strcmp(spec_tests[i].name, test) != 0) i++;
    return i;
}

/* If there is only one cell, there is no p-value. */
static bool has_p(const spec_finding *finding)
{
    return finding->df != 0.0 && !isnan(finding->p);
}

/* Writes a test's largest log e-value, and its p-values over all fixtures and scopes. */
static void put_test(FILE *out, const spec_validation *v, int test)
{
    double largest = -INFINITY;
    uint64_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int r = 0; r < v->n_results; r++)
            for (int k = 0; k < v->result[r].n_findings; k++) {
                const spec_finding *finding = &v->result[r].finding[k];
                if (line_of(finding->name) != test) continue;
                if (pass == 1 && has_p(finding)) spec_number_line_put_real(out, finding->p);
                if (pass == 1) continue;
                largest = fmax(largest, finding->log_e);
                n += has_p(finding);
            }
        if (pass == 1) continue;
        spec_number_line_put_real(out, largest);
        spec_number_line_put_count(out, n);
    }
}

static char *text_of(const spec_validation *v)
{
    spec_memory_text made;
    if (!spec_memory_text_open(&made)) return NULL;
    spec_number_line_put_count(made.out, (uint64_t)v->verdict);
    spec_number_line_put_real(made.out, v->p);
    spec_number_line_put_real(made.out, v->log_e);
    for (int k = 0; spec_tests[k].name != NULL; k++) put_test(made.out, v, k);
    return spec_number_line_take(&made);
}

static int compute(void *self, char **ret_text, uint64_t i, spec_error *error)
{
    const spec_calibration *c = self;
    spec_validation v;
    spec_validate_plan fresh = *c->plan;
    char name[32];
    snprintf(name, sizeof name, "calibrate %d", (int)i);
    fresh.seed = spec_rng_named_seed(c->plan->seed, name);
    fresh.opt_pool = NULL;
    fresh.progress = NULL;
    fresh.stage = NULL;
    fresh.hints = false;
    const int status = spec_validate(&v, c->subject, &fresh, error);
    if (status != GSL_SUCCESS) return status;
    *ret_text = text_of(&v);
    spec_validation_free(&v);
    return *ret_text != NULL ? GSL_SUCCESS : spec_no_memory(error);
}

/* ---- all runs -------------------------------------------------------------------------------- */

static int add_p(spec_calibration_test *test, double p, spec_error *error)
{
    if (test->n == test->capacity) {
        const size_t capacity = 2 * test->capacity + 64;
        double *more = realloc(test->p, capacity * sizeof *more);
        if (more == NULL) return spec_no_memory(error);
        test->p = more;
        test->capacity = capacity;
    }
    test->p[test->n++] = p;
    return GSL_SUCCESS;
}

static int add(void *self, const char *text, spec_error *error)
{
    spec_calibration *c = self;
    spec_number_line in = {.at = text};
    int status = GSL_SUCCESS;
    const uint64_t verdict = spec_number_line_count(&in);
    const double p = spec_number_line_real(&in), log_e = spec_number_line_real(&in);
    for (int k = 0; spec_tests[k].name != NULL; k++) {
        spec_calibration_test *test = &c->test[k];
        test->largest_e = fmax(test->largest_e, spec_number_line_real(&in));
        for (uint64_t n = spec_number_line_count(&in); n > 0 && !in.failed; n--)
            SPEC_TRY(add_p(test, spec_number_line_real(&in), error));
    }
    if (!spec_number_line_ended(&in) || verdict >= SPEC_VERDICTS || c->added == c->n)
        SPEC_TRY(spec_fail(error, GSL_EINVAL, "not a run of a calibration"));
    c->failed += verdict == SPEC_VERDICT_FAIL || verdict == SPEC_VERDICT_LOSSY ||
                 verdict == SPEC_VERDICT_DEPENDENT;
    c->inconclusive += verdict == SPEC_VERDICT_INCONCLUSIVE;
    c->p[c->added] = p;
    c->log_e[c->added++] = log_e;
done:
    return status;
}

static void hear_share(void *self, double share)
{
    const spec_calibration *c = self;
    c->plan->progress(c->plan->self, "runs", (uint64_t)(share * c->n + 0.5), (uint64_t)c->n, 0.0);
}

spec_groups spec_calibration_runs(spec_calibration *calibration)
{
    const spec_validate_plan *plan = calibration->plan;
    calibration->listener = (spec_listener){hear_share, calibration};
    return (spec_groups){
        .n = (uint64_t)calibration->n,
        .opt_pool = plan != NULL ? plan->opt_pool : NULL,
        .opt_listener = plan != NULL && plan->progress != NULL ? &calibration->listener : NULL,
        .self = calibration,
        .compute = compute,
        .add = add};
}

int spec_calibration_init(spec_calibration *calibration, const char *opt_subject, int n,
                          const spec_validate_plan *opt_plan, spec_error *error)
{
    *calibration = (spec_calibration){.n = n, .subject = opt_subject, .plan = opt_plan};
    for (int k = 0; spec_tests[k].name != NULL; k++)
        calibration->test[k] =
            (spec_calibration_test){.name = spec_tests[k].name, .largest_e = -INFINITY};
    calibration->p = malloc((size_t)n * sizeof *calibration->p);
    calibration->log_e = malloc((size_t)n * sizeof *calibration->log_e);
    if (calibration->p != NULL && calibration->log_e != NULL) return GSL_SUCCESS;
    spec_calibration_free(calibration);
    return spec_no_memory(error);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Leaves out tests without a p-value. */
void spec_calibration_finish(spec_calibration *calibration)
{
    spec_calibration *c = calibration;
    qsort(c->p, (size_t)c->n, sizeof *c->p, ascending);
    qsort(c->log_e, (size_t)c->n, sizeof *c->log_e, ascending);
    for (int k = 0; spec_tests[k].name != NULL; k++) {
        spec_calibration_test test = c->test[k];
        if (test.n == 0) continue;
        qsort(test.p, test.n, sizeof *test.p, ascending);
        spec_goodness_ks_uniform(&test.ks, &test.ks_p, test.p, test.n);
        c->test[k].p = NULL;
        c->test[c->n_tests++] = test;
    }
}

int spec_calibrate(spec_calibration *ret, const char *subject, int n,
                   const spec_validate_plan *plan, spec_error *error)
{
    int status = spec_calibration_init(ret, subject, n, plan, error);
    if (status != GSL_SUCCESS) return status;
    const spec_groups runs = spec_calibration_runs(ret);
    status = spec_groups_add_all(&runs, error);
    const volatile sig_atomic_t *stop = plan->limits.opt_stop;
    if (status == GSL_EFAILED && spec_stop_is_set(stop) && ret->added > 0) {
        ret->n = ret->added; /* the runs that ended before the stop */
        status = GSL_SUCCESS;
    }
    if (status == GSL_SUCCESS) spec_calibration_finish(ret);
    else spec_calibration_free(ret);
    return status;
}

void spec_calibration_free(spec_calibration *calibration)
{
    free(calibration->p);
    free(calibration->log_e);
    for (int k = 0; k < SPEC_TESTS_MAX; k++) free(calibration->test[k].p);
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
