/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"

#include "analysis/capped_geometric.h"

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    double alpha, printed;
    int K, status = GSL_SUCCESS;
    SPEC_TRY(spec_point_double(&alpha, point, measure, "alpha", 0.0, 1.0, error));
    SPEC_TRY(spec_point_int(&K, point, measure, "K", 1, SPEC_K_MAX, error));
    SPEC_TRY(spec_point_double(&printed, point, measure, "printed_speedup", 1e-3, 1e6, error));
    SPEC_TRY(spec_point_read(point));
    const double emitted = spec_capped_geometric_mean(alpha, K);

    spec_table_number(table, "emitted", emitted);
    spec_table_number(table, "speedup_free", emitted); /* Thm 3.8 at c = 0 */
    spec_table_number(table, "implied_c", (emitted / printed - 1.0) / K);
    spec_table_text(table, "possible", emitted >= printed ? "yes" : "no");
done:
    return status;
}

static const char *const parameters[] = {"alpha", "K", "printed_speedup", NULL};
static const char *const columns[] = {"emitted", "speedup_free", "implied_c", "possible", NULL};
static const spec_headline headlines[] = {
    {.column = "implied_c", .unit = "target calls", .exact = true}, {0}};

const spec_measure spec_measure_implied_cost = {
    .name = "implied_cost",
    .summary = "the draft cost c at which Theorem 3.8 gives a printed speed-up; below 0 no draft "
               "is cheap enough",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .run = run,
};
