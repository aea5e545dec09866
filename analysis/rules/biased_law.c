/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/rules/biased_law.h"

#include "analysis/rules/overlap.h"
#include "analysis/statistics/compensated.h"

#include <math.h>
#include <stddef.h>

static double over(double a, double b)
{
    return a > b ? a - b : 0.0;
}

static double mass_over(const double *a, const double *b, int n)
{
    spec_compensated total = {0};
    for (int x = 0; x < n; x++) spec_compensated_add(&total, over(a[x], b[x]));
    return spec_compensated_value(&total);
}

spec_biased_law spec_biased_law_ensemble(double *ret_law, const double *target, const double *draft,
                                         int n, double w)
{
    const size_t size = (size_t)n;
    for (int x = 0; x < n; x++) ret_law[x] = w * target[x] + (1.0 - w) * draft[x];
    return (spec_biased_law){.accepted = 1.0 - w + w * spec_overlap(target, draft, size),
                             .tv = (1.0 - w) * spec_overlap_total_variation(target, draft, size)};
}

spec_biased_law spec_biased_law_cactus(double *ret_law, const double *target, const double *draft,
                                       int n, double delta)
{
    spec_compensated accepted = {0};
    for (int x = 0; x < n; x++) ret_law[x] = 0.0;
    for (int x = 0; x < n; x++) {
        const double t = target[x], h = fmin(1.0, t + sqrt(2.0 * delta * t * (1.0 - t))),
                     rejected = over(draft[x], h), scale = (1.0 - h) / (1.0 - t);
        spec_compensated residual = {0};
        ret_law[x] += fmin(h, draft[x]);
        spec_compensated_add(&accepted, fmin(h, draft[x]));
        if (rejected == 0.0) continue;
        for (int y = 0; y < n; y++) /* 0 at x, because draft > h >= t there */
            spec_compensated_add(&residual, over(scale * target[y], draft[y]));
        const double mass = spec_compensated_value(&residual);
        for (int y = 0; y < n; y++)
            ret_law[y] +=
                rejected * (mass > 0.0 ? over(scale * target[y], draft[y]) / mass : target[y]);
    }
    const double all = spec_compensated_value(&accepted);
    return (spec_biased_law){.accepted = all,
                             .tv = fmax(0.0, all - spec_overlap(target, draft, (size_t)n))};
}

/* On entry ret_law holds how much of each x a rule accepts beyond the token rule, at most (D - T)+.
 * Turns it into the rule's law, assuming that it corrects as the token rule does: T + ret_law - (T
 * - D)+ tv / sum (T - D)+. */
static spec_biased_law accept_more(double *ret_law, const double *target, const double *draft,
                                   int n)
{
    const double residual = mass_over(target, draft, n);
    spec_compensated more = {0};
    for (int x = 0; x < n; x++) spec_compensated_add(&more, ret_law[x]);
    /* Rows that are equal up to rounding may have no residual, or less than tv. */
    const double tv = spec_compensated_value(&more), share = tv < residual ? tv / residual : 1.0;
    for (int x = 0; x < n; x++) ret_law[x] += target[x] - share * over(target[x], draft[x]);
    return (spec_biased_law){.accepted = spec_overlap(target, draft, (size_t)n) + tv, .tv = tv};
}

spec_biased_law spec_biased_law_single_threshold(double *ret_law, const double *target,
                                                 const double *draft, int n, double s)
{
    for (int x = 0; x < n; x++)
        ret_law[x] = target[x] > 0.0 && target[x] >= s ? over(draft[x], target[x]) : 0.0;
    return accept_more(ret_law, target, draft, n);
}

/* Returns -sum p log p over the three largest probabilities, which we find by insertion. */
static double entropy_of_three(const double *row, int n)
{
    double most[4] = {0.0, 0.0, 0.0, 0.0}, entropy = 0.0;
    for (int x = 0; x < n; x++) {
        int at = 3;
        for (; at > 0 && row[x] > most[at - 1]; at--) most[at] = most[at - 1];
        most[at] = row[x];
    }
    for (int i = 0; i < 3; i++)
        if (most[i] > 0.0) entropy -= most[i] * log(most[i]);
    return entropy;
}

