/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/cascade.h"

#include <math.h>
#include <string.h>

enum { MODELS_MAX = 8 };

double spec_cascade_pgf(const spec_cascade *cascade, int level, double z)
{
    if (level == cascade->n - 1) return z;
    const double az = cascade->alpha[level] * z;
    const double all = pow(spec_cascade_pgf(cascade, level + 1, az), cascade->rounds[level]);
    if (az == 1.0) return z * all;
    return z * ((1.0 - cascade->alpha[level]) * (1.0 - all) / (1.0 - az) + all);
}

static double emitted_from(const spec_cascade *cascade, int level)
{
    if (level == cascade->n - 1) return 1.0;
    const double alpha = cascade->alpha[level];
    const int rounds = cascade->rounds[level];
    if (alpha == 1.0) return 1.0 + rounds * emitted_from(cascade, level + 1);
    const double all = pow(spec_cascade_pgf(cascade, level + 1, alpha), rounds);
    return 1.0 + alpha * (1.0 - all) / (1.0 - alpha);
}

double spec_cascade_emitted(const spec_cascade *cascade)
{
    return emitted_from(cascade, 0);
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
