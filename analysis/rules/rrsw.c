/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/rules/rrsw.h"

#include "analysis/statistics/compensated.h"

#include <math.h>

static const double most_paths = 2e9; /* limit of the recursion, which then takes half a minute */

/* Returns the draft probability of the tokens that are left after token i is drawn too. If i has
 * most of the probability, a plain difference would cancel. */
static double left_without(const spec_ratio_order *order, const int *drawn, int n_drawn,
                           double left, int i)
{
    if (order->draft[i] <= left / 2) return left - order->draft[i];
    spec_compensated sum = {0};
    for (int j = 0; j < order->n_drafted; j++) {
        bool taken = j == i;
        for (int k = 0; k < n_drawn; k++) taken |= drawn[k] == j;
        if (!taken) spec_compensated_add(&sum, order->draft[j]);
    }
    return spec_compensated_value(&sum);
}

/* Returns the chance that all n drafts are rejected, given that n_drawn already are. The residual
 * is then (target - scale draft)+ / mass, `left` is the draft probability of the tokens not drawn,
 * and drawn has room for n. */
static double all_rejected(const spec_ratio_order *order, int *drawn, int n_drawn, int n,
                           double scale, double mass, double left)
{
    if (mass <= 0) return 0;
    double next_scale = scale + mass / left,
           next_mass = spec_ratio_order_residual(order, next_scale);
    if (n_drawn == n - 1) return next_mass / mass;
    spec_compensated sum = {0};
    int n_rejectable = spec_ratio_order_count(order, next_scale);
    for (int i = 0; i < n_rejectable; i++) {
        bool taken = false;
        for (int k = 0; k < n_drawn; k++) taken |= drawn[k] == i;
        if (taken) continue;
        double draft = order->draft[i], residual = fmax(0, order->target[i] - scale * draft);
        double rejected = draft / left - residual / mass;
        if (rejected <= 0) continue;
        double still_left = left_without(order, drawn, n_drawn, left, i);
        drawn[n_drawn] = i;
        double others =
            all_rejected(order, drawn, n_drawn + 1, n, next_scale, next_mass, still_left);
        spec_compensated_add(&sum, rejected * others);
    }
    return spec_compensated_value(&sum);
}

/* Returns the same chance for a draft of at most n tokens. All of these are drawn, so only the
 * target's mass on the other tokens remains, and further drafts are uniform over those. Which
 * tokens were rejected no longer matters. */
static double all_rejected_after_all(const spec_ratio_order *order, int n)
{
    int first = order->n_drafted, n_even = order->V - first;
    double bar = 0, residual = order->target_above[first];
    for (int k = 0; k < n - first; k++) {
        if (k == n_even) return 0;
        bar += residual / (n_even - k);
        int i = first;
        while (i < order->V && order->target[i] < bar) i++;
        residual = fmax(0, order->target_above[i] - bar * (order->V - i));
    }
    return residual;
}

double spec_rrsw_acceptance(const spec_ratio_order *order, int n)
{
    if (!spec_ratio_order_defined(order, n)) return NAN;
    if (n >= order->n_drafted) return 1 - all_rejected_after_all(order, n);
    if (n > 2 && pow(order->n_drafted, n - 1) > most_paths) return NAN;
    int drawn[SPEC_DRAFTS_MAX];
    return 1 - fmin(1, all_rejected(order, drawn, 0, n, 0, 1, 1));
}
