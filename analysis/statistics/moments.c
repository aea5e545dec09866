/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/statistics/moments.h"

#include <gsl/gsl_cdf.h>
#include <math.h>

void spec_moments_add(spec_moments *moments, double x)
{
    moments->n += 1;
    double delta = x - moments->mean;
    moments->mean += delta / (double)moments->n;
    moments->m2 += delta * (x - moments->mean);
}

void spec_moments_merge(spec_moments *into, const spec_moments *from)
{
    if (from->n == 0) return;
    if (into->n == 0) {
        *into = *from;
        return;
    }
    double share = (double)from->n / (double)(into->n + from->n);
    double delta = from->mean - into->mean;
    into->m2 += from->m2 + delta * delta * (double)into->n * share;
    into->mean += delta * share;
    into->n += from->n;
}

double spec_moments_variance(const spec_moments *moments)
{
    return moments->n < 2 ? NAN : moments->m2 / (double)(moments->n - 1);
}

double spec_moments_standard_error(const spec_moments *moments)
{
    return sqrt(spec_moments_variance(moments) / (double)moments->n);
}

/* Returns the normal number with the same upper tail as Student's t, t >= 0. */
static double normal_of_student(double t, double df)
{
    if (isinf(df) || isinf(t)) return t;
    const double tail = gsl_cdf_tdist_Q(t, df);
    if (tail > 1e-300) return gsl_cdf_ugaussian_Qinv(tail);
    return sqrt(2 * df * log(hypot(1, t / sqrt(df))));
}

double spec_moments_z(double estimate, double theory, double se, double df)
{
    if (isnan(estimate) || isnan(theory) || isnan(se) || se < 0 || !(df > 0)) return NAN;
    if (se > 0)
        return copysign(normal_of_student(fabs(estimate - theory) / se, df), estimate - theory);
    if (estimate == theory || fabs(estimate - theory) < 0x1p-40 * fabs(theory)) return 0;
    return estimate > theory ? INFINITY : -INFINITY;
}

double spec_moments_welch_df(double se_a, double df_a, double se_b, double df_b)
{
    if (se_a == 0) return df_b;
    if (se_b == 0) return df_a;
    const double share = se_a * se_a / (se_a * se_a + se_b * se_b), rest = 1 - share;
    return 1 / (share * share / df_a + rest * rest / df_b);
}
