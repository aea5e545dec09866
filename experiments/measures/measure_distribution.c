/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"

#include "analysis/capped_geometric.h"
#include "experiments/measures/process_law.h"

static double probability_of(const spec_process *process, int K, int k)
{
    if (process->kind == SPEC_PROCESS_IID)
        return spec_capped_geometric_probability(process->alpha, K, k);
    return spec_process_tail(process, K, k) - spec_process_tail(process, K, k + 1);
}

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
    spec_process process;
    int K, status = GSL_SUCCESS;
    SPEC_TRY(spec_point_int(&K, point, measure, "K", 0, SPEC_K_MAX, error));
    SPEC_TRY(spec_point_process(&process, point, measure, K, error));
    if (process.kind == SPEC_PROCESS_MARKOV)
        SPEC_TRY(spec_fail(error, GSL_EINVAL,
                           "process: the distribution of markov has no closed "
                           "form"));
    SPEC_TRY(spec_point_read(point));
    for (int k = 0; k <= K; k++) {
        spec_table_integer(table, "n_accepted", k);
        spec_table_number(table, "probability", probability_of(&process, K, k));
        spec_table_number(table, "tail", spec_process_tail(&process, K, k));
        if (k < K) SPEC_TRY(spec_table_append(table));
    }
done:
    return status;
}

static const char *const parameters[] = {"process=iid", "alpha=", "K", NULL};
static const char *const columns[] = {"n_accepted", "probability", "tail", NULL};
static const spec_headline headlines[] = {{.column = "probability", .exact = true}, {0}};
static const char *const keys[] = {"n_accepted", NULL};

const spec_measure spec_measure_distribution = {
    .name = "distribution",
    .summary = "the distribution of n_accepted of an acceptance process: probability and tail of "
               "each value",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .keys = keys,
    .rows = rows,
    .run = run,
};
