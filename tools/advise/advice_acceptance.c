/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/advice.h"

#include "analysis/alpha.h"
#include "sim/chance/rng.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>

enum { DRIFT_LEARN = 10, PERMUTATIONS = 1999 };

/* A share of missing draft tokens that is too small to distort anything. The last rounds of
 * requests cause such a share. */
static const double NEGLIGIBLE = 0.01;

static int used_depths(const spec_observed_run *run)
{
    return run->depths < run->K ? run->depths : run->K;
}

/* Returns the alpha at which rounds emit `tokens`, clamped to the possible range, because rounding
 * and intervals may go beyond it. NaN for NaN. */
static double alpha_of(double tokens, int K)
{
    return isnan(tokens) ? NAN : spec_alpha_from_emitted(fmin(fmax(tokens, 1.0), K + 1.0), K);
}

/* Computes alpha if depths are not known. It assumes the same alpha at all depths, and finds the
 * one at which rounds emit as many tokens as measured. A round of T tokens accepts T - 1 and tests
 * T - e, where e is the share of rounds without a rejection. e is at least T - K, and at most (T -
 * 1 + lacking)/K and T - 1, because these rounds accept all that they draft: K tokens minus what
 * drafts lack on average. */
static int implied_alpha(spec_cluster_ratio *ret, const spec_observed_run *run, double error)
{
    const spec_cluster_question tokens = {.passed = spec_cluster_per_pass,
                                          .tested = spec_cluster_column,
                                          .tested_arg = SPEC_SUM_PASSES};
    SPEC_PASS(spec_observed_run_ratio(ret, run, &tokens, error));
    const double lacks = fmax(0.0, run->K - spec_observed_run_sum(run, SPEC_SUM_DRAFTED) /
                                                spec_observed_run_sum(run, SPEC_SUM_ROUNDS)),
                 low = fmin(fmax(ret->low, 1.0), run->K + 1.0),
                 high = fmin(ret->high, run->K + 1.0),
                 most = fmin(high - 1.0, (high - 1.0 + lacks) / run->K);
    *ret = (spec_cluster_ratio){.value = alpha_of(ret->value, run->K),
                                .se = NAN,
                                .df = ret->df,
                                .low = isnan(ret->low) ? NAN : (low - 1.0) / fmin(low, run->K),
                                .high = isnan(ret->high) ? NAN : (high - 1.0) / (high - most),
                                .design_effect = NAN};
    return GSL_SUCCESS;
}

/* Returns how many more draft tokens there would be if every round had K. */
static double lacking(const double *cluster, int K)
{
    return fmax(0.0, K * cluster[SPEC_SUM_ROUNDS] - cluster[SPEC_SUM_DRAFTED]);
}

/* Returns the largest number of rounds that can have accepted a whole draft of k tokens, so that
 * they tested no rejection. Each lacks K - k of the `left` tokens, which it uses up. */
static double ended_after(double *left, const double *cluster, int K, int k)
{
    const double accepted_k = cluster[SPEC_SUM_PASSED + k - 1] - cluster[SPEC_SUM_PASSED + k],
                 rounds = fmin(fmax(accepted_k, 0.0), *left / (K - k));
    *left -= rounds * (K - k);
    return rounds;
}

/* Returns an upper bound on how many tests are missing because drafts ended: up to depth K (0), or
 * at one depth. Every draft has at least one token; a long draft that ends early lacks the
 * fewest. */
static double left_out_tests(const double *cluster, int K, int depth)
{
    double left = lacking(cluster, K), rounds = 0.0;
    if (depth > 0) return depth > 1 ? ended_after(&left, cluster, K, depth - 1) : 0.0;
    for (int k = K - 1; k >= 1; k--) rounds += ended_after(&left, cluster, K, k);
    return rounds;
}

static const spec_cluster_ratio unknown_ratio = {NAN, NAN, NAN, NAN, NAN, NAN};

/* ---- tested draft tokens --------------------------------------------------------------------- */

/* Tested and accepted draft tokens of clusters, and their rounds. If drafts are shorter than K,
 * `tested` assumes that as many as possible were tested, and `least` as few as possible. */
typedef struct {
    size_t n;
    double *passed, *tested, *least, *rounds, *work; /* (n) */
    bool requests, shorter;
} trials;

static int trials_init(trials *all, size_t most)
{
    *all = (trials){.requests = true};
    all->passed = malloc(5 * (most + 1) * sizeof *all->passed);
    if (all->passed == NULL) return GSL_ENOMEM;
    all->tested = all->passed + most;
    all->least = all->tested + most;
    all->rounds = all->least + most;
    all->work = all->rounds + most;
    return GSL_SUCCESS;
}

