/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/rules/certificate.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

static double part(double target, double level)
{
    return target > 0.0 ? target * log(target / level) : 0.0;
}

static bool has_nan(const double *row, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (isnan(row[i])) return true;
    return false;
}

/* Returns the most probable token after `last` in order of decreasing probability, of equal ones
 * the lower index first; n if there is none. last = n: the first one. */
static size_t next(const double *target, size_t n, size_t last)
{
    size_t best = n;
    for (size_t i = 0; i < n; i++) {
        const bool after = last == n || target[i] < target[last] ||
                           (target[i] == target[last] && i > last);
        if (after && (best == n || target[i] > target[best])) best = i;
    }
    return best;
}

double spec_certificate_token(const double *target, size_t n, size_t token)
{
    assert(token < n);
    double sum = target[token], count = 1.0, divergence = 0.0;
    size_t last = n;
    if (has_nan(target, n)) return NAN;
    for (size_t i; (i = next(target, n, last)) < n && target[i] > sum / count; last = i) {
        sum += target[i];
        count++;
    }
    if (count == 1.0) return 0.0;
    for (size_t i = 0; i < n; i++)
        if (i == token || target[i] > sum / count) divergence += part(target[i], sum / count);
    return fmax(0.0, divergence);
}

double spec_certificate_top(const double *target, size_t n, size_t top)
{
    assert(top >= 1);
    if (has_nan(target, n)) return NAN;
    if (n <= top) return INFINITY;
    const size_t first = next(target, n, n);
    size_t last = first, pooled = top;
    double sum = target[first];
    for (size_t k = 0; k < top; k++) sum += target[last = next(target, n, last)];
    /* Leaves out the most probable tokens as long as they are above the level, which lowers it. */
    last = first;
    for (size_t i; pooled > 1 && target[i = next(target, n, last)] >= sum / (double)(pooled + 1);
         last = i, pooled--)
        sum -= target[i];
    const double level = sum / (double)(pooled + 1);
    double divergence = part(target[first], level);
    for (size_t k = 0; k < pooled; k++)
        divergence += part(target[last = next(target, n, last)], level);
    return fmax(0.0, divergence);
}

double spec_certificate_margin(double margin, size_t top)
{
    const double m = (double)top;
    if (!(margin >= 0.0 && margin <= 1.0) || top < 1) return NAN;
    const double below = margin < 1.0 ? m * (1.0 - margin) * log1p(-margin) : 0.0;
    return ((1.0 + m * margin) * log1p(m * margin) + below) / (m + 1.0);
}

double spec_certificate_margin_beyond(double margin, size_t top)
{
    const double m = (double)top, both = (2.0 + (m - 1.0) * margin) / (m + 1.0);
    if (!(margin >= 0.0 && margin <= 1.0) || top < 1) return NAN;
    return both * spec_certificate_margin(fmin(1.0, margin / both), 1);
}

double spec_certificate_margins(const double *target, size_t n, size_t top)
{
    assert(top >= 1);
    if (has_nan(target, n)) return NAN;
    if (n <= top) return INFINITY;
    const size_t first = next(target, n, n), second = next(target, n, first);
    size_t beyond = first;
    for (size_t k = 0; k < top; k++) beyond = next(target, n, beyond);
    return fmax(spec_certificate_margin(target[first] - target[second], top),
                spec_certificate_margin_beyond(target[first] - target[beyond], top));
}
