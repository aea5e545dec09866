/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/rules/coincidence.h"

#include "analysis/statistics/compensated.h"

#include <math.h>

/* ---- without replacement --------------------------------------------------------------------- */

/* Returns one node of the integral at time s: the chance that fewer than n clocks other than the
 * one of the target's sample have rung, times the density with which that one rings. exactly[k] is
 * the chance that k clocks have rung; marked[k] is for k clocks in addition to that of a token
 * drawn from the target, which rings now. */
static double race_at(const spec_ratio_order *order, int n, double s)
{
    double exactly[SPEC_DRAFTS_MAX] = {1}, marked[SPEC_DRAFTS_MAX] = {0}, sum = 0;
    for (int i = 0; i < order->n_drafted; i++) {
        const double silent = exp(-order->draft[i] * s), rung = -expm1(-order->draft[i] * s);
        const double rings = order->target[i] * order->draft[i] * silent;
        for (int k = n - 1; k >= 0; k--) {
            const double marked_below = k > 0 ? marked[k - 1] * rung : 0,
                         below = k > 0 ? exactly[k - 1] * rung : 0;
            marked[k] = marked[k] * silent + marked_below + exactly[k] * rings;
            exactly[k] = exactly[k] * silent + below;
        }
    }
    for (int k = 0; k < n; k++) sum += marked[k];
    return sum;
}

double spec_coincidence_match_race(const spec_ratio_order *order, int n)
{
    if (!spec_ratio_order_defined(order, n) || n >= order->n_drafted) return NAN;
    double least = 1;
    for (int i = 0; i < order->n_drafted; i++) least = fmin(least, order->draft[i]);
    /* s = exp(t - exp(-t)) by the trapezoidal rule. */
    const double last = fmin(700, log(50) - log(least)), step = n <= 6    ? 0.2
                                                                : n <= 24 ? 0.125
                                                                          : 0.0625;
    spec_compensated sum = {0};
    for (int j = (int)(-4 / step); j * step < last; j++) {
        const double t = j * step, s = exp(t - exp(-t));
        spec_compensated_add(&sum, step * s * (1 + exp(-t)) * race_at(order, n, s));
    }
    return fmin(1, spec_compensated_value(&sum));
}

/* Computes the case n = 2, where token x is drawn first or after another token y: draft(x) (1 + sum
 * over y != x of draft(y) / (1 - draft(y))). */
static double match_two(const spec_ratio_order *order)
{
    spec_compensated odds = {0}, sum = {0};
    for (int i = order->n_drafted - 1; i >= 0; i--) {
        order->work[i] = spec_compensated_value(&odds); /* sum over the entries above i */
        spec_compensated_add(&odds, order->draft[i] / spec_ratio_order_others(order, i));
    }
    odds = (spec_compensated){0};
    for (int i = 0; i < order->n_drafted; i++) {
        const double either = 1 + spec_compensated_value(&odds) + order->work[i];
        spec_compensated_add(&sum, order->target[i] * order->draft[i] * either);
        spec_compensated_add(&odds, order->draft[i] / spec_ratio_order_others(order, i));
    }
    return fmin(1, spec_compensated_value(&sum));
}

double spec_coincidence_match_without(const spec_ratio_order *order, int n)
{
    if (!spec_ratio_order_defined(order, n)) return NAN;
    if (n >= order->V) return 1;
    /* the draft gives all of its tokens; the others are drawn uniformly */
    if (n >= order->n_drafted) {
        const int first = order->n_drafted;
        return fmin(1, order->target_below[first] +
                           order->target_above[first] * (n - first) / (order->V - first));
    }
    if (n == 1) return spec_multi_draft_match(order, 1);
    return n == 2 ? match_two(order) : spec_coincidence_match_race(order, n);
}

/* ---- the most probable tokens, and one of the others ----------------------------------------- */

double spec_coincidence_match_greedy(const spec_ratio_order *order, int n)
{
    if (!spec_ratio_order_defined(order, n)) return NAN;
    if (n > order->V) return 1;
    /* The most probable tokens are removed from a copy of the draft, entry by entry. */
    double *rest = order->work;
    spec_compensated sum = {0}, whole = {0};
    for (int i = 0; i < order->V; i++) rest[i] = order->draft[i];
    for (int k = 1; k < n; k++) {
        int best = -1;
        for (int i = 0; i < order->V; i++) {
            if (rest[i] < 0) continue;
            if (best < 0 || rest[i] > rest[best] ||
                (rest[i] == rest[best] && order->token[i] < order->token[best]))
                best = i;
        }
        spec_compensated_add(&sum, order->target[best]);
        rest[best] = -1;
    }
    for (int i = 0; i < order->V; i++) spec_compensated_add(&whole, fmax(0, rest[i]));
    const double left = spec_compensated_value(&whole), even = 1.0 / (order->V - n + 1);
    for (int i = 0; i < order->V; i++)
        if (rest[i] >= 0)
            spec_compensated_add(&sum, order->target[i] * (left > 0 ? rest[i] / left : even));
    return fmin(1, spec_compensated_value(&sum));
}

/* ---- naive tree ------------------------------------------------------------------------------ */

/* residual(i) and missed(i) of an entry. */
static double over(const spec_ratio_order *order, int i)
{
    return fmax(0, order->target[i] - order->draft[i]);
}

static double under(const spec_ratio_order *order, int i)
{
    return fmax(0, order->draft[i] - order->target[i]);
}

/* Returns the overlap plus kept over the residual's sum. */
static double with_kept(const spec_ratio_order *order, double kept)
{
    const double residual = spec_ratio_order_residual(order, 1),
                 overlap = spec_ratio_order_common(order, 1);
    return residual > 0 ? fmin(1, overlap + kept / residual) : overlap;
}

double spec_coincidence_naive_tree_without(const spec_ratio_order *order, int n)
{
    if (!spec_ratio_order_defined(order, n)) return NAN;
    if (n >= order->V) return 1;
    if (n == 1) return spec_ratio_order_common(order, 1);
    if (n > 2) return NAN;
    spec_compensated odds = {0}, drafted = {0};
    double kept = 0;
    for (int i = 0; i < order->V; i++) {
        if (spec_ratio_order_others(order, i) > 0)
            spec_compensated_add(&odds, under(order, i) / spec_ratio_order_others(order, i));
        else
            kept = under(order, i) * spec_ratio_order_residual(order, 1) /
                   (order->V - 1); /* the draft has only this token */
        spec_compensated_add(&drafted, over(order, i) * order->draft[i]);
    }
    return with_kept(order,
                     kept + spec_compensated_value(&odds) * spec_compensated_value(&drafted));
}

double spec_coincidence_naive_tree_hub(const spec_ratio_order *order, int n)
{
    if (!spec_ratio_order_defined(order, n) || n > 2) return NAN;
    if (n == 1 || order->V == 1) return spec_ratio_order_common(order, 1);
    int hub = 0;
    for (int i = 1; i < order->V; i++)
        if (order->draft[i] > order->draft[hub] ||
            (order->draft[i] == order->draft[hub] && order->token[i] < order->token[hub]))
            hub = i;
    spec_compensated missed = {0}, drafted = {0};
    const double left = spec_ratio_order_others(order, hub), even = 1.0 / (order->V - 1);
    for (int i = 0; i < order->V; i++) {
        if (i == hub) continue;
        spec_compensated_add(&missed, under(order, i));
        spec_compensated_add(&drafted, over(order, i) * (left > 0 ? order->draft[i] / left : even));
    }
    return with_kept(order, over(order, hub) * spec_compensated_value(&missed) +
                                under(order, hub) * spec_compensated_value(&drafted));
}
