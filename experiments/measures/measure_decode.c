/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"

#include "analysis/alpha.h"
#include "analysis/capped_geometric.h"
#include "analysis/speedup.h"
#include "analysis/statistics/moments.h"
#include "experiments/measures/pair_theory.h"
#include "experiments/measures/place_theory.h"
#include "experiments/measures/trajectory.h"
#include "models/rows/rows.h"
#include "sim/chance/rng.h"
#include "speclab/no_memory.h"
#include "tools/bench/acceptance_theory.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    spec_rule rule;
    bool chosen;
} acceptance_question;

static int visit(double *value, const spec_position *at, const void *self, spec_error *error)
{
    const acceptance_question *question = self;
    errno = 0;
    *value = spec_acceptance_theory_single(&question->rule, question->chosen, at->target,
                                           at->opt_draft, at->vocab);
    return errno == ENOMEM ? spec_no_memory(error) : GSL_SUCCESS;
}

/* Computes alpha (i) along a separate text, or if the target is a file of rows, exactly: over all
 * its positions. NaN if the acceptance of a token has no closed form. */
static int mean_acceptance(spec_estimate *ret, const spec_decoder_config *config,
                           const spec_point *point, int positions, spec_error *error)
{
    acceptance_question question = {.chosen = strcmp(config->drafting, "greedy") == 0};
    spec_trajectory trajectory = {.target = config->target,
                                  .opt_draft = config->opt_draft,
                                  .visit = visit,
                                  .self = &question,
                                  .n_values = 1,
                                  .positions = (uint64_t)positions,
                                  .seed = spec_rng_named_seed(point->seed, "alpha"),
                                  .opt_pool = spec_context_pool(point->opt_context),
                                  .opt_stop = point->stop};
    const spec_rows_file *file = spec_rows_of(config->target, NULL);
    int *text = NULL, status = GSL_SUCCESS;
    *ret = (spec_estimate){NAN, NAN, NAN};
    if (config->opt_draft == NULL || (!question.chosen && strcmp(config->drafting, "chain") != 0))
        return GSL_SUCCESS;
    SPEC_TRY(spec_rule_init(&question.rule, config->rule, error));
    if (file != NULL) {
        trajectory.opt_text = text = spec_rows_text(file);
        if (text == NULL) SPEC_TRY(spec_no_memory(error));
        trajectory.positions = file->places;
    }
    SPEC_TRY(spec_trajectory_means(&ret->mean, &ret->se, &trajectory, error));
    ret->df = fmin((double)trajectory.positions, SPEC_TRAJECTORY_BATCHES) - 1.0;
    if (file != NULL) ret->se = 0.0;
done:
    free(text);
    return status;
}

/* Returns the error that alpha's standard error causes in the iid prediction, from the slope over
 * alpha +- alpha_se within [0,1]. NaN if either argument is NaN. */
