/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"

#include "analysis/ahead.h"
#include "analysis/capped_geometric.h"
#include "analysis/speedup.h"

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    double alpha, c, guess, handed;
    int K, status = GSL_SUCCESS;
    SPEC_TRY(spec_point_double(&alpha, point, measure, "alpha", 0.0, 1.0, error));
    SPEC_TRY(spec_point_int(&K, point, measure, "K", 0, SPEC_K_MAX, error));
    SPEC_TRY(spec_point_double(&c, point, measure, "c", 0.0, 1e6, error));
    SPEC_TRY(spec_point_double(&guess, point, measure, "guess", 0.0, 1.0, error));
    SPEC_TRY(spec_point_double(&handed, point, measure, "handed", 0.0, 1.0, error));
    SPEC_TRY(spec_point_read(point));

    spec_table_number(table, "emitted", spec_capped_geometric_mean(alpha, K));
    spec_table_number(table, "speedup", spec_speedup(alpha, K, c));
    spec_table_number(table, "speedup_ahead", spec_ahead_speedup(alpha, K, c, guess, handed));
    spec_table_number(table, "hit", spec_ahead_hit(alpha, K, guess));
    if (handed == 0.0) {
        spec_table_number(table, "break_even_hit", spec_ahead_break_even(K, c));
        spec_table_number(table, "break_even_c", spec_ahead_break_even_cost(alpha, K, guess));
    }
    spec_table_whole(table, "best_K", spec_speedup_best_K(alpha, c));
    spec_table_number(table, "best_speedup", spec_speedup_best(alpha, c));
    spec_table_whole(table, "best_K_ahead", spec_ahead_best_K(alpha, c, guess, handed));
    spec_table_number(table, "best_speedup_ahead",
                      spec_ahead_best_speedup(alpha, c, guess, handed));
    spec_table_number(table, "speedup_pearl", spec_ahead_pearl_speedup(alpha, K, c));
done:
    return status;
}

static const char *const parameters[] = {"alpha", "K", "c=0.1", "guess=1", "handed=0", NULL};
static const char *const columns[] = {
    "emitted",       "speedup", "speedup_ahead", "hit",          "break_even_hit",
    "break_even_c",  "best_K",  "best_speedup",  "best_K_ahead", "best_speedup_ahead",
    "speedup_pearl", NULL};
static const spec_headline headlines[] = {
    {.column = "speedup_ahead", .exact = true},
    {.column = "speedup", .exact = true},
    {0},
};

static const spec_assumption assumes[] = {
    {"c", NULL, NULL, NULL, NULL},
    {"guess", NULL, NULL, NULL, NULL},
    {"handed", NULL, "two devices", NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

const spec_measure spec_measure_ahead = {
    .name = "ahead",
    .summary = "closed forms of drafting ahead: speed-up with and without, hits, break-even, and "
               "the best K of each",
    .parameters = parameters,
    .assumes = assumes,
    .columns = columns,
    .headlines = headlines,
    .run = run,
};
