/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/serve/paired_latency.h"

#include "sim/chance/rng.h"
#include "speclab/no_memory.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { VALUES = SPEC_PAIRED_RESAMPLES + 1 };
static const double interval_error = 0.05;

typedef struct {
    int n, runs; /* plans; replications */
    double *sum; /* (VALUES, 2 n) latencies and requests */
    double *value, *work;
    bool present[SPEC_PAIRED_PLANS];
} sample;

static int draw_sample(sample *s, const spec_replications *const *of, uint64_t seed,
                       spec_error *error)
{
    const size_t columns = 2 * (size_t)s->n, pairs = (size_t)(s->n * (s->n - 1) / 2) + 1;
    double *block = calloc((size_t)s->runs * columns, sizeof *block);
    gsl_rng *rng = spec_rng_alloc();
    s->sum = malloc(VALUES * columns * sizeof *s->sum);
    s->value = malloc(VALUES * pairs * sizeof *s->value);
    s->work = malloc(VALUES * sizeof *s->work);
    const bool good = block && rng && s->sum && s->value && s->work;
    if (good) {
        for (int i = 0; i < s->runs; i++)
            for (int k = 0; k < s->n; k++) {
                if (!s->present[k]) continue;
                double *at = block + (size_t)i * columns + 2 * (size_t)k;
                at[0] = of[k]->run[i].latency;
                at[1] = (double)of[k]->run[i].requests;
            }
        spec_rng_stream(rng, spec_rng_named_seed(seed, "serve bootstrap"), 0);
        spec_block_bootstrap_sums(s->sum, block, s->runs, (int)columns, SPEC_PAIRED_RESAMPLES, rng);
    }
    free(block);
    gsl_rng_free(rng);
    return good ? GSL_SUCCESS : spec_no_memory(error);
}

/* Fills in the ratio of plan a's mean latency to plan b's, for every resample. */
static void fill_ratios(double *value, const sample *s, int a, int b)
{
    for (int r = 0; r < VALUES; r++) {
        const double *row = s->sum + (size_t)r * 2 * (size_t)s->n;
        value[r] = row[2 * a] / row[2 * a + 1] / (row[2 * b] / row[2 * b + 1]);
    }
}

static double mean_of(const sample *s, int k)
{
    return s->sum[2 * k] / s->sum[2 * k + 1];
}

/* Computes joint intervals for all pairs, and uses those of pairs that include the best plan. */
static int find_as_good(spec_paired_plan *ret, const sample *s, int best, spec_error *error)
{
    int m = 0;
    spec_block_interval *joint = calloc(SPEC_PAIRED_PLANS * SPEC_PAIRED_PLANS, sizeof *joint);
    if (joint == NULL) return spec_no_memory(error);
    for (int a = 0; a < s->n; a++)
        for (int b = 0; b < a; b++)
            if (s->present[a] && s->present[b])
                fill_ratios(s->value + (size_t)m++ * VALUES, s, a, b);
    spec_block_bootstrap_joint(joint, s->value, m, SPEC_PAIRED_RESAMPLES, s->runs, interval_error,
                               s->work);
    m = 0;
    for (int a = 0; a < s->n; a++)
        for (int b = 0; b < a; b++) {
            if (!s->present[a] || !s->present[b]) continue;
            const spec_block_interval *pair = &joint[m++];
            /* One replication gives no interval, so nothing can be distinguished. */
            const bool open = !(pair->low > 1.0 || pair->high < 1.0);
            if (a == best) ret[b].as_good = open;
            if (b == best) ret[a].as_good = open;
        }
    ret[best].as_good = true;
    free(joint);
    return GSL_SUCCESS;
}

int spec_paired_latency(spec_paired_plan *ret, int *ret_best, const spec_replications *const *of,
                        const bool *opt_best, int n, int plain, uint64_t seed, spec_error *error)
{
    assert(n >= 1 && n <= SPEC_PAIRED_PLANS);
    int status = GSL_SUCCESS;
    sample s = {.n = n};
    *ret_best = -1;
    for (int k = 0; k < n; k++) {
        ret[k] = (spec_paired_plan){.speedup = {NAN, NAN, NAN, NAN}};
        s.present[k] = of[k] != NULL;
        if (s.present[k]) s.runs = of[k]->n;
    }
    if (s.runs == 0) return GSL_SUCCESS;
    SPEC_TRY(draw_sample(&s, of, seed, error));
    for (int k = 0; k < n; k++) {
        if (!s.present[k]) continue;
        if ((opt_best == NULL || opt_best[k]) &&
            (*ret_best < 0 || mean_of(&s, k) < mean_of(&s, *ret_best)))
            *ret_best = k;
        if (!s.present[plain]) continue;
        fill_ratios(s.value, &s, plain, k);
        ret[k].speedup =
            spec_block_bootstrap_interval(s.value, SPEC_PAIRED_RESAMPLES, s.runs, interval_error);
    }
    if (*ret_best >= 0) SPEC_TRY(find_as_good(ret, &s, *ret_best, error));
done:
    free(s.sum);
    free(s.value);
    free(s.work);
    return status;
}