static double iid_error(double alpha, double alpha_se, int K)
{
    if (!(alpha_se > 0.0) || isnan(alpha)) return alpha_se == 0.0 ? 0.0 : NAN;
    const double low = fmax(alpha - alpha_se, 0.0), high = fmin(alpha + alpha_se, 1.0);
    return alpha_se * (spec_capped_geometric_mean(high, K) - spec_capped_geometric_mean(low, K)) /
           (high - low);
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    spec_decoding_config config;
    spec_decoder_config by_chance;
    spec_tally tally;
    spec_estimate emitted, rate, alpha;
    double theory;
    int burn_in, positions, status = GSL_SUCCESS;
    SPEC_TRY(spec_point_int(&burn_in, point, measure, "burn_in", 0, 1000000, error));
    SPEC_TRY(spec_point_int(&positions, point, measure, "positions", 1, 1000000000, error));
    SPEC_TRY(spec_point_decoder(&config.decoder, point, measure, error));
    config.burn_in = (uint64_t)burn_in;
    const spec_round_source source = spec_sources_decoding(&config);
    SPEC_TRY(spec_point_simulate(&tally, &emitted, &rate, NULL, point, &source, error));
    SPEC_TRY(spec_pair_theory_by_chance(&by_chance, &config.decoder, error));
    SPEC_TRY(spec_pair_theory_emitted(&theory, &by_chance, error));
    if (isnan(theory)) {
        const spec_decoding_config along = {.decoder = by_chance, .burn_in = config.burn_in};
        const spec_montecarlo_plan plan = {.rounds = point->rounds,
                                           .standard_error = point->standard_error};
        SPEC_TRY(spec_place_theory_emitted(&theory, &along, spec_montecarlo_batch(&source, &plan),
                                           error));
    }
    SPEC_TRY(mean_acceptance(&alpha, &by_chance, point, positions, error));
    /* if false, K differs between rounds */
    const bool fixed = strcmp(config.decoder.policy, "fixed") == 0;
    const int K = config.decoder.K;
    const spec_costs costs = config.decoder.costs;
    const int calls = spec_drafter_calls(config.decoder.opt_draft, K);

    /* The iid prediction from alpha (i), with the standard error that alpha causes. */
    const double iid = fixed ? spec_capped_geometric_mean(alpha.mean, K) : NAN;
    const double iid_se = fixed ? iid_error(alpha.mean, alpha.se, K) : NAN;

    spec_table_integer(table, "rounds", (long long)tally.rounds);
    spec_measures_beside_theory(table, "emitted", &emitted, theory);
    spec_table_number(table, "alpha_mean", alpha.mean);
    spec_table_number(table, "alpha_mean_se", alpha.se);
    spec_table_number(table, "alpha_tested",
                      spec_alpha_tested(tally.passed, tally.tested, SPEC_K_MAX));
    /* 0/0 leaves the cell empty. */
    spec_table_number(table, "accepted_over_drafted",
                      (double)tally.accepted / (double)tally.drafted);
    spec_table_number(table, "rounds_drafted", (double)tally.tested[0] / (double)tally.rounds);
    spec_table_number(table, "emitted_iid", iid);
    spec_table_number(
        table, "emitted_iid_z",
        spec_moments_z(emitted.mean, iid, hypot(emitted.se, iid_se),
                       spec_moments_welch_df(emitted.se, emitted.df, iid_se, alpha.df)));
    spec_table_number(table, "speedup", rate.mean);
    spec_table_number(table, "speedup_se", rate.se);
    spec_table_number(table, "speedup_iid",
                      iid / (calls * costs.draft + K * costs.token + costs.verify + costs.fixed));
done:
    return status;
}

static const char *const parameters[] = {
    "target",     "draft=",  "inner_draft=", "drafting=chain",  "policy=fixed",
    "rule=token", "K",       "c=0.1",        "c_token=0",       "inner_c=0",
    "verify=1",   "fixed=0", "burn_in=32",   "positions=20000", NULL};
static const char *const columns[] = {"rounds",
                                      "emitted",
                                      "emitted_se",
                                      "emitted_theory",
                                      "emitted_z",
                                      "alpha_mean",
                                      "alpha_mean_se",
                                      "alpha_tested",
                                      "accepted_over_drafted",
                                      "rounds_drafted",
                                      "emitted_iid",
                                      "emitted_iid_z",
                                      "speedup",
                                      "speedup_se",
                                      "speedup_iid",
                                      NULL};
static const spec_headline headlines[] = {
    {.column = "emitted", .unit = "tokens per round"},
    {.column = "speedup"},
    {.column = "alpha_mean"},
    {0},
};
static const char *const checked[] = {"emitted_z", NULL};

static const spec_assumption assumes[] = {
    {"c", NULL, NULL, NULL, NULL},
    {"drafting", NULL, NULL, NULL, NULL},
    {"policy", NULL, NULL, NULL, NULL},
    {"rule", NULL, NULL, NULL, NULL},
    {"inner_c", NULL, NULL, "inner_draft", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

const spec_measure spec_measure_decode = {
    .name = "decode",
    .summary = "the decoding loop over a pair of models: tokens per round, four alphas, speed-up "
               "on the virtual clock",
    .parameters = parameters,
    .assumes = assumes,
    .columns = columns,
    .headlines = headlines,
    .checked = checked,
    .simulates = true,
    .divides = true,
    .run = run,
};
