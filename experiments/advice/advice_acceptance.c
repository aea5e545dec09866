/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/advice/advice_acceptance.h"

#include "analysis/alpha.h"
#include "sim/chance/rng.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DRIFT_LEARN = 10, PERMUTATIONS = 1999 };

static int used_depths(const spec_observed_run *run)
{
    return run->depths < run->K ? run->depths : run->K;
}

/* Alpha where depths are not known: the one at which rounds emit as many tokens. */
static int implied_alpha(spec_cluster_ratio *ret, const spec_observed_run *run, double error)
{
    const spec_cluster_question tokens = {.passed = spec_cluster_per_pass,
                                          .tested = spec_cluster_column,
                                          .tested_arg = SPEC_SUM_PASSES};
    const int status = spec_observed_run_ratio(ret, run, &tokens, error);
    if (status != GSL_SUCCESS) return status;
    const double most = (double)run->K + 1.0, value = fmin(ret->value, most);
    const double alpha = spec_alpha_from_emitted(value, run->K);
    const double low = spec_alpha_from_emitted(fmax(ret->low, 1.0), run->K);
    const double high = spec_alpha_from_emitted(fmin(ret->high, most), run->K);
    *ret = (spec_cluster_ratio){alpha, NAN, ret->df, low, high, NAN};
    return GSL_SUCCESS;
}

/* Draft tokens that K in every round would have, less those that were drafted: at most so many
 * rounds ended with their draft instead of a rejection. */
static double lacking(const double *cluster, int K)
{
    return fmax(0.0, K * cluster[SPEC_SUM_ROUNDS] - cluster[SPEC_SUM_DRAFTED]);
}

/* ---- one length ------------------------------------------------------------------------------ */

static const spec_cluster_ratio unknown_ratio = {NAN, NAN, NAN, NAN, NAN, NAN};

/* The clusters of all runs with K draft tokens or more, that give depths. */
static int conditional_at(spec_cluster_ratio *ret, const spec_length_plan *plan, int K)
{
    size_t most = 0, n = 0;
    for (size_t i = 0; i < plan->runs->n; i++) most += plan->runs->run[i].n;
    double *passed = malloc(2 * (most > 0 ? most : 1) * sizeof *passed);
    if (passed == NULL) return GSL_ENOMEM;
    double *tested = passed + most;
    for (size_t i = 0; i < plan->runs->n; i++) {
        const spec_observed_run *run = &plan->runs->run[i];
        if (run->batch >= 0 || used_depths(run) < K) continue;
        for (size_t g = 0; g < run->n; g++, n++) {
            const double *cluster = run->column + g * SPEC_SUM_COLUMNS;
            passed[n] = cluster[SPEC_SUM_PASSED + K - 1];
            tested[n] = K == 1 ? cluster[SPEC_SUM_DEPTH_ROUNDS] : cluster[SPEC_SUM_PASSED + K - 2];
        }
    }
    *ret = spec_cluster_ratio_of(passed, tested, n, true, plan->question->error);
    free(passed);
    return GSL_SUCCESS;
}

/* Rounds whose draft was shorter than K were not tested at depth K: at most the draft tokens that
 * the run's rounds lack. */
static void bound_conditional(spec_advice_length *length, const spec_length_plan *plan)
{
    double passed = 0.0, tested = 0.0, untested = 0.0;
    const int K = length->K;
    for (size_t i = 0; i < plan->runs->n; i++) {
        const spec_observed_run *run = &plan->runs->run[i];
        if (run->batch >= 0 || used_depths(run) < K) continue;
        passed += spec_observed_run_sum(run, SPEC_SUM_PASSED + K - 1);
        tested +=
            spec_observed_run_sum(run, K == 1 ? SPEC_SUM_DEPTH_ROUNDS : SPEC_SUM_PASSED + K - 2);
        for (size_t g = 0; g < run->n && K > 1; g++) /* all rounds have one draft token */
            untested += lacking(run->column + g * SPEC_SUM_COLUMNS, run->K);
    }
    length->conditional_least = passed / tested;
    length->conditional_most = fmin(1.0, passed / fmax(tested - untested, passed));
}

/* ---- all runs -------------------------------------------------------------------------------- */

/* Tested draft tokens and accepted ones of every cluster with a draft, and their rounds. Where
 * drafts are shorter than K, `tested` is the most that can have been, and `least` the least. */
typedef struct {
    size_t n;
    double *passed, *tested, *least, *rounds; /* (n) */
    bool requests, shorter;
} trials;

static void trials_free(trials *all)
{
    free(all->passed);
    *all = (trials){0};
}

