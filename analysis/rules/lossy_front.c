/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/rules/lossy_front.h"

#include "analysis/rules/overlap.h"

#include <math.h>

/* Replaces a law of n texts by that of their first tokens without the last. */
static void drop_last(double *law, size_t n, int V)
{
    for (size_t i = 0; i < n / (size_t)V; i++) {
        double sum = 0.0;
        for (int x = 0; x < V; x++) sum += law[i * (size_t)V + (size_t)x];
        law[i] = sum;
    }
}

void spec_lossy_front_depths(double *ret_tv, double *target, double *draft, int V, int K)
{
    size_t n = 1;
    for (int i = 0; i < K; i++) n *= (size_t)V;
    for (int i = K; i-- > 0; n /= (size_t)V) {
        ret_tv[i] = spec_overlap_total_variation(target, draft, n);
        drop_last(target, n, V);
        drop_last(draft, n, V);
    }
}

double spec_lossy_front_accepted(const double *tv, int K, double budget)
{
    double lost = 0.0;
    for (int i = 0; i < K; i++) lost += fmax(tv[i] - budget, 0.0);
    return K - lost;
}

/* Between tv_{i-1} and tv_i, each unit of budget reduces the loss by K - i + 1. */
double spec_lossy_front_tv(const double *tv, int K, double accepted)
{
    if (isnan(accepted)) return NAN;
    double budget = 0.0, most = spec_lossy_front_accepted(tv, K, 0.0);
    for (int i = 0; i < K && most < accepted; i++) {
        const double step = fmin((accepted - most) / (K - i), fmax(tv[i] - budget, 0.0));
        budget += step;
        most += step * (K - i);
    }
    return budget;
}
