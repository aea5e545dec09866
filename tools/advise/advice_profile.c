/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/advice_report.h"

#include "analysis/capped_geometric.h"
#include "tools/advise/engine_settings.h"
#include "tools/advise/observed_runs.h"

#include <math.h>

static spec_profile_number number_of(const spec_cluster_ratio *ratio)
{
    return (spec_profile_number){ratio->value, ratio->low, ratio->high};
}

/* Returns the tokens, with the bonus token, of those rounds in a cluster for which acceptance by
 * depth is known. */
static double emitted(const double *cluster, int depths)
{
    return cluster[SPEC_SUM_DEPTH_ROUNDS] + spec_cluster_accepted(cluster, depths);
}

/* Computes the share of rounds that accept depth `depth`, among those in the column `tested`. */
static int rate(spec_profile_number *ret, const spec_observed_run *run, int depth, int tested,
                double error_rate)
{
    const spec_cluster_question question = {.passed = spec_cluster_column,
                                            .passed_arg = SPEC_SUM_PASSED + depth - 1,
                                            .tested = spec_cluster_column,
                                            .tested_arg = tested,
                                            .proportion = true};
    spec_cluster_ratio ratio;
    const int status = spec_observed_run_ratio(&ratio, run, &question, error_rate);
    if (status == GSL_SUCCESS) *ret = number_of(&ratio);
    return status;
}

static int fill_depths(spec_acceptance_profile *profile, const spec_observed_run *run,
                       double error_rate, spec_error *error)
{
    const spec_cluster_question tokens = {.passed = emitted,
                                          .passed_arg = run->K,
                                          .tested = spec_cluster_column,
                                          .tested_arg = SPEC_SUM_DEPTH_ROUNDS};
    spec_cluster_ratio length;
    for (int d = 1; d <= run->K; d++) {
        const int before = d == 1 ? SPEC_SUM_DEPTH_ROUNDS : SPEC_SUM_PASSED + d - 2;
        SPEC_PASS(rate(&profile->unconditional[d - 1], run, d, SPEC_SUM_DEPTH_ROUNDS, error_rate));
        SPEC_PASS(rate(&profile->conditional[d - 1], run, d, before, error_rate));
        if (spec_observed_run_sum(run, SPEC_SUM_PASSED + d - 1) >
            spec_observed_run_sum(run, before))
            return spec_fail(error, GSL_EINVAL,
                             "no profile: more rounds accept depth %d than reach it", d);
    }
    SPEC_PASS(spec_observed_run_ratio(&length, run, &tokens, error_rate));
    profile->length = number_of(&length);
    profile->length.low = fmax(profile->length.low, 1.0);
    profile->length.high = fmin(profile->length.high, run->K + 1.0);
    if (isnan(length.low)) profile->length.low = profile->length.high = NAN;
    return GSL_SUCCESS;
}

/* Fills in one rate for all depths. We use the engine's own mean, which has a narrower interval
 * than a rate that may differ by depth. */
static void fill_one_rate(spec_acceptance_profile *profile, const spec_advice_length *length)
{
    const spec_cluster_ratio *alpha = &length->alpha;
    const int K = profile->K;
    profile->one_rate = K > 1;
    for (int i = 0; i < K; i++) {
        profile->conditional[i] = number_of(alpha);
        profile->unconditional[i] = (spec_profile_number){
            pow(alpha->value, i + 1), pow(alpha->low, i + 1), pow(alpha->high, i + 1)};
    }
    profile->length = (spec_profile_number){spec_capped_geometric_mean(alpha->value, K),
                                            length->tokens.low, length->tokens.high};
}

static int fill_source(spec_acceptance_profile *profile, const spec_diagnosis_facts *facts,
                       spec_error *error)
{
    if (facts->read != NULL && facts->read->format != NULL) {
        snprintf(profile->engine, sizeof profile->engine, "%s", spec_engine_of(facts->read)->title);
        snprintf(profile->format, sizeof profile->format, "%s", facts->read->format->name);
    }
    for (int i = 0; i < facts->n_sources; i++)
        if (facts->source[i].part == SPEC_SOURCE_FILE)
            SPEC_PASS(spec_acceptance_profile_add_file(profile, facts->source[i].path, error));
    return GSL_SUCCESS;
}

/* Returns the longest length whose acceptance is known at each depth and that has at least a tenth
 * as many rounds as the current length. Its rates also hold for shorter drafts. */
static int length_of(const spec_observed_runs *runs, const spec_advice *advice)
{
    const spec_observed_run *current = spec_observed_runs_find(runs, advice->K, -1);
    for (int K = SPEC_ADVICE_K - 1; current != NULL && K > advice->K; K--) {
        const spec_observed_run *run = spec_observed_runs_find(runs, K, -1);
        if (run != NULL && run->depths >= K &&
            10.0 * spec_observed_run_sum(run, SPEC_SUM_DEPTH_ROUNDS) >=
                spec_observed_run_sum(current, SPEC_SUM_ROUNDS))
            return K;
    }
    return advice->K;
}

int spec_advice_profile(spec_acceptance_profile *profile, const spec_diagnosis_facts *facts,
                        double error_rate, spec_error *error)
{
    spec_observed_runs runs = {0};
    int status = GSL_SUCCESS;
    *profile = (spec_acceptance_profile){0};
    SPEC_TRY(spec_observed_runs_init(&runs, facts->evidence, error));
    const int K = length_of(&runs, facts->advice);
    const spec_advice_length *length = spec_advice_length_of(facts->advice, K);
    const spec_observed_run *run = spec_observed_runs_find(&runs, K, -1);
    if (K < 1 || run == NULL)
        SPEC_TRY(spec_fail(error, GSL_EUNSUP, "no profile: no round of a known K was seen"));
    profile->K = K;
    profile->rounds = spec_observed_run_sum(run, SPEC_SUM_ROUNDS);
    profile->passes = spec_observed_run_sum(run, SPEC_SUM_PASSES);
    if (run->depths >= K && spec_observed_run_sum(run, SPEC_SUM_DEPTH_ROUNDS) > 0.0)
        SPEC_TRY(fill_depths(profile, run, error_rate, error));
    else if (length != NULL && isfinite(length->alpha.value))
        fill_one_rate(profile, length);
    else
        SPEC_TRY(spec_fail(error, GSL_EUNSUP, "no profile: these numbers give no acceptance"));
    spec_context_acceptance(&profile->context, facts->evidence->context);
    SPEC_TRY(fill_source(profile, facts, error));
done:
    spec_observed_runs_free(&runs);
    return status;
}
