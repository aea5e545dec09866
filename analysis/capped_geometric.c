/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/capped_geometric.h"

#include <math.h>
#include <stdbool.h>

static bool in_domain(double alpha, double K)
{
    return alpha >= 0.0 && alpha <= 1.0 && K >= 0;
}

/* Returns sinh(x) - m sinh(x/m) for m >= 3 and small x. The difference would cancel, so we sum its
 * series, which has only positive terms. */
static double sinh_excess(double x, double m)
{
    double outer = x, inner = x, sum = 0.0, previous;
    double squared = x * x, shrink = m * m;
    int order = 1;
    do { /* outer = x^i / i!, inner = m (x/m)^i / i! */
        previous = sum;
        order += 2;
        outer *= squared / (order * (order - 1));
        inner *= squared / (order * (order - 1)) / shrink;
        sum += outer - inner;
    } while (sum != previous);
    return sum;
}

double spec_capped_geometric_probability(double alpha, int K, int k)
{
    if (!in_domain(alpha, K)) return NAN;
    if (k < 0 || k > K) return 0.0;
    return k == K ? pow(alpha, k) : pow(alpha, k) * (1.0 - alpha);
}

double spec_capped_geometric_tail(double alpha, int K, int k)
{
    if (!in_domain(alpha, K)) return NAN;
    if (k > K) return 0.0;
    return pow(alpha, fmax(k, 0.0));
}

double spec_capped_geometric_mean(double alpha, double K)
{
    if (!in_domain(alpha, K)) return NAN;
    if (K == 0.0 || alpha == 1.0) return K + 1.0;
    /* 1 - alpha^K without cancellation; alpha = 0 gives log = -inf and expm1 = -1. */
    return 1.0 - alpha * expm1(K * log(alpha)) / (1.0 - alpha);
}

double spec_capped_geometric_variance(double alpha, int K)
{
    if (!in_domain(alpha, K)) return NAN;
    if (K == 0 || alpha == 1.0) return 0.0;
    /* With alpha = exp(-2h) and x = m h the bracket is 2 exp(-x) (sinh(x) - m sinh(h)), which is of
     * third order in x. */
    double m = 2.0 * K + 1.0, x = -0.5 * m * log(alpha), rejected = 1.0 - alpha;
    double bracket = x > 3.0 ? -expm1(-2.0 * x) - m * pow(alpha, K) * rejected
                             : 2.0 * exp(-x) * sinh_excess(x, m);
    return alpha * bracket / (rejected * rejected);
}

double spec_capped_geometric_positional_mean(const double *a, int K)
{
    double mean = K >= 0 ? 1.0 : NAN;
    for (int i = K - 1; i >= 0; i--) mean = in_domain(a[i], K) ? 1.0 + a[i] * mean : NAN;
    return mean;
}
