/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/moment_bounds.h"

#include "analysis/statistics/compensated.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

static bool are_shares(const double *m, int K, int K_other)
{
    bool all = K >= 0 && K_other >= 0;
    for (int j = 0; j < K; j++) all = all && m[j] >= 0.0 && m[j] <= 1.0;
    return all;
}

/* Returns 1 plus what the depths up to min(K, K_other) contribute to the tokens per round. */
static double measured(const double *m, int K, int K_other)
{
    spec_compensated sum = {0};
    spec_compensated_add(&sum, 1.0);
    for (int j = 0; j < K && j < K_other; j++) spec_compensated_add(&sum, m[j]);
    return spec_compensated_value(&sum);
}

spec_bounds spec_moment_bounds_free(const double *m, int K, int K_other)
{
    if (!are_shares(m, K, K_other)) return (spec_bounds){NAN, NAN};
    const double low = measured(m, K, K_other), last = K > 0 ? m[K - 1] : 1.0;
    return (spec_bounds){low, K_other > K ? low + (K_other - K) * last : low};
}

double spec_moment_bounds_constant(const double *m, int K, int K_other)
{
    if (!are_shares(m, K, K_other)) return NAN;
    double tokens = measured(m, K, K_other);
    if (K_other <= K) return tokens;
    if (K == 0) return NAN;
    double term = m[K - 1];
    if (term == 0.0) return tokens;
    const double ratio = K > 1 ? term / m[K - 2] : term;
    for (int j = K; j < K_other; j++) tokens += term *= ratio;
    return tokens;
}
