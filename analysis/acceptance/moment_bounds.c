/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/moment_bounds.h"

#include "analysis/statistics/compensated.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

enum { MOMENTS_MAX = 8 };

/* Shares are quotients in double precision. A moment may lie outside its range by SLACK, because
 * errors of the ones before it grow up to 2^9 times; a range below RANGE_MIN is a point. */
#define SLACK 1e-11L
#define RANGE_MIN 1e-14L

static bool are_shares(const double *m, int K, int K_other)
{
    bool all = K >= 0 && K_other >= 0;
    for (int j = 0; j < K; j++) all = all && m[j] >= 0.0 && m[j] <= 1.0;
    return all;
}

/* Tokens per round of the depths up to min(K, K_other). */
static double measured(const double *m, int K, int K_other)
{
    spec_compensated sum = {0};
    spec_compensated_add(&sum, 1.0);
    for (int j = 0; j < K && j < K_other; j++) spec_compensated_add(&sum, m[j]);
    return spec_compensated_value(&sum);
}

spec_bounds spec_moment_bounds_free(const double *m, int K, int K_other)
{
    if (!are_shares(m, K, K_other)) return (spec_bounds){NAN, NAN};
    const double low = measured(m, K, K_other), last = K > 0 ? m[K - 1] : 1.0;
    return (spec_bounds){low, K_other > K ? low + (K_other - K) * last : low};
}

double spec_moment_bounds_constant(const double *m, int K, int K_other)
{
    if (!are_shares(m, K, K_other)) return NAN;
    double tokens = measured(m, K, K_other);
    if (K_other <= K) return tokens;
    if (K == 0) return NAN;
    double term = m[K - 1];
    if (term == 0.0) return tokens;
    const double ratio = K > 1 ? term / m[K - 2] : term;
    for (int j = K; j < K_other; j++) tokens += term *= ratio;
    return tokens;
}

/* The law whose moments have the continued fraction 1/(1 - step_1 z/(1 - step_2 z/(1 - ...))), with
 * step_k = (1 - p_{k-1}) p_k of its canonical moments p_k, p_0 = 0. */
typedef struct {
    int n;
    long double step[MOMENTS_MAX + 1];
} canonical_law;

/* The sum of moments from..to. Moment j counts the paths of 2j steps up and down that begin and end
 * at height 0. A step down from height k has the weight step_k. No term is negative. */
static long double moments(const canonical_law *law, int from, int to)
{
    long double at[MOMENTS_MAX + 2] = {1.0L}, sum = 0.0L; /* weight of the paths that end there */
    for (int j = 1; j <= to; j++) {
        /* After an even number of steps the height is even. */
        for (int h = 1; h <= law->n; h += 2)
            at[h] = at[h - 1] + (h < law->n ? law->step[h] * at[h + 1] : 0.0L);
        for (int h = 0; h <= law->n; h += 2)
            at[h] = (h > 0 ? at[h - 1] : 0.0L) + (h < law->n ? law->step[h] * at[h + 1] : 0.0L);
        if (j >= from) sum += at[0];
    }
    return sum;
}

/* The law's canonical moments from its moments: m_k lies between its least and its largest value
 * given the ones before, and p_k is the place between them. Returns how many of the moments a law
 * has. *ret_last is the last p, *ret_range the range of the next moment, 0 for a single law. */
static int canonical(canonical_law *ret, long double *ret_last, long double *ret_range,
                     const double *m, int n)
{
    long double range = 1.0L, last = 0.0L; /* p_0 = 0, so that step_1 = p_1 */
    ret->n = 0;
    int k = 0;
    for (; k < n; k++) {
        const long double low = moments(ret, k + 1, k + 1), above = m[k] - low;
        if (above < -SLACK || above > range + SLACK) break;
        if (range == 0.0L) continue;
        const long double p = fminl(fmaxl(above / range, 0.0L), 1.0L);
        ret->step[ret->n++] = (1.0L - last) * p;
        range *= p * (1.0L - p);
        if (range < RANGE_MIN) range = 0.0L;
        last = p;
    }
    *ret_last = last;
    *ret_range = range;
    return k;
}

spec_bounds spec_moment_bounds_mixture(int *opt_used, const double *m, int K, int K_other)
{
    const spec_bounds free = spec_moment_bounds_free(m, K, K_other);
    if (opt_used != NULL) *opt_used = 0;
    if (isnan(free.low)) return free;
    canonical_law law;
    long double last, range;
    const int used = canonical(&law, &last, &range, m, K < MOMENTS_MAX ? K : MOMENTS_MAX);
    if (opt_used != NULL) *opt_used = used;
    if (K_other <= K || used == 0) return free;

    /* All derivatives of x^(K+1) + .. + x^K_other are positive on [0,1], so its mean is extreme at
     * the next p = 0 and p = 1. */
    const long double low = moments(&law, K + 1, K_other);
    long double high = low;
    if (range > 0.0L) {
        law.step[law.n++] = 1.0L - last;
        high = moments(&law, K + 1, K_other);
    }
    const double least = free.low + (double)low, most = free.low + (double)high;
    return (spec_bounds){fmin(least, free.high), fmin(most, free.high)};
}
