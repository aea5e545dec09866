/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/montecarlo.h"

#include "base/int_math.h"
#include "base/parallel.h"
#include "base/stop_flag.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const uint64_t usual_batch = 1024, usual_max_rounds = (uint64_t)1 << 40;

/* The result of one batch of the current group. GSL_CONTINUE: not begun, because an earlier batch
 * had failed. */
struct spec_montecarlo_slot {
    spec_tally tally;
    int status;
    spec_error error;
};

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- init and free --------------------------------------------------------------------------- */

static int check_plan(const spec_montecarlo_plan *plan, spec_error *error)
{
    if (isnan(plan->standard_error) || plan->standard_error < 0)
        return spec_fail(error, GSL_EINVAL, "the standard error is %g: it must not be negative",
                         plan->standard_error);
    if (plan->rounds == 0 && plan->standard_error == 0)
        return spec_fail(error, GSL_EINVAL,
                         "a run needs a limit: a number of rounds or a standard error above 0");
    return GSL_SUCCESS;
}

static uint64_t most_rounds(const spec_montecarlo_plan *plan)
{
    const uint64_t rounds = plan->rounds > 0 ? plan->rounds : UINT64_MAX;
    const uint64_t max_rounds = plan->max_rounds > 0 ? plan->max_rounds : usual_max_rounds;
    return plan->standard_error > 0 ? smaller(rounds, max_rounds) : rounds;
}

uint64_t spec_montecarlo_batch(const spec_round_source *source, const spec_montecarlo_plan *plan)
{
    const uint64_t batches = (uint64_t)SPEC_MONTECARLO_GROUP * SPEC_MONTECARLO_GROUPS_MAX;
    const uint64_t least = plan->standard_error > 0 ? 1 : (most_rounds(plan) - 1) / batches + 1;
    if (plan->batch > 0) return plan->batch;
    const uint64_t usual = smaller(source->usual_batch > 0 ? source->usual_batch : usual_batch,
                                   (most_rounds(plan) - 1) / SPEC_MONTECARLO_GROUP + 1);
    return usual > least ? usual : least;
}

uint64_t spec_montecarlo_groups(const spec_montecarlo *mc)
{
    return ((mc->limit - 1) / mc->plan.batch) / SPEC_MONTECARLO_GROUP + 1;
}

uint64_t spec_montecarlo_group_rounds(const spec_montecarlo *mc, uint64_t group)
{
    const uint64_t whole = mc->plan.batch * SPEC_MONTECARLO_GROUP;
    return smaller(whole, mc->limit - group * whole);
}

/* No default may depend on the number of threads. */
static void complete_plan(spec_montecarlo *mc)
{
    spec_montecarlo_plan *plan = &mc->plan;
    mc->limit = most_rounds(plan);
    plan->batch = spec_montecarlo_batch(&mc->source, plan);
    if (plan->max_rounds == 0) plan->max_rounds = usual_max_rounds;

    mc->threads = spec_int_min(spec_thread_pool_size(plan->opt_pool), SPEC_MONTECARLO_GROUP);
}

int spec_montecarlo_init(spec_montecarlo *mc, const spec_round_source *source,
                         const spec_montecarlo_plan *plan, spec_error *error)
{
    int status = GSL_SUCCESS;
    *mc = (spec_montecarlo){.source = *source, .plan = *plan};
    SPEC_TRY(check_plan(plan, error));
    complete_plan(mc);
    mc->slot = malloc(SPEC_MONTECARLO_GROUP * sizeof *mc->slot);
    mc->worker = calloc((size_t)mc->threads, sizeof *mc->worker);
    if (mc->slot == NULL || mc->worker == NULL) {
        status = spec_fail(error, GSL_ENOMEM, "no memory for %d threads", mc->threads);
        goto done;
    }
    for (int i = 0; source->worker_init != NULL && i < mc->threads; i++)
        SPEC_TRY(source->worker_init(source->self, &mc->worker[i], error));
done:
    if (status != GSL_SUCCESS) spec_montecarlo_free(mc);
    return status;
}

void spec_montecarlo_free(spec_montecarlo *mc)
{
    for (int i = 0; mc->worker != NULL && i < mc->threads; i++)
        if (mc->worker[i] != NULL && mc->source.worker_free != NULL)
            mc->source.worker_free(mc->worker[i]);
    free(mc->worker);
    free(mc->slot);
    *mc = (spec_montecarlo){0};
}

