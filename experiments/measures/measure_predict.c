/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"

#include "analysis/capped_geometric.h"
#include "analysis/speedup.h"
#include "experiments/pass_costs.h"

/* The c of Theorem 3.8 for a round whose pass of K + 1 tokens takes t(K + 1): K c' + 1 = K c +
 * t(K + 1). */
static double effective_c(const spec_pass_costs *costs, int K, double c)
{
    return costs->n > 0 && K > 0 ? c + (spec_pass_costs_time(costs, K + 1) - 1.0) / K : c;
}

/* The best K among those with a known pass time. */
static int best_by_costs(const spec_pass_costs *costs, double alpha, double c)
{
    int best = 0;
    for (int K = 1; K <= SPEC_K_MAX && K < costs->width[costs->n - 1]; K++)
        if (spec_speedup(alpha, K, effective_c(costs, K, c)) >
            spec_speedup(alpha, best, effective_c(costs, best, c)))
            best = K;
    return best;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    spec_pass_costs costs = {0};
    double alpha, c, ops_ratio;
    int K, status = GSL_SUCCESS;
    SPEC_TRY(spec_point_double(&alpha, point, measure, "alpha", 0.0, 1.0, error));
    SPEC_TRY(spec_point_int(&K, point, measure, "K", 0, SPEC_K_MAX, error));
    SPEC_TRY(spec_pass_costs_of_point(&costs, &c, point, measure, error));
    if (costs.n > 0 && K >= costs.width[costs.n - 1])
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "K: a pass of %d tokens is beyond those of %.200s, of up to %d", K + 1,
                           spec_point_text(point, measure, "costs"), costs.width[costs.n - 1]));
    SPEC_TRY(spec_point_ops_ratio(&ops_ratio, point, measure, c, error));
    SPEC_TRY(spec_point_read(point));
    const double cost = effective_c(&costs, K, c);
    double best_K = spec_speedup_best_K(alpha, c), best_speedup = spec_speedup_best(alpha, c);
    if (costs.n > 0) {
        const int best = best_by_costs(&costs, alpha, c);
        best_K = best;
        best_speedup = spec_speedup(alpha, best, effective_c(&costs, best, c));
    }

    spec_table_number(table, "emitted", spec_capped_geometric_mean(alpha, K));
    spec_table_number(table, "emitted_var", spec_capped_geometric_variance(alpha, K));
    spec_table_number(table, "speedup", spec_speedup(alpha, K, cost));
    spec_table_number(table, "ops_factor", spec_speedup_ops_factor(alpha, K, ops_ratio));
    spec_table_whole(table, "best_K", best_K);
    spec_table_number(table, "best_speedup", best_speedup);
    spec_table_number(table, "break_even_alpha", spec_speedup_break_even_alpha(K, cost));
done:
    spec_pass_costs_free(&costs);
    return status;
}

static const char *const parameters[] = {"alpha", "K", "c=0.1", "costs=", "ops_ratio=", NULL};
static const char *const columns[] = {"emitted", "emitted_var",  "speedup",          "ops_factor",
                                      "best_K",  "best_speedup", "break_even_alpha", NULL};
static const spec_headline headlines[] = {
    {.column = "emitted", .unit = "tokens per round", .exact = true},
    {.column = "speedup", .exact = true},
    {0},
};

const spec_measure spec_measure_predict = {
    .name = "predict",
    .reads_first = true,
    .summary = "closed forms alone: tokens per round, speed-up, operations, the best K, break-even",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .run = run,
};
