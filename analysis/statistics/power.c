/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/statistics/power.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sf_gamma.h>
#include <math.h>
#include <stdbool.h>

enum { HALVINGS = 100 };

/* Averages central tails over a Poisson distribution. Each tail is the previous one plus a term of
 * a series, so all terms have the same sign. Poisson probabilities beyond 12 standard deviations
 * are below 1e-30. */
double spec_power_noncentral_tail(double x, double df, double noncentrality)
{
    const double half = 0.5 * noncentrality, y = 0.5 * x, reach = 12.0 * sqrt(half) + 40.0;
    if (!(df >= 1.0) || !(x >= 0.0) || !(noncentrality >= 0.0) || isinf(df) || isinf(noncentrality))
        return NAN;
    if (x == 0.0) return 1.0;
    if (isinf(x)) return 0.0;
    const double first = fmax(0.0, floor(half - reach)), last = ceil(half + reach);
    const double log_half = half > 0.0 ? log(half) : 0.0, log_y = log(y);
    double tail = gsl_cdf_chisq_Q(x, df + 2.0 * first), sum = 0.0, weight = 0.0, term = 0.0;
    for (double j = first; j <= last; j++) {
        const double shape = 0.5 * df + j;
        /* Each term is the previous one times a factor, once the previous term has full
         * precision. */
        weight = weight > 0.0 ? weight * half / j
                 : half > 0.0 ? exp(j * log_half - half - gsl_sf_lngamma(j + 1.0))
                              : j == 0.0;
        term =
            term > 1e-300 ? term * y / shape : exp(shape * log_y - y - gsl_sf_lngamma(shape + 1.0));
        sum += weight * tail;
        tail += term;
    }
    return fmin(sum, 1.0);
}

/* Returns the x > 0 at which a monotonic function reaches `goal`. At 0 an increasing function must
 * be below the goal, and a decreasing one above it. */
static double crossing(double (*f)(double x, double df, double extra), double df, double extra,
                       double goal, bool falls)
{
    double low = 0.0, high = 1.0;
    while ((f(high, df, extra) > goal) == falls) high *= 2.0;
    for (int i = 0; i < HALVINGS; i++) {
        const double middle = 0.5 * (low + high);
        if ((f(middle, df, extra) > goal) == falls)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

static double power_of(double noncentrality, double df, double critical)
{
    return spec_power_noncentral_tail(critical, df, noncentrality);
}

double spec_power_noncentrality_beyond(double critical, double df, double power)
{
    if (!(df >= 1.0) || isinf(df) || !(critical >= 0.0) || isinf(critical) ||
        !(power > 0.0 && power < 1.0))
        return NAN;
    if (spec_power_noncentral_tail(critical, df, 0.0) >= power) return 0.0;
    return crossing(power_of, df, critical, power, false);
}

double spec_power_noncentrality(double df, double alpha, double power)
{
    if (!(df >= 1.0) || isinf(df) || !(alpha > 0.0 && power > alpha && power < 1.0)) return NAN;
    return spec_power_noncentrality_beyond(
        crossing(spec_power_noncentral_tail, df, 0.0, alpha, true), df, power);
}

double spec_power_draws(double tv, double df, double alpha, double power)
{
    return tv > 0.0 && tv <= 1.0 ? spec_power_noncentrality(df, alpha, power) / (4.0 * tv * tv)
                                 : NAN;
}

double spec_power_detectable(double n, double df, double alpha, double power)
{
    return n > 0.0 ? fmin(1.0, sqrt(spec_power_noncentrality(df, alpha, power) / (4.0 * n))) : NAN;
}
