#include "experiments/measures/measures.h"

#include "analysis/capped_geometric.h"
#include "analysis/speedup.h"

static int run(spec_table *table, const spec_point *point, const spec_measure *measure, spec_error *error)
{
    double alpha, c, ops_ratio;
    int K, status = GSL_SUCCESS;
    SPEC_TRY(spec_point_double(&alpha, point, measure, "alpha", 0.0, 1.0, error));
    SPEC_TRY(spec_point_int(&K, point, measure, "K", 0, SPEC_K_MAX, error));
    SPEC_TRY(spec_point_double(&c, point, measure, "c", 0.0, 1e6, error));
    SPEC_TRY(spec_point_ops_ratio(&ops_ratio, point, measure, c, error));
    int best = spec_best_K(alpha, c, SPEC_K_MAX);

    spec_table_number(table, "emitted", spec_capped_geometric_mean(alpha, K));
    spec_table_number(table, "emitted_var", spec_capped_geometric_variance(alpha, K));
    spec_table_number(table, "speedup", spec_speedup(alpha, K, c));
    spec_table_number(table, "ops_factor", spec_ops_factor(alpha, K, ops_ratio));
    spec_table_integer(table, "best_K", best);
    spec_table_number(table, "best_speedup", spec_speedup(alpha, best, c));
    spec_table_number(table, "break_even_alpha", spec_break_even_alpha(K, c));
done:
    return status;
}

static const char *const parameters[] = {"alpha", "K", "c=0.1", "ops_ratio=", NULL};
static const char *const columns[] = {"emitted",      "emitted_var",      "speedup", "ops_factor", "best_K",
                                      "best_speedup", "break_even_alpha", NULL};

const spec_measure spec_measure_predict = {
    .name = "predict",
    .summary = "closed forms alone: tokens per round, speed-up, operations, the best K, break-even",
    .parameters = parameters,
    .columns = columns,
    .run = run,
};
