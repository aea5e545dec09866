/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/measures/measures.h"

#include "analysis/rules/overlap.h"
#include "experiments/measures/trajectory.h"
#include "models/row.h"
#include "tools/bench/acceptance_theory.h"

#include <string.h>

enum { ALPHA, MATCH, TARGET_ENTROPY, DRAFT_ENTROPY, AGREEMENT, N_VALUES };

static int visit(double *value, const spec_position *at, const void *self, spec_error *error)
{
    const bool chosen = strcmp(self, "greedy") == 0;
    const size_t vocab = (size_t)at->vocab;
    (void)error;
    value[ALPHA] = spec_acceptance_theory_single(&spec_verify_token, chosen, at->target,
                                                 at->opt_draft, at->vocab);
    value[MATCH] = spec_overlap_match_probability(at->target, at->opt_draft, vocab);
    value[TARGET_ENTROPY] = spec_overlap_entropy(at->target, vocab);
    value[DRAFT_ENTROPY] = spec_overlap_entropy(at->opt_draft, vocab);
    value[AGREEMENT] =
        spec_row_argmax(at->target, at->vocab) == spec_row_argmax(at->opt_draft, at->vocab);
    return GSL_SUCCESS;
}

static int run(spec_table *table, const spec_point *point, const spec_measure *measure,
               spec_error *error)
{
    const char *drafting = spec_point_text(point, measure, "drafting");
    spec_trajectory trajectory = {.visit = visit,
                                  .self = drafting,
                                  .n_values = N_VALUES,
                                  .seed = point->seed,
                                  .opt_pool = spec_context_pool(point->opt_context),
                                  .opt_stop = point->stop,
                                  .opt_listener = point->opt_listener};
    double mean[N_VALUES], se[N_VALUES];
    int positions, status = GSL_SUCCESS;
    if (strcmp(drafting, "chain") != 0 && strcmp(drafting, "greedy") != 0)
        return spec_fail(error, GSL_EINVAL,
                         "drafting: '%.60s' is not supported: use chain or greedy",
                         drafting);
    SPEC_TRY(spec_point_int(&positions, point, measure, "positions", 1, 1000000000, error));
    SPEC_TRY(spec_point_int(&trajectory.length, point, measure, "length", 0, 1000000000, error));
    SPEC_TRY(spec_point_read(point));
    SPEC_TRY(spec_point_pair(&trajectory.target, &trajectory.opt_draft, point,
                             spec_point_text(point, measure, "target"),
                             spec_point_text(point, measure, "draft"), error));
    if (trajectory.opt_draft == NULL)
        return spec_fail(error, GSL_EINVAL, "draft: give a model");
    SPEC_TRY(spec_point_opened(point));
    trajectory.positions = (uint64_t)positions;
    SPEC_TRY(spec_trajectory_means(mean, se, &trajectory, error));

    spec_table_number(table, "alpha_mean", mean[ALPHA]);
    spec_table_number(table, "alpha_mean_se", se[ALPHA]);
    spec_table_number(table, "match", mean[MATCH]);
    spec_table_number(table, "match_se", se[MATCH]);
    spec_table_number(table, "target_entropy", mean[TARGET_ENTROPY]);
    spec_table_number(table, "draft_entropy", mean[DRAFT_ENTROPY]);
    spec_table_number(table, "argmax_agreement", mean[AGREEMENT]);
done:
    return status;
}

static const char *const parameters[] = {"target",          "draft",    "drafting=chain",
                                         "positions=20000", "length=0", NULL};
static const char *const columns[] = {
    "alpha_mean",    "alpha_mean_se",    "match", "match_se", "target_entropy",
    "draft_entropy", "argmax_agreement", NULL};
static const spec_headline headlines[] = {{.column = "alpha_mean"}, {0}};

const spec_measure spec_measure_overlap = {
    .name = "overlap",
    .summary =
        "alpha as a mean over the target's own text: overlap, match probability, entropies (nats)",
    .parameters = parameters,
    .columns = columns,
    .headlines = headlines,
    .run = run,
};