/* ---- one group ------------------------------------------------------------------------------- */

static uint64_t batch_rounds(const spec_montecarlo *mc, uint64_t batch)
{
    return smaller(mc->plan.batch, mc->limit - batch * mc->plan.batch);
}

static void run_batch(spec_montecarlo *mc, struct spec_montecarlo_slot *slot, uint64_t batch,
                      void *worker, const volatile int *opt_stop)
{
    memset(&slot->tally, 0, sizeof slot->tally);
    slot->error.text[0] = '\0';
    slot->status = spec_stop_check(opt_stop, &slot->error);
    if (slot->status != GSL_SUCCESS) return;
    slot->status = mc->source.batch(mc->source.self, worker, mc->plan.seed, batch,
                                    batch_rounds(mc, batch), &slot->tally, &slot->error);
    assert(slot->status != GSL_SUCCESS || slot->tally.rounds == batch_rounds(mc, batch));
}

typedef struct {
    spec_montecarlo *mc;
    uint64_t first; /* first batch of the group */
    const volatile int *opt_stop;
    atomic_bool failed;
} group;

static void run_slot(void *self, uint64_t i, int worker)
{
    group *g = self;
    struct spec_montecarlo_slot *slot = &g->mc->slot[i];
    slot->status = GSL_CONTINUE;
    if (atomic_load_explicit(&g->failed, memory_order_relaxed)) return;
    run_batch(g->mc, slot, g->first + i, g->mc->worker[worker], g->opt_stop);
    if (slot->status != GSL_SUCCESS) atomic_store_explicit(&g->failed, true, memory_order_relaxed);
}

/* Runs the batches of a group, in index order. If one is skipped because another failed, every
 * batch before the failed one has run. So the first failure by index is the same for any number of
 * threads. */
static void run_group(spec_montecarlo *mc, uint64_t first, int n, const volatile int *opt_stop)
{
    group g = {.mc = mc, .first = first, .opt_stop = opt_stop};
    spec_parallel_run(mc->plan.opt_pool, run_slot, &g, (uint64_t)n, mc->threads);
}

/* Weights a batch's ratio by its denominator [West79]: a ratio over twice the time has half the
 * variance. */
static void add_ratio(spec_batch_means *means, double numerator, double denominator)
{
    if (!(denominator > 0)) return;
    double ratio = numerator / denominator, delta = ratio - means->mean;
    means->n++;
    means->weight += denominator;
    means->mean += delta * denominator / means->weight;
    means->m2 += delta * denominator * (ratio - means->mean);
}

static void add_batch(spec_montecarlo_sum *sum, const spec_tally *tally)
{
    spec_tally_merge(&sum->tally, tally);
    add_ratio(&sum->emitted, (double)tally->emitted, (double)tally->rounds);
    add_ratio(&sum->first, (double)tally->passed[0], (double)tally->tested[0]);
    add_ratio(&sum->rate, (double)tally->emitted, tally->time);
    add_ratio(&sum->hit, (double)tally->hits, (double)tally->rounds);
    sum->batches++;
}

int spec_montecarlo_group(spec_montecarlo *mc, spec_montecarlo_sum *ret, uint64_t index,
                          const volatile int *opt_stop, spec_error *error)
{
    const uint64_t first = index * SPEC_MONTECARLO_GROUP,
                   left = (mc->limit - 1) / mc->plan.batch + 1 - first;
    const int n = (int)smaller(left, SPEC_MONTECARLO_GROUP);
    memset(ret, 0, sizeof *ret);
    run_group(mc, first, n, opt_stop);
    for (int i = 0; i < n; i++)
        if (mc->slot[i].status != GSL_SUCCESS)
            return spec_fail(error, mc->slot[i].status, "%s", mc->slot[i].error.text);
    for (int i = 0; i < n; i++) add_batch(ret, &mc->slot[i].tally);
    return GSL_SUCCESS;
}

/* Merges the weighted means and spreads of two sets of batches [Chan83]. */
static void merge_means(spec_batch_means *into, const spec_batch_means *from)
{
    if (into->n == 0)
        *into = *from;
    else if (from->n > 0) {
        const double weight = into->weight + from->weight, delta = from->mean - into->mean;
        into->m2 += from->m2 + delta * delta * into->weight * from->weight / weight;
        into->mean += delta * from->weight / weight;
        into->weight = weight;
        into->n += from->n;
    }
}

