/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"

#include "analysis/capped_geometric.h"
#include "analysis/modulated.h"
#include "analysis/rounded_normal.h"
#include "analysis/speedup.h"

#include <math.h>

/* Returns the theoretical mean of n_emitted for each process. */
static int emitted_theory(double *ret_mean, const spec_process *process, int K)
{
    double a[SPEC_K_MAX], variance;
    switch (process->kind) {
    case SPEC_PROCESS_IID: *ret_mean = spec_capped_geometric_mean(process->alpha, K); break;
    case SPEC_PROCESS_DECAY:
        for (int i = 0; i < K; i++) a[i] = process->alpha * pow(process->decay, i);
        *ret_mean = spec_capped_geometric_positional_mean(a, K);
        break;
    case SPEC_PROCESS_MARKOV:
        return spec_modulated_pair(ret_mean, &variance, process->alpha, process->spread,
                                   process->rho, K);
    case SPEC_PROCESS_MINIMUM_VARIANCE:
    case SPEC_PROCESS_GEOMETRIC: *ret_mean = process->length; break;
    case SPEC_PROCESS_ROUNDED_NORMAL:
        *ret_mean = spec_rounded_normal_mean(process->length, K);
        break;
    case SPEC_PROCESS_RATES:
        *ret_mean = 1.0;
        for (int i = 0; i < K; i++) *ret_mean += process->rate[i];
        break;
    /* refused earlier, because it needs more than rounds */
    case SPEC_PROCESS_CONTEXT: *ret_mean = NAN; break;
    }
    return GSL_SUCCESS;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    spec_acceptance_config config = {.costs = SPEC_COSTS_DEFAULT};
    spec_tally tally;
    spec_estimate emitted;
    double c, c_token, ops_ratio, theory;
    int K, one_pass, status = GSL_SUCCESS;
    SPEC_TRY(spec_point_int(&K, point, measure, "K", 0, SPEC_K_MAX, error));
    SPEC_TRY(spec_point_double(&c, point, measure, "c", 0.0, 1e6, error));
    SPEC_TRY(spec_point_double(&c_token, point, measure, "c_token", 0.0, 1e6, error));
    SPEC_TRY(spec_point_int(&one_pass, point, measure, "one_pass", 0, 1, error));
    SPEC_TRY(spec_point_ops_ratio(&ops_ratio, point, measure, c, error));
    SPEC_TRY(spec_point_process(&config.process, point, measure, K, error));
    SPEC_TRY(spec_point_read(point));
    config.K = K;
    config.costs.draft = c;
    spec_round_source source = spec_sources_acceptance(&config);
    SPEC_TRY(spec_point_simulate(&tally, &emitted, NULL, NULL, point, &source, error));
    SPEC_TRY(emitted_theory(&theory, &config.process, K));

    spec_table_integer(table, "rounds", (long long)tally.rounds);
    spec_measures_beside_theory(table, "emitted", &emitted, theory);
    /* of a whole round, so the functions below count it once: their K is 1 */
    const double drafting = spec_measures_draft_time(K, c, c_token, one_pass == 1);
    spec_table_number(table, "speedup", spec_speedup_from_emitted(emitted.mean, 1.0, drafting));
    spec_table_number(table, "speedup_theory", spec_speedup_from_emitted(theory, 1.0, drafting));
    /* Thm 3.11 with the process's own mean in place of the capped geometric one. */
    spec_table_number(table, "ops_factor", (K * ops_ratio + K + 1) / theory);
done:
    return status;
}

static const char *const parameters[] = {"process=iid", "alpha=",     "K",          "c=0.1",
                                         "c_token=0",   "one_pass=0", "ops_ratio=", NULL};
static const char *const columns[] = {"rounds",         "emitted",    "emitted_se",
                                      "emitted_theory", "emitted_z",  "speedup",
                                      "speedup_theory", "ops_factor", NULL};
static const spec_headline headlines[] = {
    {.column = "emitted", .unit = "tokens per round"},
    {.column = "speedup"},
    {0},
};
static const char *const checked[] = {"emitted_z", NULL};

static const spec_assumption assumes[] = {
    {"c", NULL, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

const spec_measure spec_measure_acceptance = {
    .name = "acceptance",
    .summary =
        "tokens per round and speed-up of an acceptance process: simulation compared with theory",
    .parameters = parameters,
    .assumes = assumes,
    .columns = columns,
    .headlines = headlines,
    .checked = checked,
    .simulates = true,
    .divides = true,
    .run = run,
};
