/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/round_times.h"

#include <math.h>
#include <stdbool.h>

static bool is_valid(const spec_round_times *times)
{
    bool valid = times->n >= 1;
    for (int i = 0; i < times->n; i++)
        valid = valid && times->K[i] >= 0 && (i == 0 || times->K[i] > times->K[i - 1]) &&
                times->time[i] > 0.0 && isfinite(times->time[i]);
    return valid;
}

/* Returns the value at K of the chord through points i and i + 1; -INFINITY if one of them does not
 * exist. */
static double chord(const spec_round_times *times, int first, int i, int K)
{
    if (i < first || i + 1 >= times->n) return -INFINITY;
    const double share = (double)(K - times->K[i]) / (times->K[i + 1] - times->K[i]);
    return times->time[i] + share * (times->time[i + 1] - times->time[i]);
}

spec_bounds spec_round_times_at(const spec_round_times *times, int K)
{
    if (K < 0 || !is_valid(times)) return (spec_bounds){NAN, NAN};
    for (int i = 0; i < times->n; i++)
        if (times->K[i] == K) return (spec_bounds){times->time[i], times->time[i]};
    const int first = times->K[0] == 0, last = times->n - 1;
    const double plain = first ? times->time[0] : 0.0;
    if (first > last) return (spec_bounds){NAN, NAN};
    if (K == 0) return (spec_bounds){0.0, times->time[first]}; /* a plain token takes at most as
                                                                * long as a round */

    int i = first; /* the first length greater than K; n: there is none */
    while (i <= last && times->K[i] < K) i++;
    spec_bounds bounds;
    if (i > first && i <= last) {
        const double around = fmax(chord(times, first, i - 2, K), chord(times, first, i, K));
        bounds.high = chord(times, first, i - 1, K);
        bounds.low = fmax(around, times->time[i - 1]);
    } else {
        const int end = i == first ? first : last;
        const double linear = times->time[end] * K / times->K[end];
        bounds.low = fmax(fmin(times->time[end], linear),
                          chord(times, first, end == first ? first : last - 1, K));
        bounds.low = fmax(bounds.low, plain);
        bounds.high = fmax(times->time[end], linear);
    }
    if (bounds.low > bounds.high) bounds = (spec_bounds){bounds.high, bounds.low};
    return bounds;
}

double spec_round_times_break_even(double round_over_plain, int K)
{
    if (!(round_over_plain > 0.0) || K < 1) return NAN;
    return fmax(0.0, (round_over_plain - 1.0) / K);
}