static int trials_of(trials *all, const spec_observed_runs *runs, int K)
{
    size_t most = 1;
    *all = (trials){.requests = true};
    for (size_t i = 0; i < runs->n; i++) most += runs->run[i].n;
    all->passed = malloc(4 * most * sizeof *all->passed);
    if (all->passed == NULL) return GSL_ENOMEM;
    all->tested = all->passed + most;
    all->least = all->tested + most;
    all->rounds = all->least + most;
    for (size_t i = 0; i < runs->n; i++) {
        const spec_observed_run *run = &runs->run[i];
        const int depths = used_depths(run);
        if (run->batch >= 0 || depths == 0 || (K > 0 && run->K != K)) continue;
        all->requests = all->requests && run->requests;
        for (size_t g = 0; g < run->n; g++, all->n++) {
            const double *cluster = run->column + g * SPEC_SUM_COLUMNS;
            all->passed[all->n] = spec_cluster_accepted(cluster, depths);
            all->tested[all->n] = spec_cluster_tested(cluster, depths);
            all->rounds[all->n] = cluster[SPEC_SUM_ROUNDS];
            all->least[all->n] =
                fmax(all->tested[all->n] - lacking(cluster, run->K), all->passed[all->n]);
            all->shorter = all->shorter || all->least[all->n] < all->tested[all->n];
        }
    }
    return GSL_SUCCESS;
}

/* Accepted over tested draft tokens. The high end is that of the fewest that can have been tested.
 */
static spec_cluster_ratio alpha_of(const trials *all, double error)
{
    spec_cluster_ratio alpha = spec_cluster_ratio_of(all->passed, all->tested, all->n, true, error);
    if (all->shorter)
        alpha.high = spec_cluster_ratio_of(all->passed, all->least, all->n, true, error).high;
    return alpha;
}

/* Alpha without the requests that have the most rounds, 1 % of them. */
static int leave_out_longest(spec_advice *advice, trials *all, double error)
{
    double rounds = 0.0, left_out = 0.0;
    size_t *order = malloc(all->n * sizeof *order);
    if (order == NULL) return GSL_ENOMEM;
    gsl_sort_index(order, all->rounds, 1, all->n);
    for (size_t i = 0; i < all->n; i++) rounds += all->rounds[i];
    for (size_t k = all->n - (all->n + 99) / 100; k < all->n; k++) {
        const size_t longest = order[k];
        left_out += all->rounds[longest];
        all->passed[longest] = all->tested[longest] = all->least[longest] = 0.0;
    }
    free(order);
    advice->longest_share = left_out / rounds;
    advice->without_longest = alpha_of(all, error);
    return GSL_SUCCESS;
}

/* m_2 - m_1^2 over its standard error, by the jackknife over clusters. */
static double mixture_z(const spec_observed_run *run)
{
    const double D = spec_observed_run_sum(run, SPEC_SUM_DEPTH_ROUNDS);
    const double A1 = spec_observed_run_sum(run, SPEC_SUM_PASSED);
    const double A2 = spec_observed_run_sum(run, SPEC_SUM_PASSED + 1);
    const double excess = A2 / D - A1 * A1 / (D * D);
    double squares = 0.0;
    size_t n = 0;
    for (size_t g = 0; g < run->n; g++) {
        const double *c = run->column + g * SPEC_SUM_COLUMNS;
        const double d = D - c[SPEC_SUM_DEPTH_ROUNDS];
        if (!(c[SPEC_SUM_DEPTH_ROUNDS] > 0.0) || !(d > 0.0)) continue;
        const double a1 = A1 - c[SPEC_SUM_PASSED], a2 = A2 - c[SPEC_SUM_PASSED + 1];
        const double change = a2 / d - a1 * a1 / (d * d) - excess;
        squares += change * change;
        n++;
    }
    if (n < 2 || squares == 0.0) return NAN;
    return excess / sqrt(squares * ((double)n - 1.0) / (double)n);
}

static void fit_mixture(spec_advice *advice, const spec_observed_run *run)
{
    double counts[SPEC_ADVICE_K];
    const int K = used_depths(run);
    double above = spec_observed_run_sum(run, SPEC_SUM_DEPTH_ROUNDS);
    advice->mixture = (spec_beta_mixture){NAN, NAN, NAN, NAN};
    if (K < 1 || K < run->K) return;
    for (int k = 0; k < K; k++) {
        const double passed = spec_observed_run_sum(run, SPEC_SUM_PASSED + k);
        counts[k] = above - passed;
        above = passed;
    }
    counts[K] = above;
    for (int k = 0; k <= K; k++)
        if (counts[k] < 0.0) return; /* contradictory counts */
    spec_beta_mixture_fit(&advice->mixture, counts, K);
}

