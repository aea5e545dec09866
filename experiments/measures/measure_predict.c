/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"

#include "analysis/capped_geometric.h"
#include "analysis/speedup.h"
#include "experiments/measures/process_law.h"
#include "experiments/pass_costs.h"

#include <math.h>

/* The cost of drafting: c per call, and c_token per token. */
typedef struct {
    double c, c_token;
    bool one_pass;
} draft_cost;

/* Returns the c of Theorem 3.8 for which a round takes as long as this drafting plus a pass of K +
 * 1 tokens, t(K + 1): K c' + 1 = drafting + t(K + 1). */
static double effective_c(const spec_pass_costs *costs, int K, const draft_cost *draft)
{
    const double drafting =
        draft->one_pass && K > 0 ? draft->c / K + draft->c_token : draft->c + draft->c_token;
    return costs->n > 0 && K > 0 ? drafting + (spec_pass_costs_time(costs, K + 1) - 1.0) / K
                                 : drafting;
}

/* Returns the speed-up for a process other than iid; NaN if its moments are not known. */
static double process_speedup(const spec_process *process, int K, double c)
{
    double mean, variance;
    if (spec_process_moments(&mean, &variance, process, K) != GSL_SUCCESS) return NAN;
    return spec_speedup_from_emitted(mean, 1.0, K * c);
}

/* Returns the best K for such a process, among the K that it allows and whose pass time is
 * known. */
static int best_of_process(const spec_process *process, const spec_pass_costs *costs,
                           const draft_cost *draft)
{
    int best = 0;
    for (int K = 1; K <= SPEC_K_MAX && (costs->n == 0 || K < costs->width[costs->n - 1]); K++)
        if (spec_acceptance_process_check(process, K, NULL) == GSL_SUCCESS &&
            process_speedup(process, K, effective_c(costs, K, draft)) >
                process_speedup(process, best, effective_c(costs, best, draft)))
            best = K;
    return best;
}

/* Returns the best K for iid acceptance, among the K whose pass time is known. */
static int best_by_costs(const spec_pass_costs *costs, double alpha, const draft_cost *draft)
{
    int best = 0;
    for (int K = 1; K <= SPEC_K_MAX && K < costs->width[costs->n - 1]; K++)
        if (spec_speedup(alpha, K, effective_c(costs, K, draft)) >
            spec_speedup(alpha, best, effective_c(costs, best, draft)))
            best = K;
    return best;
}

/* Finds the best K over all K, without measured passes. */
static void best_of_all(double *ret_K, double *ret_speedup, double alpha, const draft_cost *draft)
{
    const double each = draft->c + draft->c_token;
    *ret_K = draft->one_pass ? spec_speedup_one_pass_best_K(alpha, draft->c, draft->c_token)
                             : spec_speedup_best_K(alpha, each);
    *ret_speedup = draft->one_pass ? spec_speedup_one_pass_best(alpha, draft->c, draft->c_token)
                                   : spec_speedup_best(alpha, each);
}

/* All columns but the last. */
typedef struct {
    double emitted, variance, speedup, ops_factor, best_K, best_speedup;
} prediction;

static prediction predict_iid(double alpha, int K, const spec_pass_costs *costs,
                              const draft_cost *draft, double ops_ratio)
{
    prediction p = {.emitted = spec_capped_geometric_mean(alpha, K),
                    .variance = spec_capped_geometric_variance(alpha, K),
                    .speedup = spec_speedup(alpha, K, effective_c(costs, K, draft)),
                    .ops_factor = spec_speedup_ops_factor(alpha, K, ops_ratio)};
    best_of_all(&p.best_K, &p.best_speedup, alpha, draft);
    if (costs->n > 0) {
        const int best = best_by_costs(costs, alpha, draft);
        p.best_K = best;
        p.best_speedup = spec_speedup(alpha, best, effective_c(costs, best, draft));
    }
    return p;
}

static int predict_process(prediction *ret, const spec_process *process, int K,
                           const spec_pass_costs *costs, const draft_cost *draft, double ops_ratio)
{
    const int best = best_of_process(process, costs, draft);
    const int status = spec_process_moments(&ret->emitted, &ret->variance, process, K);
    ret->speedup = process_speedup(process, K, effective_c(costs, K, draft));
    ret->ops_factor = (K * ops_ratio + K + 1) / ret->emitted;
    ret->best_K = best;
    ret->best_speedup = process_speedup(process, best, effective_c(costs, best, draft));
    return status;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    spec_pass_costs costs = {0};
    spec_process process;
    draft_cost draft;
    prediction p;
    double ops_ratio;
    int K, one_pass, status = GSL_SUCCESS;
    SPEC_TRY(spec_point_int(&K, point, measure, "K", 0, SPEC_K_MAX, error));
    SPEC_TRY(spec_point_process(&process, point, measure, K, error));
    SPEC_TRY(spec_pass_costs_of_point(&costs, &draft.c, point, measure, error));
    SPEC_TRY(spec_point_double(&draft.c_token, point, measure, "c_token", 0.0, 1e6, error));
    SPEC_TRY(spec_point_int(&one_pass, point, measure, "one_pass", 0, 1, error));
    draft.one_pass = one_pass == 1;
    if (costs.n > 0 && K >= costs.width[costs.n - 1])
        SPEC_TRY(
            spec_fail(error, GSL_EINVAL,
                      "K: a pass of %d tokens is longer than any in %.200s, whose longest has %d",
                      K + 1, spec_point_text(point, measure, "costs"), costs.width[costs.n - 1]));
    SPEC_TRY(spec_point_ops_ratio(&ops_ratio, point, measure, draft.c, error));
    SPEC_TRY(spec_point_read(point));
    if (process.kind == SPEC_PROCESS_IID)
        p = predict_iid(process.alpha, K, &costs, &draft, ops_ratio);
    else
        SPEC_TRY(predict_process(&p, &process, K, &costs, &draft, ops_ratio));

    spec_table_number(table, "emitted", p.emitted);
    spec_table_number(table, "emitted_var", p.variance);
    spec_table_number(table, "speedup", p.speedup);
    spec_table_number(table, "ops_factor", p.ops_factor);
    spec_table_whole(table, "best_K", p.best_K);
    spec_table_number(table, "best_speedup", p.best_speedup);
    spec_table_number(table, "break_even_alpha",
                      spec_speedup_break_even_alpha(K, effective_c(&costs, K, &draft)));
done:
    spec_pass_costs_free(&costs);
    return status;
}

static const char *const parameters[] = {
    "process=iid", "alpha=", "K", "c=0.1", "c_token=0", "one_pass=0", "costs=", "ops_ratio=", NULL};
static const char *const columns[] = {"emitted", "emitted_var",  "speedup",          "ops_factor",
                                      "best_K",  "best_speedup", "break_even_alpha", NULL};
static const spec_headline headlines[] = {
    {.column = "emitted", .unit = "tokens per round", .exact = true},
    {.column = "speedup", .exact = true},
    {0},
};

static const spec_assumption assumes[] = {
    {"c", NULL, NULL, NULL, NULL},
    {"costs", "none", "a pass of K + 1 tokens takes as long as one of 1", NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

const spec_measure spec_measure_predict = {
    .name = "predict",
    .summary = "closed forms: tokens per round, speed-up, operations, the best K, break-even",
    .parameters = parameters,
    .assumes = assumes,
    .columns = columns,
    .headlines = headlines,
    .run = run,
};
