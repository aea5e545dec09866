/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/best_lengths.h"

#include "analysis/capped_geometric.h"

#include <math.h>
#include <string.h>

/* Returns the time of a step that makes `passes` sequential draft passes. */
static double step_time(const int *K, int n, int passes, const spec_affine_step *cost,
                        const spec_step_work *fixed)
{
    spec_step_work work = *fixed;
    work.drafted = 0;
    for (int r = 0; r < n; r++) work.drafted += K[r];
    work.decode_tokens += n + work.drafted;
    work.passes = passes;
    return spec_affine_step_target(cost, &work) + spec_affine_step_draft(cost, &work);
}

static double tokens(const int *K, const double *alpha, int n)
{
    double sum = 0.0;
    for (int r = 0; r < n; r++) sum += spec_capped_geometric_mean(alpha[r], K[r]);
    return sum;
}

double spec_best_lengths_rate(const int *K, const double *alpha, int n,
                              const spec_affine_step *cost, const spec_step_work *fixed)
{
    if (n < 1) return NAN;
    int passes = 0;
    for (int r = 0; r < n; r++) {
        if (K[r] < 0) return NAN;
        if (K[r] > passes) passes = K[r];
    }
    return tokens(K, alpha, n) / step_time(K, n, passes, cost, fixed);
}

/* Finds the lengths, at most `cap` >= 1 each, up to which each draft token is worth its time. */
static void lengths_at(int *K, const double *alpha, int n, int cap, double least)
{
    for (int r = 0; r < n; r++) {
        double value = alpha[r];
        for (K[r] = 0; K[r] < cap && value > least; K[r]++) value *= alpha[r];
    }
}

double spec_best_lengths(int *ret_K, const double *alpha, int n, int K_max,
                         const spec_affine_step *cost, const spec_step_work *fixed)
{
    if (n >= 1) memset(ret_K, 0, (size_t)n * sizeof *ret_K);
    /* NaN if an alpha is outside [0,1], because its mean is NaN. */
    double best = spec_best_lengths_rate(ret_K, alpha, n, cost, fixed), best_least = INFINITY;
    if (isnan(best) || K_max < 0) return NAN;
    int best_cap = 0;
    const double token = cost->token + cost->draft_token;
    for (int cap = 1; cap <= K_max; cap++) {
        double rate, next = best, least;
        do {
            rate = next;
            least = token * rate;
            lengths_at(ret_K, alpha, n, cap, least);
            next = tokens(ret_K, alpha, n) / step_time(ret_K, n, cap, cost, fixed);
        } while (next > rate);
        if (rate > best) {
            best = rate;
            best_cap = cap;
            best_least = least;
        }
    }
    lengths_at(ret_K, alpha, n, best_cap, best_least);
    return best;
}
