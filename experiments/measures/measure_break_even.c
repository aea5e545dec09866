/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"
#include "experiments/serving_choices.h"
#include "speclab/no_memory.h"

#include "analysis/capped_geometric.h"
#include "analysis/serving/break_even.h"

#include <gsl/gsl_errno.h>
#include <math.h>

enum { CONTEXT_MAX = 1 << 30 };

/* A full batch of requests that all have one context length. */
typedef struct {
    const spec_step_cost *cost;
    double alpha;
    int batch;
} full_batch;

/* Returns tokens per second of one request in decoding steps with K draft tokens. */
static double tokens_per_s(const full_batch *of, int K, double context)
{
    const spec_step_work work = {.decode_tokens = (int64_t)of->batch * (K + 1),
                                 .kv_tokens = (int64_t)(of->batch * context),
                                 .drafted = (int64_t)of->batch * K,
                                 .decoding = of->batch,
                                 .passes = K};
    return spec_capped_geometric_mean(of->alpha, K) /
           (spec_step_cost_target(of->cost, &work) + spec_step_cost_draft(of->cost, &work));
}

static double speedup(const full_batch *of, int K, double context)
{
    return tokens_per_s(of, K, context) / tokens_per_s(of, 0, context);
}

/* Returns the context length from which speculation pays off at this batch: 0, or the length at
 * which the speed-up crosses 1; inf if it does not cross 1 up to CONTEXT_MAX. Reading the cache
 * makes verification relatively cheaper, so a speed-up below 1 increases with the context. */
static double break_even_context(const full_batch *of, int K)
{
    double low = 0.0, high = CONTEXT_MAX;
    if (K == 0) return NAN;
    if (speedup(of, K, low) >= 1.0) return 0.0;
    if (!(speedup(of, K, high) >= 1.0)) return INFINITY;
    while (high - low > 0.5) {
        const double middle = 0.5 * (low + high);
        if (speedup(of, K, middle) >= 1.0)
            high = middle;
        else
            low = middle;
    }
    return high;
}

static void fill_row(spec_table *table, const full_batch *of, const spec_serving_way *way,
                     double context, int best_K)
{
    const spec_affine_step *affine = spec_step_cost_affine(of->cost);
    const int K = way->K;
    const double emitted = spec_capped_geometric_mean(of->alpha, K);
    double from, to;
    spec_table_integer(table, "K", K);
    spec_table_number(table, "speedup", speedup(of, K, context));
    spec_table_number(table, "tokens_per_s", of->batch * tokens_per_s(of, K, context));
    spec_table_integer(table, "best_K", best_K);
    spec_table_number(table, "best_speedup", speedup(of, best_K, context));
    spec_table_number(table, "break_even_context", break_even_context(of, K));
    if (affine == NULL || K == 0) return;
    spec_break_even_batch(&from, &to, affine, K, emitted, context);
    spec_table_number(table, "break_even_batch", from == 0.0 ? to : NAN);
    spec_table_number(table, "large_batch_context",
                      spec_break_even_context(affine, K, emitted, 0.0));
}

static int count_rows(uint64_t *ret_rows, const spec_point *point, const spec_measure *measure,
                      spec_error *error)
{
    return spec_serving_choices_count(ret_rows, spec_point_text(point, measure, "K"), "fixed",
                                      error);
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    spec_step_cost *cost = NULL;
    spec_serving_choices choices = {0};
    full_batch of = {0};
    int context, best = 0, status = GSL_SUCCESS;
    bool first = true;
    SPEC_TRY(spec_point_double(&of.alpha, point, measure, "alpha", 0.0, 1.0, error));
    SPEC_TRY(spec_point_int(&of.batch, point, measure, "batch", 1, 1 << 20, error));
    SPEC_TRY(spec_point_int(&context, point, measure, "context", 0, CONTEXT_MAX, error));
    SPEC_TRY(spec_point_step_cost(&cost, point, measure, error));
    of.cost = cost;
    SPEC_TRY(spec_serving_choices_init(&choices, spec_point_text(point, measure, "K"), "fixed",
                                       cost, error));
    SPEC_TRY(spec_point_read(point));
    for (int i = 0; i < choices.n; i++) {
        const int K = choices.way[i].K;
        const double gain = tokens_per_s(&of, K, context) - tokens_per_s(&of, best, context);
        if (gain > 0.0 || (gain == 0.0 && K < best)) best = K;
    }
    for (int i = 0; i < choices.n; i++) {
        if (!choices.way[i].asked) continue;
        if (!first && spec_table_append(table) != GSL_SUCCESS) SPEC_TRY(spec_no_memory(error));
        first = false;
        fill_row(table, &of, &choices.way[i], context, best);
    }
done:
    spec_serving_choices_free(&choices);
    spec_step_cost_free(cost);
    return status;
}

static const char *const parameters[] = {"alpha=0.8", "K=0,1,3,5",   "batch", "context",
                                         "cost",      "draft_cost=", NULL};
static const char *const columns[] = {"K",
                                      "speedup",
                                      "tokens_per_s",
                                      "best_K",
                                      "best_speedup",
                                      "break_even_context",
                                      "break_even_batch",
                                      "large_batch_context",
                                      NULL};
static const spec_headline headlines[] = {
    {.column = "speedup", .exact = true}, {.column = "best_speedup", .exact = true}, {0}};
static const char *const keys[] = {"K", NULL};

const spec_measure spec_measure_break_even = {
    .name = "break_even",
    .summary = "decoding steps of a full batch at one context: speed-up, best K, and where it "
               "breaks even",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .keys = keys,
    .rows = count_rows,
    .run = run,
};