/* Drift over the clusters of the current length, in their order of time. */
static int find_drift(spec_advice *advice, const spec_observed_sums *sums, int K)
{
    spec_observed_run run;
    double *passed = NULL;
    int status = spec_observed_run_in_time(&run, sums, K);
    const int depths = used_depths(&run);
    if (status == GSL_SUCCESS && (passed = malloc((2 * run.n + 1) * sizeof *passed)) == NULL)
        status = GSL_ENOMEM;
    if (status == GSL_SUCCESS && depths > 0) {
        double *tested = passed + run.n;
        for (size_t g = 0; g < run.n; g++) {
            passed[g] = spec_cluster_accepted(run.column + g * SPEC_SUM_COLUMNS, depths);
            tested[g] = spec_cluster_tested(run.column + g * SPEC_SUM_COLUMNS, depths);
        }
        advice->drift = spec_acceptance_drift_test(passed, tested, run.n, DRIFT_LEARN);
    }
    free(passed);
    free(run.column);
    return status;
}

/* Alpha of the runs at K (0: at any length), or the implied one of `run` without depths. */
static int alpha_at(spec_cluster_ratio *ret, trials *all, const spec_length_plan *plan, int K,
                    const spec_observed_run *run)
{
    const int status = trials_of(all, plan->runs, K);
    if (status != GSL_SUCCESS) return status;
    if (all->n == 0) return implied_alpha(ret, run, plan->question->error);
    *ret = alpha_of(all, plan->question->error);
    return GSL_SUCCESS;
}

int spec_advice_acceptance_at(spec_advice_length *length, const spec_length_plan *plan)
{
    const spec_observed_run *run = spec_observed_runs_find(plan->runs, length->K, -1);
    trials all = {0};
    int status = GSL_SUCCESS;
    length->alpha = length->conditional = unknown_ratio;
    length->conditional_least = length->conditional_most = NAN;
    if (length->K > 0 && run != NULL) status = alpha_at(&length->alpha, &all, plan, length->K, run);
    trials_free(&all);
    if (status != GSL_SUCCESS || length->K == 0 || length->K > plan->longest) return status;
    bound_conditional(length, plan);
    return conditional_at(&length->conditional, plan, length->K);
}

int spec_advice_acceptance(spec_advice *advice, const spec_length_plan *plan,
                           const spec_observed_sums *sums)
{
    const spec_observed_run *run = spec_observed_runs_find(plan->runs, plan->current, -1);
    const double drafted = spec_observed_run_sum(run, SPEC_SUM_DRAFTED);
    const double rounds = spec_observed_run_sum(run, SPEC_SUM_ROUNDS);
    trials all;
    advice->accepted_over_drafted = spec_observed_run_sum(run, SPEC_SUM_ACCEPTED) / drafted;
    advice->missing = 1.0 - drafted / (run->K * rounds);
    advice->mixture_z = used_depths(run) >= 2 ? mixture_z(run) : NAN;
    advice->without_longest = unknown_ratio;
    advice->longest_share = NAN;
    fit_mixture(advice, run);
    int status = alpha_at(&advice->alpha, &all, plan, 0, run);
    if (status == GSL_SUCCESS && all.n > 0 && all.requests)
        status = leave_out_longest(advice, &all, plan->question->error);
    trials_free(&all);
    return status == GSL_SUCCESS ? find_drift(advice, sums, plan->current) : status;
}

int spec_advice_compare(spec_advice *advice, const spec_length_plan *plan,
                        const spec_observed_runs *before)
{
    trials old = {0}, now = {0};
    gsl_rng *rng = spec_rng_alloc();
    double *work = NULL;
    int status = rng != NULL ? GSL_SUCCESS : GSL_ENOMEM;
    if (status == GSL_SUCCESS) status = trials_of(&old, before, plan->current);
    if (status == GSL_SUCCESS) status = trials_of(&now, plan->runs, plan->current);
    const size_t n = old.n + now.n;
    if (status == GSL_SUCCESS && (work = malloc((4 * n + 1) * sizeof *work)) == NULL)
        status = GSL_ENOMEM;
    if (status == GSL_SUCCESS) {
        double *passed = work + 2 * n, *tested = passed + n;
        memcpy(passed, old.passed, old.n * sizeof *passed);
        memcpy(passed + old.n, now.passed, now.n * sizeof *passed);
        memcpy(tested, old.tested, old.n * sizeof *tested);
        memcpy(tested + old.n, now.tested, now.n * sizeof *tested);
        spec_rng_stream(rng, plan->question->seed, UINT64_MAX);
        advice->compared = true;
        advice->change =
            spec_permutation_ratio(passed, tested, old.n, now.n, PERMUTATIONS, work, rng);
    }
    free(work);
    trials_free(&old);
    trials_free(&now);
    if (rng != NULL) gsl_rng_free(rng);
    return status;
}
