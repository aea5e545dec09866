/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/cascade.h"

#include <math.h>
#include <string.h>

enum { MODELS_MAX = 8 };

/* Returns S(z) = (1 - G(z)) / (1 - z) for the tokens of a round of a level, where G is their
 * probability generating function and rest = 1 - z. S(1) is the mean. With u = 1 - alpha z,
 *
 *     S_i(z) = 1 + alpha z (1 - H) / u,   H = (1 - u S_{i+1}(alpha z))^rounds
 *
 * where, unlike in the recursion of G, nothing cancels as alpha and z approach 1. */
static double slope(const spec_cascade *cascade, int level, double rest)
{
    if (level == cascade->n - 1 || cascade->rounds[level] == 0) return 1.0;
    const double alpha = cascade->alpha[level], u = 1.0 - alpha + alpha * rest;
    const double inner = slope(cascade, level + 1, u);
    if (u == 0.0) return 1.0 + cascade->rounds[level] * inner;
    const double all = cascade->rounds[level] * log1p(-fmin(u * inner, 1.0)); /* log H */
    return 1.0 - alpha * (1.0 - rest) * expm1(all) / u;
}

double spec_cascade_emitted(const spec_cascade *cascade)
{
    return slope(cascade, 0, 0.0);
}

double spec_cascade_cost(const spec_cascade *cascade)
{
    double cost = cascade->cost[cascade->n - 1];
    for (int i = cascade->n - 1; i-- > 0;) cost = cascade->cost[i] + cascade->rounds[i] * cost;
    return cost;
}

double spec_cascade_best(int *ret_rounds, int n, const double *alpha, const double *cost, int most)
{
    int rounds[MODELS_MAX];
    double best = 0.0;
    if (n < 2 || n > MODELS_MAX || most < 1) return NAN;
    for (int i = 0; i < n - 1; i++) rounds[i] = 1;
    const spec_cascade cascade = {.n = n, .alpha = alpha, .cost = cost, .rounds = rounds};
    for (int i = 0; i < n - 1;) {
        const double speedup = spec_cascade_emitted(&cascade) / spec_cascade_cost(&cascade);
        if (speedup > best) {
            best = speedup;
            memcpy(ret_rounds, rounds, (size_t)(n - 1) * sizeof *rounds);
        }
        for (i = 0; i < n - 1 && rounds[i] == most; i++) rounds[i] = 1;
        if (i < n - 1) rounds[i]++;
    }
    return best;
}
