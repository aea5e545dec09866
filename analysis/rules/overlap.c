/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/rules/overlap.h"

#include <gsl/gsl_sf_log.h>
#include <math.h>
#include <stdbool.h>

/* Neumaier's sum [Neumaier74]: `lost` collects the rounding error of each addition. */
typedef struct {
    double sum, lost;
} compensated;

static void add(compensated *total, double x)
{
    double sum = total->sum + x;
    if (fabs(total->sum) >= fabs(x)) {
        total->lost += (total->sum - sum) + x;
    } else {
        total->lost += (x - sum) + total->sum;
    }
    total->sum = sum;
}

static double result(const compensated *total)
{
    return total->sum + total->lost;
}

/* Returns the smaller number; fmin() would drop a NaN. */
static double smaller(double a, double b)
{
    if (isnan(a)) return a;
    return a < b ? a : b;
}

double spec_overlap(const double *target, const double *draft, size_t n)
{
    compensated total = {0};
    for (size_t x = 0; x < n; x++) add(&total, smaller(target[x], draft[x]));
    return result(&total);
}

double spec_overlap_match_probability(const double *target, const double *draft, size_t n)
{
    compensated total = {0};
    for (size_t x = 0; x < n; x++) add(&total, target[x] * draft[x]);
    return result(&total);
}

double spec_overlap_total_variation(const double *a, const double *b, size_t n)
{
    compensated total = {0};
    for (size_t x = 0; x < n; x++) add(&total, fabs(a[x] - b[x]));
    return result(&total) / 2;
}

/* Returns a log(a/b) - a + b for positive a and b. With a = b (1 + r) this is b ((1 + r) log(1 + r)
 * - r), which cancels for small r unless we take log(1 + r) - r from its own series. If the ratio
 * over- or underflows, we use a difference of logarithms. */
static double divergence_term(double a, double b)
{
    double ratio = a / b;
    if (fabs(ratio - 1) < 0.5) {
        double r = (a - b) / b;
        return b * ((1 + r) * gsl_sf_log_1plusx_mx(r) + r * r);
    }
    double logarithm = isnormal(ratio) ? log(ratio) : log(a) - log(b);
    return a * logarithm - (a - b);
}

double spec_overlap_kl_divergence(const double *a, const double *b, size_t n)
{
    compensated total = {0};
    bool infinite = false;
    for (size_t x = 0; x < n; x++) {
        if (isnan(a[x]) || isnan(b[x])) return NAN;
        if (a[x] == 0) {
            add(&total, b[x]);
        } else if (b[x] == 0) {
            infinite = true;
        } else {
            add(&total, divergence_term(a[x], b[x]));
        }
    }
    return infinite ? INFINITY : result(&total);
}

double spec_overlap_entropy(const double *a, size_t n)
{
    compensated total = {0};
    for (size_t x = 0; x < n; x++) {
        if (a[x] != 0) add(&total, -a[x] * log(a[x]));
    }
    return result(&total);
}

double spec_overlap_coin_entropy(const double *target, const double *draft, size_t n)
{
    compensated total = {0};
    for (size_t x = 0; x < n; x++) {
        if (isnan(target[x]) || isnan(draft[x])) return NAN;
        const double t = target[x], d = draft[x];
        if (!(t > 0 && t < d)) continue;
        add(&total, -t * log(t / d));
        add(&total, -(d - t) * log1p(-t / d));
    }
    return result(&total);
}