static void trials_free(trials *all)
{
    free(all->passed);
    *all = (trials){0};
}

static size_t clusters_of(const spec_observed_runs *runs)
{
    size_t n = 0;
    for (size_t i = 0; i < runs->n; i++) n += runs->run[i].batch < 0 ? runs->run[i].n : 0;
    return n;
}

/* Adds the clusters of a run: the draft tokens of this depth, or of all depths (0). */
static void trials_add(trials *all, const spec_observed_run *run, int depth)
{
    const int depths = used_depths(run);
    if (depths == 0 || depths < depth) return;
    all->requests = all->requests && run->requests;
    for (size_t g = 0; g < run->n; g++) {
        const double *cluster = run->column + g * SPEC_SUM_COLUMNS;
        const double passed = depth == 0 ? spec_cluster_accepted(cluster, depths)
                                         : cluster[SPEC_SUM_PASSED + depth - 1];
        const double tested = depth == 0   ? spec_cluster_tested(cluster, depths)
                              : depth == 1 ? cluster[SPEC_SUM_DEPTH_ROUNDS]
                                           : cluster[SPEC_SUM_PASSED + depth - 2];
        const double least =
            fmax(tested - left_out_tests(cluster, run->K, depths < run->K ? 1 : depth), passed);
        all->passed[all->n] = passed;
        all->tested[all->n] = tested;
        all->least[all->n] = least;
        all->rounds[all->n] = cluster[SPEC_SUM_ROUNDS];
        all->shorter = all->shorter || least < tested;
        all->n++;
    }
}

/* Adds all runs of K, or of any K (0). */
static void trials_add_all(trials *all, const spec_observed_runs *runs, int K, int depth)
{
    for (size_t i = 0; i < runs->n; i++) {
        const spec_observed_run *run = &runs->run[i];
        if (run->batch < 0 && (K == 0 || run->K == K)) trials_add(all, run, depth);
    }
}

/* Returns accepted over tested draft tokens. For the high end we assume as few tests as
 * possible. */
static spec_cluster_ratio ratio_of(const trials *all, double error)
{
    spec_cluster_ratio ratio = spec_observed_ratio_of(all->passed, all->tested, all->work, all->n,
                                                      true, all->requests, error, NULL);
    if (all->shorter)
        ratio.high = spec_observed_ratio_of(all->passed, all->least, all->work, all->n, true,
                                            all->requests, error, NULL)
                         .high;
    return ratio;
}

/* Computes alpha without the 1 % of requests that have the most rounds. */
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
    advice->without_longest = ratio_of(all, error);
    return GSL_SUCCESS;
}

static void fit_mixture(spec_advice *advice, const spec_observed_run *run)
{
    double counts[SPEC_ADVICE_K];
    double above = spec_observed_run_sum(run, SPEC_SUM_DEPTH_ROUNDS);
    for (int k = 0; k < run->K; k++) {
        const double passed = spec_observed_run_sum(run, SPEC_SUM_PASSED + k);
        counts[k] = above - passed;
        above = passed;
    }
    counts[run->K] = above;
    for (int k = 0; k <= run->K; k++)
        if (counts[k] < 0.0) return; /* contradictory counts */
    spec_beta_mixture_fit(&advice->mixture, counts, run->K);
}

/* Tests for drift over the clusters of the current length in order of time; a cluster may have
 * several windows or requests. */
static int find_drift(spec_advice *advice, const spec_observed_sums *sums, int K)
{
    spec_observed_run run;
    trials all = {0};
    int status = spec_observed_run_gather(&run, sums, K, -1);
    if (status == GSL_SUCCESS) status = trials_init(&all, run.n);
    if (status == GSL_SUCCESS) {
        trials_add(&all, &run, 0);
        spec_acceptance_drift *drift = &advice->drift;
        *drift = spec_acceptance_drift_test(all.passed, all.tested, all.n, DRIFT_LEARN);
        double first = 0.0;
        for (size_t g = 0; g < drift->from && g < run.n; g++)
            first += run.column[g * SPEC_SUM_COLUMNS + SPEC_SUM_OBSERVATIONS];
        drift->from = (size_t)first;
    }
    trials_free(&all);
    free(run.column);
    return status;
}

/* Computes alpha of the runs at K (0: at any length), or the implied one of a `run` without
 * depths. */
