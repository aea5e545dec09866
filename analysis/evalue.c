#include "analysis/evalue.h"

#include <gsl/gsl_sf_gamma.h>
#include <math.h>
#include <stdbool.h>

/* log Gamma(base + steps) / Gamma(base), for base > 0. A few steps are a product, which loses nothing to cancellation
 * where base is large. */
static double log_rising(double base, uint64_t steps)
{
    enum { FEW = 8 };
    if (steps > FEW) return gsl_sf_lnpoch(base, (double)steps);
    double product = 1.0;
    for (uint64_t k = 0; k < steps; k++) product *= base + (double)k;
    return log(product);
}

double spec_evalue_dirichlet(const uint64_t *next, const uint64_t *before, const double *probability, int n,
                             double weight)
{
    double gain = 0.0, sum = 0.0;
    uint64_t n_next = 0, n_before = 0;
    bool impossible = false;
    if (!(weight > 0.0) || isinf(weight)) return NAN;
    for (int i = 0; i < n; i++) {
        const double chance = probability[i];
        if (!(chance >= 0.0)) return NAN;
        sum += chance;
        n_next += next[i];
        n_before += before[i];
        if (next[i] == 0) continue;
        impossible = impossible || chance == 0.0;
        if (chance > 0.0)
            gain += log_rising(weight * chance + (double)before[i], next[i]) - (double)next[i] * log(chance);
    }
    if (!(fabs(sum - 1.0) <= 1e-9)) return NAN;
    return impossible ? INFINITY : gain - log_rising(weight + (double)n_before, n_next);
}

double spec_evalue_event(uint64_t hits, uint64_t n, double chance, double lambda)
{
    const double hit = lambda * (1.0 - chance), miss = -lambda * chance;
    if (!(chance >= 0.0 && chance <= 1.0) || hits > n || !(hit > -1.0) || !(miss > -1.0)) return NAN;
    return (double)hits * log1p(hit) + (double)(n - hits) * log1p(miss);
}

double spec_evalue_mean(const double *log_e, int n)
{
    double largest = -INFINITY, sum = 0.0;
    if (n < 1) return NAN;
    for (int i = 0; i < n; i++) {
        if (isnan(log_e[i])) return NAN;
        largest = fmax(largest, log_e[i]);
    }
    if (isinf(largest)) return largest;
    for (int i = 0; i < n; i++) sum += exp(log_e[i] - largest);
    return largest + log(sum / n);
}

double spec_evalue_p(double log_e)
{
    return log_e > 0.0 ? exp(-log_e) : isnan(log_e) ? NAN : 1.0;
}
