/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"

#include "analysis/cascade.h"
#include "analysis/speedup.h"
#include "speclab/round.h"

#include <math.h>

enum { ROUNDS_MAX = 64 };

/* Reads the lengths of a point; -1 for one that is not given. */
static int read_lengths(int rounds[2], const spec_point *point, const spec_measure *measure,
                        spec_error *error)
{
    static const char *const names[] = {"inner_rounds", "inner_K"};
    int status = GSL_SUCCESS;
    for (int i = 0; i < 2; i++) {
        rounds[i] = -1;
        if (spec_point_text(point, measure, names[i])[0] != '\0')
            SPEC_TRY(spec_point_int(&rounds[i], point, measure, names[i], 1, SPEC_K_MAX, error));
    }
done:
    return status;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    double alpha[2], cost[3] = {1.0}, direct = NAN;
    int rounds[2], best[2], status = GSL_SUCCESS;
    SPEC_TRY(spec_point_double(&alpha[0], point, measure, "alpha", 0.0, 1.0, error));
    SPEC_TRY(spec_point_double(&alpha[1], point, measure, "inner_alpha", 0.0, 1.0, error));
    SPEC_TRY(spec_point_double(&cost[1], point, measure, "c", 0.0, 1e6, error));
    SPEC_TRY(spec_point_double(&cost[2], point, measure, "inner_c", 0.0, 1e6, error));
    if (spec_point_text(point, measure, "direct_alpha")[0] != '\0')
        SPEC_TRY(spec_point_double(&direct, point, measure, "direct_alpha", 0.0, 1.0, error));
    SPEC_TRY(read_lengths(rounds, point, measure, error));
    SPEC_TRY(spec_point_read(point));
    if (isnan(direct)) direct = alpha[0] * alpha[1];

    const double middle = spec_speedup_best(alpha[0], cost[1]),
                 small = spec_speedup_best(direct, cost[2]),
                 three = spec_cascade_best(best, 3, alpha, cost, ROUNDS_MAX),
                 two = fmax(1.0, fmax(middle, small));
    for (int i = 0; i < 2; i++)
        if (rounds[i] < 0) rounds[i] = best[i];
    const spec_cascade cascade = {.n = 3, .alpha = alpha, .cost = cost, .rounds = rounds};
    const double emitted = spec_cascade_emitted(&cascade);
    spec_table_number(table, "emitted", emitted);
    spec_table_number(table, "speedup", emitted / spec_cascade_cost(&cascade));
    spec_table_integer(table, "rounds_inner", best[0]);
    spec_table_integer(table, "K_inner", best[1]);
    spec_table_number(table, "best_speedup", three);
    spec_table_number(table, "speedup_middle", middle);
    spec_table_number(table, "speedup_small", small);
    spec_table_number(table, "gain", three / two);
    spec_table_text(table, "best",
                    three > two     ? "three"
                    : middle == two ? "middle"
                    : small == two  ? "small"
                                    : "plain");
done:
    return status;
}

static const char *const parameters[] = {"alpha",        "inner_alpha",   "direct_alpha=", "c=0.2",
                                         "inner_c=0.02", "inner_rounds=", "inner_K=",      NULL};
static const char *const columns[] = {
    "emitted",        "speedup",       "rounds_inner", "K_inner", "best_speedup",
    "speedup_middle", "speedup_small", "gain",         "best",    NULL};
static const spec_headline headlines[] = {
    {.column = "gain", .exact = true}, {.column = "speedup", .exact = true}, {0}};
static const spec_assumption assumes[] = {{"c", NULL, NULL, NULL, NULL},
                                          {"inner_c", NULL, NULL, NULL, NULL},
                                          {NULL, NULL, NULL, NULL, NULL}};

const spec_measure spec_measure_cascade = {
    .name = "cascade",
    .summary =
        "tokens per round and speed-up of three models, each of which drafts for the one before, "
        "their best lengths, and the best speed-up of only two of them",
    .parameters = parameters,
    .assumes = assumes,
    .columns = columns,
    .headlines = headlines,
    .run = run,
};
