/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"
#include "speclab/no_memory.h"

#include "analysis/rules/optimal.h"
#include "base/names.h"
#include "base/noise.h"
#include "models/synthetic/cases.h"

#include <math.h>

enum { PAIRS_MAX = 100000000 };

static const char *family_name(int i)
{
    return spec_cases_families[i];
}

/* Returns whether the quoted value is below the optimum by more than rounding. */
static bool falls_short(double quoted, double optimal)
{
    return quoted < optimal - 1e-12;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    spec_ratio_order order = {0};
    double target[SPEC_CASES_VOCAB_MAX], draft[SPEC_CASES_VOCAB_MAX];
    double quoted = 0.0, optimal = 0.0, gap = 0.0;
    int vocab, n, cases, below = 0, status = GSL_SUCCESS;
    SPEC_TRY(spec_point_int(&vocab, point, measure, "V", 1, SPEC_CASES_VOCAB_MAX, error));
    SPEC_TRY(spec_point_int(&n, point, measure, "n", 1, SPEC_DRAFTS_MAX, error));
    SPEC_TRY(spec_point_int(&cases, point, measure, "cases", 1, PAIRS_MAX, error));
    SPEC_TRY(spec_point_read(point));
    const int family =
        spec_names_find(family_name, spec_point_text(point, measure, "family"), "family", error);
    if (family < 0) return GSL_EINVAL;
    if (spec_ratio_order_init(&order, vocab) != GSL_SUCCESS) return spec_no_memory(error);
    for (int i = 0; i < cases; i++) {
        uint64_t noise = spec_noise_key((uint64_t)i + 1, NULL, 0, 0);
        gsl_rng rng = {.type = spec_noise_rng_type, .state = &noise};
        spec_cases_pair(target, draft, vocab, (spec_cases_family)family, &rng);
        spec_ratio_order_sort(&order, target, draft);
        const double expression = spec_optimal_quoted(&order, n),
                     most = spec_optimal_iid(&order, n);
        quoted += expression / cases;
        optimal += most / cases;
        gap = fmax(gap, most - expression);
        below += falls_short(expression, most);
    }
    spec_table_number(table, "quoted", quoted);
    spec_table_number(table, "optimal", optimal);
    spec_table_number(table, "largest_gap", gap);
    spec_table_number(table, "below", (double)below / cases);
done:
    spec_ratio_order_free(&order);
    return status;
}

static const char *const parameters[] = {"V=3", "n=2", "family=plain", "cases=1000", NULL};
static const char *const columns[] = {"quoted", "optimal", "largest_gap", "below", NULL};
static const spec_headline headlines[] = {
    {.column = "largest_gap", .exact = true}, {.column = "below", .exact = true}, {0}};

const spec_measure spec_measure_quoted_optimum = {
    .name = "quoted_optimum",
    .summary = "an expression quoted as optimal for several iid drafts, compared with the optimum "
               "over random pairs",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .run = run,
};
