/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"

#include "analysis/capped_geometric.h"

static int rows(uint64_t *ret_rows, const spec_point *point, const spec_measure *measure,
                spec_error *error)
{
    int K, status = spec_point_int(&K, point, measure, "K", 0, SPEC_K_MAX, error);
    *ret_rows = status == GSL_SUCCESS ? (uint64_t)K + 1 : 0;
    return status;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    double alpha;
    int K, status = GSL_SUCCESS;
    SPEC_TRY(spec_point_double(&alpha, point, measure, "alpha", 0.0, 1.0, error));
    SPEC_TRY(spec_point_int(&K, point, measure, "K", 0, SPEC_K_MAX, error));
    SPEC_TRY(spec_point_read(point));
    for (int k = 0; k <= K; k++) {
        spec_table_integer(table, "n_accepted", k);
        spec_table_number(table, "probability", spec_capped_geometric_probability(alpha, K, k));
        spec_table_number(table, "tail", spec_capped_geometric_tail(alpha, K, k));
        if (k < K) SPEC_TRY(spec_table_append(table));
    }
done:
    return status;
}

static const char *const parameters[] = {"alpha", "K", NULL};
static const char *const columns[] = {"n_accepted", "probability", "tail", NULL};
static const spec_headline headlines[] = {{.column = "probability", .exact = true}, {0}};
static const char *const keys[] = {"n_accepted", NULL};

const spec_measure spec_measure_law = {
    .name = "law",
    .reads_first = true,
    .summary = "the law of n_accepted under iid acceptance: probability and tail of each value",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .keys = keys,
    .rows = rows,
    .run = run,
};
