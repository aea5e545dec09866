/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"

#include "analysis/alpha.h"
#include "analysis/tree_plan.h"

#include <math.h>

/* Reads an optional parameter: NaN if it is left out. */
static int optional(double *ret, const spec_point *point, const spec_measure *measure,
                    const char *name, spec_error *error)
{
    *ret = NAN;
    if (spec_point_text(point, measure, name)[0] == '\0') return GSL_SUCCESS;
    return spec_point_double(ret, point, measure, name, 1e-3, 1e6, error);
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    double emitted, speedup;
    int K, other_K, chains, status = GSL_SUCCESS;
    SPEC_TRY(spec_point_int(&K, point, measure, "K", 1, SPEC_K_MAX, error));
    SPEC_TRY(spec_point_double(&emitted, point, measure, "printed_emitted", 1.0, K + 1.0, error));
    SPEC_TRY(optional(&speedup, point, measure, "printed_speedup", error));
    SPEC_TRY(spec_point_int(&other_K, point, measure, "other_K", 1, SPEC_K_MAX, error));
    SPEC_TRY(spec_point_int(&chains, point, measure, "chains", 1, 1000000, error));
    SPEC_TRY(spec_point_read(point));
    const double alpha = spec_alpha_from_emitted(emitted, K);

    spec_table_number(table, "implied_alpha", alpha);
    spec_table_number(table, "implied_c", (emitted / speedup - 1.0) / K);
    spec_table_number(table, "emitted_other",
                      spec_tree_plan_parallel_chains(alpha, other_K, chains));
done:
    return status;
}

static const char *const parameters[] = {
    "printed_emitted", "K", "printed_speedup=", "other_K", "chains=1", NULL};
static const char *const columns[] = {"implied_alpha", "implied_c", "emitted_other", NULL};
static const spec_headline headlines[] = {{.column = "implied_alpha", .exact = true}, {0}};

const spec_measure spec_measure_implied_alpha = {
    .name = "implied_alpha",
    .summary = "the alpha and c implied by a printed number of tokens and speed-up, and the tokens "
               "at another K, or of several chains",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .run = run,
};
