/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/round_times.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

static bool is_valid(const spec_round_times *times)
{
    bool valid = times->n >= 1;
    for (int i = 0; i < times->n; i++)
        valid = valid && times->K[i] >= 0 && (i == 0 || times->K[i] > times->K[i - 1]) &&
                times->time[i] > 0.0 && isfinite(times->time[i]) && times->se[i] >= 0.0 &&
                isfinite(times->se[i]);
    return valid;
}

/* Between the linear and the fixed cost of one length. */
static spec_bounds from_one(double *ret_se, double plain, double plain_se, double time, double se,
                            double share)
{
    const double linear = plain + (time - plain) * share;
    *ret_se = fmax(se, hypot((1.0 - share) * plain_se, share * se));
    return (spec_bounds){fmin(linear, time), fmax(linear, time)};
}

/* The line through points first..n-1 by weighted least squares, at K. */
static double on_line(double *ret_se, const spec_round_times *times, int first, int K)
{
    /* A point without an error next to ones with errors fixes the line; without any, all count the
     * same. */
    double largest = 0.0;
    for (int i = first; i < times->n; i++) largest = fmax(largest, times->se[i]);
    const double least = largest > 0.0 ? 1e-4 * largest : 1.0;

    double sum = 0.0, K_mean = 0.0, mean = 0.0;
    for (int i = first; i < times->n; i++) {
        const double se = fmax(times->se[i], least), weight = 1.0 / (se * se);
        sum += weight;
        K_mean += weight / sum * (times->K[i] - K_mean);
        mean += weight / sum * (times->time[i] - mean);
    }
    double square = 0.0, product = 0.0;
    for (int i = first; i < times->n; i++) {
        const double se = fmax(times->se[i], least), weight = 1.0 / (se * se);
        square += weight * (times->K[i] - K_mean) * (times->K[i] - K_mean);
        product += weight * (times->K[i] - K_mean) * (times->time[i] - mean);
    }
    const double slope = fmax(0.0, product / square);
    double chi_square = 0.0;
    for (int i = first; i < times->n; i++) {
        const double se = fmax(times->se[i], least),
                     off = times->time[i] - mean - slope * (times->K[i] - K_mean);
        chi_square += off * off / (se * se);
    }
    const int df = times->n - first - 2;
    const double scatter = fmax(largest > 0.0 ? 1.0 : 0.0, df > 0 ? chi_square / df : 0.0);
    *ret_se = sqrt(scatter * (1.0 / sum + (K - K_mean) * (K - K_mean) / square));
    return mean + slope * (K - K_mean);
}

spec_bounds spec_round_times_at(double *opt_se, const spec_round_times *times, int K)
{
    double ignored, *se = opt_se != NULL ? opt_se : &ignored;
    *se = NAN;
    if (K < 0 || !is_valid(times)) return (spec_bounds){NAN, NAN};
    for (int i = 0; i < times->n; i++)
        if (times->K[i] == K) {
            *se = times->se[i];
            return (spec_bounds){times->time[i], times->time[i]};
        }
    const int first = times->K[0] == 0;
    const double plain = first ? times->time[0] : 0.0, plain_se = first ? times->se[0] : 0.0;
    if (first == times->n) return (spec_bounds){NAN, NAN};
    if (K == 0) { /* not run: a plain token takes no longer than a round */
        *se = times->se[first];
        return (spec_bounds){0.0, times->time[first]};
    }
    if (first == times->n - 1)
        return from_one(se, plain, plain_se, times->time[first], times->se[first],
                        (double)K / times->K[first]);
    const double time = fmax(plain, on_line(se, times, first, K));
    return (spec_bounds){time, time};
}

double spec_round_times_break_even(double round_over_plain, int K)
{
    if (!(round_over_plain > 0.0) || K < 1) return NAN;
    return fmax(0.0, (round_over_plain - 1.0) / K);
}
