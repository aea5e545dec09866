/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/cost_curve.h"

#include "analysis/statistics/compensated.h"

#include <math.h>
#include <stdbool.h>

double spec_cost_curve_time(const spec_cost_curve *curve, double width)
{
    const int n = curve->n;
    if (n < 1 || !(width >= 1.0)) return NAN;
    if (n == 1 || width < curve->width[0]) return curve->time[0];
    int right = 1;
    while (right < n - 1 && width > curve->width[right]) right++;
    const double from = curve->width[right - 1], to = curve->width[right],
                 share = (width - from) / (to - from);
    return (1.0 - share) * curve->time[right - 1] + share * curve->time[right];
}

double spec_cost_curve_mean(const spec_cost_curve *curve, const uint64_t *counts, int n)
{
    spec_compensated time = {0};
    uint64_t passes = 0;
    for (int i = 0; i < n; i++) {
        spec_compensated_add(&time, (double)counts[i] * spec_cost_curve_time(curve, i + 1));
        passes += counts[i];
    }
    return spec_compensated_value(&time) / (double)passes; /* 0/0 is NaN */
}

static bool is_time(double time)
{
    return time >= 0.0 && isfinite(time);
}

double spec_cost_curve_speedup(double emitted, double plain, double draft, double verify,
                               double rest)
{
    if (!(emitted >= 0.0) || !is_time(plain) || !is_time(draft) || !is_time(verify) ||
        !is_time(rest))
        return NAN;
    const double round = draft + verify + rest;
    return round > 0.0 ? emitted * plain / round : NAN;
}