static int alpha_at(spec_cluster_ratio *ret, trials *all, const spec_length_plan *plan, int K,
                    const spec_observed_run *run)
{
    SPEC_PASS(trials_init(all, clusters_of(plan->runs)));
    trials_add_all(all, plan->runs, K, 0);
    if (all->n == 0) return implied_alpha(ret, run, plan->question->error);
    *ret = ratio_of(all, plan->question->error);
    return GSL_SUCCESS;
}

int spec_advice_acceptance_at(spec_advice_length *length, const spec_length_plan *plan)
{
    const spec_observed_run *run = spec_observed_runs_find(plan->runs, length->K, -1);
    trials own = {0}, all = {0};
    int status = GSL_SUCCESS;
    length->alpha = length->conditional = unknown_ratio;
    if (length->K == 0 || length->K > plan->longest) return GSL_SUCCESS;
    if (run != NULL) SPEC_TRY(alpha_at(&length->alpha, &own, plan, length->K, run));
    SPEC_TRY(trials_init(&all, clusters_of(plan->runs)));
    trials_add_all(&all, plan->runs, 0, length->K);
    length->conditional = ratio_of(&all, plan->question->error);
done:
    trials_free(&own);
    trials_free(&all);
    return status;
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
    advice->undrafted = 1.0 - rounds / spec_observed_run_sum(run, SPEC_SUM_PASSES);
    /* If drafts were short, their ends would look like rejections, and so like decay by depth. */
    const bool whole = used_depths(run) == run->K && advice->missing < NEGLIGIBLE;
    if (whole && run->K >= 2) {
        double variance;
        const double excess = spec_observed_run_excess(&variance, run, 1);
        if (variance > 0.0) advice->mixture_z = excess / sqrt(variance);
    }
    if (whole) fit_mixture(advice, run);
    int status = alpha_at(&advice->alpha, &all, plan, 0, run);
    if (status == GSL_SUCCESS && all.n > 0 && all.requests)
        status = leave_out_longest(advice, &all, plan->question->error);
    trials_free(&all);
    return status == GSL_SUCCESS ? find_drift(advice, sums, plan->current) : status;
}

/* Compares windows. They depend on each other, so we cannot exchange them; instead we use Student's
 * test of two log-odds with widened standard errors. */
static spec_permutation compare_windows(const trials *before, const trials *after, double error)
{
    const spec_cluster_ratio a = ratio_of(before, error), b = ratio_of(after, error);
    const double scale_a = a.value * (1.0 - a.value), scale_b = b.value * (1.0 - b.value),
                 difference = log(b.value / (1.0 - b.value)) - log(a.value / (1.0 - a.value)),
                 se = hypot(a.se / scale_a, b.se / scale_b), df = fmin(a.df, b.df);
    spec_permutation change = {a.value, b.value, 1.0};
    if (se > 0.0) change.p = 2.0 * gsl_cdf_tdist_Q(fabs(difference) / se, df);
    return change;
}

int spec_advice_compare(spec_advice *advice, const spec_length_plan *plan,
                        const spec_observed_runs *before)
{
    trials all = {0}, after = {0};
    gsl_rng *rng = spec_rng_alloc();
    double *work = NULL;
    int status = GSL_SUCCESS;
    SPEC_TRY(rng != NULL ? GSL_SUCCESS : GSL_ENOMEM);
    SPEC_TRY(trials_init(&all, clusters_of(before) + clusters_of(plan->runs)));
    SPEC_TRY(trials_init(&after, clusters_of(plan->runs)));
    trials_add_all(&all, before, plan->current, 0);
    trials_add_all(&after, plan->runs, plan->current, 0);
    if (!all.requests && all.n > 1 && after.n > 1) {
        advice->change = compare_windows(&all, &after, plan->question->error);
    } else {
        const size_t n_before = all.n;
        trials_add_all(&all, plan->runs, plan->current, 0);
        work = malloc((2 * all.n + 1) * sizeof *work);
        SPEC_TRY(work != NULL ? GSL_SUCCESS : GSL_ENOMEM);
        spec_rng_stream(rng, plan->question->seed, UINT64_MAX);
        advice->change = spec_permutation_ratio(all.passed, all.tested, n_before, after.n,
                                                PERMUTATIONS, work, rng);
    }
    advice->compared = true;
done:
    free(work);
    trials_free(&after);
    trials_free(&all);
    if (rng != NULL) gsl_rng_free(rng);
    return status;
}