spec_biased_law spec_biased_law_fly(double *ret_law, const double *target, const double *draft,
                                    const double *follow, int n, double entropy)
{
    const bool uncertain = entropy_of_three(target, n) >= entropy;
    for (int x = 0; x < n; x++)
        ret_law[x] = uncertain && target[x] > 0.0 ? follow[x] * over(draft[x], target[x]) : 0.0;
    return accept_more(ret_law, target, draft, n);
}

/* Returns the number of tokens that rank before x: those that are more probable, or equally
 * probable with a lower id. */
static int rank_of(const double *row, int n, int x)
{
    int before = 0;
    for (int y = 0; y < n; y++) before += row[y] > row[x] || (row[y] == row[x] && y < x);
    return before;
}

spec_biased_law spec_biased_law_relaxed(double *ret_law, const double *target, const double *draft,
                                        int n, int k, double delta, bool argmax)
{
    spec_compensated passed = {0};
    int best = 0;
    for (int x = 1; x < n; x++)
        if (target[x] > target[best]) best = x;
    for (int x = 0; x < n; x++) {
        const bool passes = target[x] >= target[best] - delta && rank_of(target, n, x) < k;
        ret_law[x] = passes ? draft[x] : 0.0;
        spec_compensated_add(&passed, ret_law[x]);
    }
    const double accepted = spec_compensated_value(&passed);
    spec_compensated given = {0}; /* twice TV(target, draft given G) */
    for (int x = 0; x < n && accepted > 0.0; x++)
        spec_compensated_add(&given, fabs(ret_law[x] / accepted - target[x]));
    for (int x = 0; x < n; x++)
        ret_law[x] += (1.0 - accepted) * (argmax ? (x == best ? 1.0 : 0.0) : target[x]);
    return (spec_biased_law){.accepted = accepted,
                             .tv = argmax ? spec_overlap_total_variation(ret_law, target, (size_t)n)
                                          : accepted * spec_compensated_value(&given) / 2};
}

spec_biased_law spec_biased_law_target_only(double *ret_law, const double *target,
                                            const double *draft, int n, double acc, double single)
{
    spec_compensated accepted = {0}, taken = {0};
    for (int x = 0; x < n; x++) {
        const double t = target[x];
        const double a = t > 0.0 && (t >= single || t >= acc) ? 1.0 : t > 0.0 ? t / acc : 0.0;
        const double more = draft[x] * (a - t);
        ret_law[x] = t < 1.0 ? more / (1.0 - t) : 0.0;
        spec_compensated_add(&accepted, draft[x] * a);
        spec_compensated_add(&taken, ret_law[x]);
    }
    /* more(x) = ret_law(x) (1 - T(x)), and T without x is T / (1 - T(x)) elsewhere. */
    const double all = spec_compensated_value(&taken);
    for (int x = 0; x < n; x++)
        ret_law[x] = target[x] + ret_law[x] * (1.0 - target[x]) - target[x] * (all - ret_law[x]);
    return (spec_biased_law){.accepted = spec_compensated_value(&accepted),
                             .tv = spec_overlap_total_variation(ret_law, target, (size_t)n)};
}

spec_biased_law spec_biased_law_cut_invalid(double *ret_law, const double *target,
                                            const double *draft, int n)
{
    const double residual = mass_over(target, draft, n);
    spec_compensated cut = {0}, apart = {0};
    for (int x = 0; x < n; x++)
        if (!(target[x] > 0.0)) spec_compensated_add(&cut, draft[x]);
    const double share = spec_compensated_value(&cut);
    for (int x = 0; x < n; x++) {
        const double corrected = residual > 0.0 ? over(target[x], draft[x]) / residual : target[x];
        ret_law[x] = target[x] + share * (target[x] - corrected);
        spec_compensated_add(&apart, fabs(target[x] - corrected));
    }
    return (spec_biased_law){.accepted = spec_overlap(target, draft, (size_t)n),
                             .tv = share * spec_compensated_value(&apart) / 2};
}
