/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/serial_widening.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdbool.h>

enum { PHIS = 7, SHARES = 3, MODELS = SPEC_SERIAL_MODELS };

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

/* Fits all models; the weights sum to 1. Fills in the mean of the values and the standard error of
 * independent ones. Returns false for less than three values, or values without spread. */
static bool fit_all(posterior all[MODELS], double *mean, double *se, const double *value, size_t n)
{
    double squares = 0.0, top = -INFINITY, sum = 0.0;
    *mean = 0.0;
    if (n < 3) return false;
    for (size_t i = 0; i < n; i++) *mean += value[i] / (double)n;
    for (size_t i = 0; i < n; i++) squares += (value[i] - *mean) * (value[i] - *mean);
    if (!(squares > 0.0)) return false;
    *se = sqrt(squares / ((double)n - 1.0) / (double)n);
    all[0] = fit(value, n, 0.0, 1.0, 1.0 / 3.0);
    for (int k = 1; k < MODELS; k++)
        all[k] = fit(value, n, phi_of[1 + (k - 1) / SHARES], share_of[(k - 1) % SHARES],
                     2.0 / 3.0 / (MODELS - 1));
    for (int k = 0; k < MODELS; k++) top = fmax(top, all[k].weight);
    for (int k = 0; k < MODELS; k++) sum += all[k].weight = exp(all[k].weight - top);
    for (int k = 0; k < MODELS; k++) all[k].weight /= sum;
    return true;
}

double spec_serial_widening(const double *value, size_t n, double error)
{
    posterior all[MODELS];
    double mean, se;
    const double df = (double)n - 1.0;
    if (!(error > 0.0 && error < 1.0)) return NAN;
    if (!fit_all(all, &mean, &se, value, n)) return 1.0;
    const double usual = gsl_cdf_tdist_Qinv(0.5 * error, df) * se;
    double low = 0.0, high = 1.0;
    while (held(all, mean, high * usual, df) < 1.0 - error && high < 1e6) high *= 2.0;
    for (int turn = 0; turn < 24; turn++) {
        const double middle = 0.5 * (low + high);
        *(held(all, mean, middle * usual, df) < 1.0 - error ? &low : &high) = middle;
    }
    return fmax(high, 1.0);
}

void spec_serial_widenings(spec_serial_model ret[SPEC_SERIAL_MODELS], const double *value, size_t n)
{
    posterior all[MODELS];
    double mean, se;
    const bool known = fit_all(all, &mean, &se, value, n);
    for (int k = 0; k < MODELS; k++)
        ret[k] = known ? (spec_serial_model){all[k].weight,
                                             hypot(all[k].scale, all[k].place - mean) / se}
                       : (spec_serial_model){1.0 / MODELS, 1.0};
}
