/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/serve/replications.h"

#include "analysis/serving/conservation.h"
#include "analysis/statistics/moments.h"
#include "base/parallel.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct {
    const spec_serving_plan *plan;
    const spec_replications_plan *how;
    spec_serving_result result[SPEC_REPLICATIONS];
    int status[SPEC_REPLICATIONS]; /* GSL_CONTINUE: not begun, because an earlier one failed */
    spec_error error[SPEC_REPLICATIONS];
    atomic_bool failed;
} group;

static void run_one(void *self, uint64_t i, int worker)
{
    group *g = self;
    (void)worker;
    g->status[i] = GSL_CONTINUE;
    if (atomic_load_explicit(&g->failed, memory_order_relaxed)) return;
    g->status[i] =
        spec_serving_run(&g->result[i], g->plan, g->how->seed, i, g->how->opt_stop, &g->error[i]);
    if (g->status[i] != GSL_SUCCESS) atomic_store_explicit(&g->failed, true, memory_order_relaxed);
}

/* Checks the sums. A wrong sum is a bug of the engine, whatever the load. */
static int check_sums(const group *g, spec_error *error)
{
    const bool adds = g->plan->place <= SPEC_DRAFT_SEPARATE;
    const spec_affine_step *cost = adds ? spec_step_cost_affine(g->plan->cost) : NULL;
    for (int i = 0; i < g->how->n; i++) {
        const char *broken = spec_conservation_broken(&g->result[i].sums, cost);
        if (broken != NULL)
            return spec_fail(error, GSL_ESANITY,
                             "replication %d: %s: the engine has a fault; please report it", i,
                             broken);
    }
    return GSL_SUCCESS;
}

static int copy_times(spec_replications *ret, group *g, spec_error *error)
{
    uint64_t n = 0;
    for (int i = 0; i < ret->n; i++) n += g->result[i].kept;
    float **const into[] = {&ret->first_token, &ret->per_token, &ret->latency};
    for (int k = 0; k < 3; k++)
        if ((*into[k] = malloc((n + 1) * sizeof **into[k])) == NULL) return spec_no_memory(error);
    for (int i = 0; i < ret->n; i++) {
        spec_serving_result *one = &g->result[i];
        const float *const from[] = {one->first_token, one->per_token, one->latency};
        for (int k = 0; k < 3 && one->kept > 0; k++)
            memcpy(*into[k] + ret->kept, from[k], one->kept * sizeof **into[k]);
        ret->kept += one->kept;
        ret->batches[i] = one->batches;
        ret->step_times[i] = one->step_times;
        one->batches = one->step_times = NULL;
        spec_serving_result_free(one);
    }
    return GSL_SUCCESS;
}

int spec_replications_run(spec_replications *ret, const spec_serving_plan *plan,
                          const spec_replications_plan *how, spec_error *error)
{
    assert(how->n >= 1 && how->n <= SPEC_REPLICATIONS);
    int status = GSL_SUCCESS;
    *ret = (spec_replications){.n = how->n};
    group *g = calloc(1, sizeof *g);
    if (g == NULL) return spec_no_memory(error);
    g->plan = plan;
    g->how = how;
    spec_parallel_run(how->opt_pool, run_one, g, (uint64_t)how->n,
                      spec_thread_pool_size(how->opt_pool));
    for (int i = 0; i < how->n; i++)
        if (g->status[i] != GSL_SUCCESS)
            SPEC_TRY(spec_fail(error, g->status[i], "%s", g->error[i].text));
    SPEC_TRY(check_sums(g, error));
    for (int i = 0; i < how->n; i++) {
        ret->run[i] = g->result[i].sums;
        ret->early[i] = g->result[i].early;
        ret->late[i] = g->result[i].late;
        ret->grew += g->result[i].grew;
    }
    if (plan->keep_every > 0) SPEC_TRY(copy_times(ret, g, error));
done:
    for (int i = 0; i < how->n; i++) spec_serving_result_free(&g->result[i]);
    free(g);
    return status;
}

void spec_replications_drop_times(spec_replications *replications)
{
    free(replications->first_token);
    free(replications->per_token);
    free(replications->latency);
    replications->first_token = replications->per_token = replications->latency = NULL;
    for (int i = 0; i < replications->n; i++) {
        free(replications->batches[i]);
        free(replications->step_times[i]);
        replications->batches[i] = replications->step_times[i] = NULL;
    }
}

void spec_replications_free(spec_replications *replications)
{
    spec_replications_drop_times(replications);
    *replications = (spec_replications){0};
}

/* ---- estimates ------------------------------------------------------------------------------- */

static spec_serving_sums sum_without(const spec_replications *replications, int without)
{
    spec_serving_sums sums = {0};
    for (int i = 0; i < replications->n; i++)
        if (i != without) spec_serving_sums_merge(&sums, &replications->run[i]);
    return sums;
}

spec_estimate spec_replications_estimate(const spec_replications *replications,
                                         spec_replications_statistic *f, const void *self)
{
    const int n = replications->n;
    const spec_serving_sums all = sum_without(replications, -1);
    const double whole = f(self, &all);
    spec_moments moments = {0};
    if (n < 2) return (spec_estimate){whole, NAN, NAN};
    for (int i = 0; i < n; i++) {
        const spec_serving_sums others = sum_without(replications, i);
        spec_moments_add(&moments, f(self, &others));
    }
    spec_estimate estimate = {.mean = n * whole - (n - 1) * moments.mean,
                              .se = sqrt((n - 1.0) / n * moments.m2),
                              .df = n - 1};
    if (estimate.se < 1e-12 * fabs(estimate.mean)) estimate.se = 0.0;
    return estimate;
}

double spec_replications_drift(const spec_replications *replications)
{
    spec_moments moments = {0};
    double size = 0.0;
    for (int i = 0; i < replications->n; i++) {
        spec_moments_add(&moments, replications->late[i] - replications->early[i]);
        size = fmax(size, replications->late[i]);
    }
    if (fabs(moments.mean) < 1e-9 * size) return 0.0; /* equal latencies: only rounding */
    return spec_moments_z(moments.mean, 0.0, spec_moments_standard_error(&moments),
                          replications->n - 1.0);
}

/* Selects in place, in O(n) (quickselect). */
static float select_rank(float *x, uint64_t n, uint64_t rank)
{
    uint64_t low = 0, high = n - 1;
    while (low < high) {
        const float pivot = x[low + (high - low) / 2];
        uint64_t i = low, j = high;
        for (;;) {
            while (x[i] < pivot) i++;
            while (x[j] > pivot) j--;
            if (i >= j) break;
            const float swap = x[i];
            x[i++] = x[j];
            x[j--] = swap;
        }
        /* Values in low..j are at most the pivot; values after j are at least the pivot. */
        if (rank <= j)
            high = j;
        else
            low = j + 1;
    }
    return x[rank];
}

double spec_replications_quantile(float *times, uint64_t n, double q)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < n; i++) {
        const float time = times[i];
        times[i] = times[kept];
        times[kept] = time;
        kept += isnan(time) ? 0 : 1;
    }
    if (kept == 0) return NAN;
    const double rank = ceil(q * (double)kept);
    return select_rank(times, kept, rank < 1.0 ? 0 : (uint64_t)rank - 1);
}
