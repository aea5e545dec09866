/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/rules/overlap.h"

#include "analysis/statistics/compensated.h"

#include <gsl/gsl_sf_log.h>
#include <math.h>
#include <stdbool.h>

/* Returns the smaller number; fmin() would drop a NaN. */
static double smaller(double a, double b)
{
    if (isnan(a)) return a;
    return a < b ? a : b;
}

double spec_overlap(const double *target, const double *draft, size_t n)
{
    spec_compensated total = {0};
    for (size_t x = 0; x < n; x++) spec_compensated_add(&total, smaller(target[x], draft[x]));
    return spec_compensated_value(&total);
}

double spec_overlap_match_probability(const double *target, const double *draft, size_t n)
{
    spec_compensated total = {0};
    for (size_t x = 0; x < n; x++) spec_compensated_add(&total, target[x] * draft[x]);
    return spec_compensated_value(&total);
}

double spec_overlap_total_variation(const double *a, const double *b, size_t n)
{
    spec_compensated total = {0};
    for (size_t x = 0; x < n; x++) spec_compensated_add(&total, fabs(a[x] - b[x]));
    return spec_compensated_value(&total) / 2;
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
    spec_compensated total = {0};
    bool infinite = false;
    for (size_t x = 0; x < n; x++) {
        if (isnan(a[x]) || isnan(b[x])) return NAN;
        if (a[x] == 0) {
            spec_compensated_add(&total, b[x]);
        } else if (b[x] == 0) {
            infinite = true;
        } else {
            spec_compensated_add(&total, divergence_term(a[x], b[x]));
        }
    }
    return infinite ? INFINITY : spec_compensated_value(&total);
}

double spec_overlap_entropy(const double *a, size_t n)
{
    spec_compensated total = {0};
    for (size_t x = 0; x < n; x++) {
        if (a[x] != 0) spec_compensated_add(&total, -a[x] * log(a[x]));
    }
    return spec_compensated_value(&total);
}

double spec_overlap_coin_entropy(const double *target, const double *draft, size_t n)
{
    spec_compensated total = {0};
    for (size_t x = 0; x < n; x++) {
        if (isnan(target[x]) || isnan(draft[x])) return NAN;
        const double t = target[x], d = draft[x];
        if (!(t > 0 && t < d)) continue;
        spec_compensated_add(&total, -t * log(t / d));
        spec_compensated_add(&total, -(d - t) * log1p(-t / d));
    }
    return spec_compensated_value(&total);
}
