/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/statistics/evalue.h"

#include <math.h>
#include <stdbool.h>

/* Returns Stirling's series of log Gamma without its leading terms, to 1e-15 for x >= LARGE. */
static double stirling_rest(double x)
{
    const double y = 1.0 / (x * x);
    return (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y / 1680))) / x;
}

/* Returns log Gamma(base + steps) / Gamma(base) for base > 0. It multiplies factors until
 * Stirling's series is accurate, and then takes a difference in a form that does not cancel. */
static double log_rising(double base, uint64_t steps)
{
    enum { LARGE = 20 };
    double product = 1.0, sum = 0.0;
    while (steps > 0 && base < LARGE) {
        product *= base++;
        steps--;
    }
    if (steps > 0) {
        const double n = (double)steps, end = base + n;
        sum = (base - 0.5) * log1p(n / base) + n * (log(end) - 1.0) + stirling_rest(end) -
              stirling_rest(base);
    }
    return sum + log(product);
}

double spec_evalue_dirichlet(const uint64_t *next, const uint64_t *before,
                             const double *probability, int n, double weight)
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
            gain += log_rising(weight * chance + (double)before[i], next[i]) -
                    (double)next[i] * log(chance);
    }
    if (!(fabs(sum - 1.0) <= 1e-9)) return NAN;
    return impossible ? INFINITY : gain - log_rising(weight + (double)n_before, n_next);
}

double spec_evalue_event(uint64_t hits, uint64_t n, double chance, double lambda)
{
    const double hit = lambda * (1.0 - chance), miss = -lambda * chance;
    if (!(chance >= 0.0 && chance <= 1.0) || hits > n || !(hit > -1.0) || !(miss > -1.0))
        return NAN;
    return (double)hits * log1p(hit) + (double)(n - hits) * log1p(miss);
}

double spec_evalue_events(double excess, double variance)
{
    enum { LEAST = -6, MOST = 1, BETS = 2 * (MOST - LEAST + 1) };
    double gain[BETS];
    if (isnan(excess) || !(variance >= 0.0)) return NAN;
    for (int i = 0; i < BETS; i++) {
        const double size = ldexp(1.0, LEAST + i / 2);
        gain[i] = (i % 2 == 0 ? size : -size) * excess - (expm1(size) - size) * variance;
    }
    return spec_evalue_mean(gain, BETS);
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