void spec_montecarlo_add(spec_montecarlo *mc, const spec_montecarlo_sum *sum)
{
    spec_tally_merge(&mc->sum.tally, &sum->tally);
    merge_means(&mc->sum.emitted, &sum->emitted);
    merge_means(&mc->sum.first, &sum->first);
    merge_means(&mc->sum.rate, &sum->rate);
    merge_means(&mc->sum.hit, &sum->hit);
    mc->sum.batches += sum->batches;
    mc->groups++;
    mc->done = mc->sum.tally.rounds >= mc->limit;
    if (mc->plan.standard_error > 0 && spec_montecarlo_emitted(mc).se <= mc->plan.standard_error)
        mc->done = true;
}

int spec_montecarlo_next(spec_montecarlo *mc, const volatile int *opt_stop, spec_error *error)
{
    spec_montecarlo_sum sum;
    if (mc->done) return GSL_SUCCESS;
    const int status = spec_montecarlo_group(mc, &sum, mc->groups, opt_stop, error);
    if (status == GSL_SUCCESS) spec_montecarlo_add(mc, &sum);
    return status;
}

int spec_montecarlo_run(spec_montecarlo *mc, const volatile int *opt_stop, spec_error *error)
{
    int status = GSL_SUCCESS;
    while (!mc->done && status == GSL_SUCCESS) status = spec_montecarlo_next(mc, opt_stop, error);
    return status;
}

/* ---- estimates ------------------------------------------------------------------------------- */

/* Returns the estimate with its standard error from batch means. */
static spec_estimate by_batches(double mean, const spec_batch_means *means)
{
    if (means->n < 2) return (spec_estimate){mean, NAN, NAN};
    const double df = (double)(means->n - 1);
    return (spec_estimate){mean, sqrt(means->m2 / (df * means->weight)), df};
}

/* Returns the mean number of tokens, with a standard error from the counts of single rounds. The
 * error is that of n_accepted, which is one smaller. */
static spec_estimate by_counts(const spec_tally *tally)
{
    double n = (double)tally->rounds, mean = (double)tally->accepted / n, m2 = 0,
           emitted = (double)tally->emitted / n;
    for (int k = 0; k <= SPEC_K_MAX; k++)
        m2 += (double)tally->n_accepted[k] * (k - mean) * (k - mean);
    if (tally->rounds < 2) return (spec_estimate){emitted, NAN, NAN};
    return (spec_estimate){emitted, sqrt(m2 / (n - 1) / n), n - 1};
}

static const spec_estimate no_estimate = {NAN, NAN, NAN};

spec_estimate spec_montecarlo_emitted(const spec_montecarlo *mc)
{
    const spec_tally *tally = &mc->sum.tally;
    if (tally->rounds == 0) return no_estimate;
    if (mc->source.independent) return by_counts(tally);
    return by_batches((double)tally->emitted / (double)tally->rounds, &mc->sum.emitted);
}

spec_estimate spec_montecarlo_first(const spec_montecarlo *mc)
{
    double n = (double)mc->sum.tally.tested[0], mean = (double)mc->sum.tally.passed[0] / n;
    if (mc->sum.tally.tested[0] == 0) return no_estimate;
    if (!mc->source.independent) return by_batches(mean, &mc->sum.first);
    if (mc->sum.tally.tested[0] < 2) return (spec_estimate){mean, NAN, NAN};
    return (spec_estimate){mean, sqrt(mean * (1 - mean) / (n - 1)), n - 1};
}

spec_estimate spec_montecarlo_rate(const spec_montecarlo *mc)
{
    const spec_tally *tally = &mc->sum.tally;
    if (!(tally->time > 0)) return no_estimate;
    spec_estimate rate = mc->source.independent ? by_counts(tally) : by_batches(0, &mc->sum.rate);
    rate.mean = (double)tally->emitted / tally->time;
    if (mc->source.independent) rate.se = rate.se * (double)tally->rounds / tally->time;
    return rate;
}

spec_estimate spec_montecarlo_hit(const spec_montecarlo *mc)
{
    if (mc->sum.tally.rounds == 0) return no_estimate;
    return by_batches((double)mc->sum.tally.hits / (double)mc->sum.tally.rounds, &mc->sum.hit);
}
