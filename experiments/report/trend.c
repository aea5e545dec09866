/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/trend.h"

#include <math.h>

bool spec_trend_above(double y, double y_se, double other, double other_se)
{
    const double rounding = 1e-12 + 1e-9 * fmax(fabs(y), fabs(other));
    return y - other > fmax(SPEC_TREND_SE * hypot(y_se, other_se), rounding);
}

/* Returns whether no value from `first` to `last` is below (sign 1) or above (sign -1) an earlier
 * one. */
static bool is_steady(const double *y, const double *se, int first, int last, double sign)
{
    for (int i = first; i < last; i++)
        for (int k = i + 1; k <= last; k++)
            if (spec_trend_above(sign * y[i], se[i], sign * y[k], se[k])) return false;
    return true;
}

static int largest(const double *y, int n, double sign)
{
    int at = 0;
    for (int i = 1; i < n; i++)
        if (sign * y[i] > sign * y[at]) at = i;
    return at;
}

static bool has_summit(const double *y, const double *se, int n, int at, double sign)
{
    return spec_trend_above(sign * y[at], se[at], sign * y[0], se[0]) &&
           spec_trend_above(sign * y[at], se[at], sign * y[n - 1], se[n - 1]) &&
           is_steady(y, se, 0, at, sign) && is_steady(y, se, at, n - 1, -sign);
}

spec_trend spec_trend_of(const double *y, const double *se, int n, int *ret_at)
{
    const bool up = is_steady(y, se, 0, n - 1, 1.0), down = is_steady(y, se, 0, n - 1, -1.0);
    *ret_at = largest(y, n, 1.0);
    if (up && down) return SPEC_TREND_FLAT;
    if (up && spec_trend_above(y[n - 1], se[n - 1], y[0], se[0])) return SPEC_TREND_RISES;
    if (down && spec_trend_above(y[0], se[0], y[n - 1], se[n - 1])) return SPEC_TREND_FALLS;
    if (has_summit(y, se, n, *ret_at, 1.0)) return SPEC_TREND_PEAKS;
    const int lowest = largest(y, n, -1.0);
    if (!has_summit(y, se, n, lowest, -1.0)) return SPEC_TREND_MIXED;
    *ret_at = lowest;
    return SPEC_TREND_DIPS;
}
