/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/serial_widening.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

enum { PHIS = 7, SHARES = 3, MODELS = 1 + (PHIS - 1) * SHARES };

static const double phi_of[PHIS] = {0.0, 0.4, 0.7, 0.85, 0.93, 0.97, 0.99};
static const double share_of[SHARES] = {0.3, 0.6, 1.0};

/* Student's posterior of the mean under one model, and the log of its weight. */
typedef struct {
    double place, scale, weight;
} posterior;

/* Runs a Kalman filter over the values and over a constant in parallel, which gives generalised
 * least squares without a matrix. */
static posterior fit(const double *value, size_t n, double phi, double share, double prior)
{
    double level = 0.0, level_of_one = 0.0, variance = share;
    double logs = 0.0, squares = 0.0, product = 0.0, ones = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double total = variance + (1.0 - share), gain = variance / total,
                     off = value[i] - level, off_one = 1.0 - level_of_one;
        logs += log(total);
        squares += off * off / total;
        product += off * off_one / total;
        ones += off_one * off_one / total;
        level = phi * (level + gain * off);
        level_of_one = phi * (level_of_one + gain * off_one);
        variance = phi * phi * variance * (1.0 - gain) + share * (1.0 - phi * phi);
    }
    const double df = (double)n - 1.0, place = product / ones,
                 rest = fmax(squares - product * place, 1e-12 * squares);
    return (posterior){.place = place,
                       .scale = sqrt(rest / (df * ones)),
                       .weight = log(prior) - 0.5 * (logs + log(ones) + df * log(rest))};
}

static double held(const posterior *all, double mean, double half, double df)
{
    double sum = 0.0;
    for (int k = 0; k < MODELS; k++)
        sum += all[k].weight * (gsl_cdf_tdist_P((mean + half - all[k].place) / all[k].scale, df) -
                                gsl_cdf_tdist_P((mean - half - all[k].place) / all[k].scale, df));
    return sum;
}

double spec_serial_widening(const double *value, size_t n, double error)
{
    posterior all[MODELS];
    double mean = 0.0, squares = 0.0, top = -INFINITY, sum = 0.0;
    const double df = (double)n - 1.0;
    if (!(error > 0.0 && error < 1.0)) return NAN;
    if (n < 3) return 1.0;
    for (size_t i = 0; i < n; i++) mean += value[i] / (double)n;
    for (size_t i = 0; i < n; i++) squares += (value[i] - mean) * (value[i] - mean);
    if (!(squares > 0.0)) return 1.0;
    all[0] = fit(value, n, 0.0, 1.0, 1.0 / 3.0);
    for (int k = 1; k < MODELS; k++)
        all[k] = fit(value, n, phi_of[1 + (k - 1) / SHARES], share_of[(k - 1) % SHARES],
                     2.0 / 3.0 / (MODELS - 1));
    for (int k = 0; k < MODELS; k++) top = fmax(top, all[k].weight);
    for (int k = 0; k < MODELS; k++) sum += all[k].weight = exp(all[k].weight - top);
    for (int k = 0; k < MODELS; k++) all[k].weight /= sum;
    const double usual = gsl_cdf_tdist_Qinv(0.5 * error, df) * sqrt(squares / df / (double)n);
    double low = 0.0, high = 1.0;
    while (held(all, mean, high * usual, df) < 1.0 - error && high < 1e6) high *= 2.0;
    for (int turn = 0; turn < 24; turn++) {
        const double middle = 0.5 * (low + high);
        *(held(all, mean, middle * usual, df) < 1.0 - error ? &low : &high) = middle;
    }
    return fmax(high, 1.0);
}
