/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/beta_mixture.h"

#include "analysis/statistics/compensated.h"
#include "speclab/round.h"

#include <gsl/gsl_errno.h>
#include <math.h>
#include <stdbool.h>

/* The log likelihood is a sum over depths i = 0..K-1, with mean mu = a/(a+b) and spread s =
 * 1/(a+b): passed_i log((mu + i s)/(1 + i s)) + rejected_i log((1 - mu)/(1 + i s)) */
typedef struct {
    int K;
    double passed[SPEC_K_MAX], rejected[SPEC_K_MAX]; /* rounds, by depth */
    double rejections;                               /* sum of rejected */
} depth_counts;

/* The range of spreads that we search: log10 of its ends, and steps per unit of log10. */
enum { SPREAD_LOW = -9, SPREAD_HIGH = 6, SPREAD_STEPS = 2 };

/* Returns the likeliest mu at spread s: the root of a decreasing function, by Newton's method in a
 * bracket. Multiplied by mu (1 - mu), the function is linear in mu at s = 0 and as s goes to
 * infinity. */
static double likeliest_mean(const depth_counts *depths, double s)
{
    if (depths->passed[0] == 0.0) return 0.0;
    if (depths->rejections == 0.0) return 1.0;
    double low = 0.0, high = 1.0, mu = depths->passed[0] / (depths->passed[0] + depths->rejections);
    for (int i = 0; i < 100; i++) {
        double pull = 0.0, slope = 0.0;
        for (int d = 0; d < depths->K && depths->passed[d] > 0.0; d++) {
            const double x = mu / (mu + d * s);
            pull += depths->passed[d] * x;
            slope += depths->passed[d] * x * (1.0 - x);
        }
        const double value = (1.0 - mu) * pull - depths->rejections * mu;
        if (value > 0.0)
            low = mu;
        else
            high = mu;
        double next = mu - value / ((1.0 - mu) / mu * slope - pull - depths->rejections);
        if (!(next > low && next < high)) next = 0.5 * (low + high);
        const double step = fabs(next - mu);
        mu = next;
        if (step <= 1e-15 * fmin(mu, 1.0 - mu)) break;
    }
    return mu;
}

static double term(double count, double chance)
{
    return count > 0.0 ? count * log(chance) : 0.0;
}

static double log_likelihood(const depth_counts *depths, double mu, double s)
{
    spec_compensated sum = {0};
    for (int i = 0; i < depths->K; i++) {
        spec_compensated_add(&sum, term(depths->passed[i], (mu + i * s) / (1.0 + i * s)));
        spec_compensated_add(&sum, term(depths->rejected[i], (1.0 - mu) / (1.0 + i * s)));
    }
    return spec_compensated_value(&sum);
}

/* Returns the derivative of the log likelihood with respect to s, at the likeliest mu, up to a
 * positive factor. */
static double rise(const depth_counts *depths, double s)
{
    const double mu = likeliest_mean(depths, s);
    spec_compensated sum = {0};
    for (int i = 1; i < depths->K; i++) {
        /* d/ds log((mu + i s)/(1 + i s)) = i (1 - mu) / ((mu + i s)(1 + i s)) */
        spec_compensated_add(&sum,
                             depths->passed[i] * i * (1.0 - mu) / ((mu + i * s) * (1.0 + i * s)));
        spec_compensated_add(&sum, -depths->rejected[i] * i / (1.0 + i * s));
    }
    return spec_compensated_value(&sum);
}

static double spread_at(int g)
{
    return pow(10.0, SPREAD_LOW + (double)g / SPREAD_STEPS);
}

/* Returns the likeliest spread: takes the best one on a grid, and searches between its
 * neighbours. */
static double likeliest_spread(const depth_counts *depths)
{
    const int last = (SPREAD_HIGH - SPREAD_LOW) * SPREAD_STEPS;
    int best = 0;
    double most = -INFINITY;
    for (int g = 0; g <= last; g++) {
        const double s = spread_at(g), value = log_likelihood(depths, likeliest_mean(depths, s), s);
        if (value > most) most = value, best = g;
    }
    const bool up = rise(depths, spread_at(best)) > 0.0;
    if (up ? best == last : best == 0) return spread_at(best);
    double low = spread_at(up ? best : best - 1), high = spread_at(up ? best + 1 : best);
    while (high - low > 1e-10 * high) {
        const double middle = sqrt(low * high);
        if (middle <= low || middle >= high) break;
        if (rise(depths, middle) > 0.0)
            low = middle;
        else
            high = middle;
    }
    return high;
}

int spec_beta_mixture_fit(spec_beta_mixture *ret, const double *counts, int K)
{
    *ret = (spec_beta_mixture){NAN, NAN, NAN, NAN};
    if (K < 1 || K > SPEC_K_MAX) return GSL_EDOM;
    depth_counts depths = {.K = K};
    double more = counts[K]; /* rounds that accept depth i */
    for (int i = K; i >= 0; i--) {
        if (!(counts[i] >= 0.0 && isfinite(counts[i]))) return GSL_EDOM;
        if (i == K) continue;
        depths.passed[i] = more;
        depths.rejected[i] = counts[i];
        depths.rejections += counts[i];
        more += counts[i];
    }
    if (!(more > 0.0 && isfinite(more))) return GSL_EDOM;

    const double alpha = likeliest_mean(&depths, 0.0);
    ret->alpha = alpha;
    ret->a = ret->b = INFINITY;
    ret->likelihood_ratio = 0.0;
    if (alpha == 0.0 || alpha == 1.0) return GSL_SUCCESS;
    const double s = likeliest_spread(&depths), mu = likeliest_mean(&depths, s),
                 ratio =
                     2.0 * (log_likelihood(&depths, mu, s) - log_likelihood(&depths, alpha, 0.0));
    /* A smaller difference is only rounding. */
    if (!(ratio > 1e-12 * more) || s == spread_at(0)) return GSL_SUCCESS;
    ret->a = mu / s;
    ret->b = (1.0 - mu) / s;
    ret->likelihood_ratio = ratio;
    return GSL_SUCCESS;
}

double spec_beta_mixture_moment(double a, double b, int j)
{
    if (!(a > 0.0 && b > 0.0 && isfinite(a) && isfinite(b)) || j < 0) return NAN;
    double moment = 1.0;
    for (int i = 0; i < j; i++) moment *= (a + i) / (a + b + i);
    return moment;
}
