/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the Kolmogorov-Smirnov distance and its p-values by hand, by a recursion, and in the
 * limit. */
#include "analysis/statistics/goodness.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_sort.h>
#include <math.h>

/* P(D < d) by another route. Between the breakpoints i/n - d and (i-1)/n + d, the number of points
 * below t grows by Poisson-like steps, and at each of them it must stay within the band. The result
 * is n! times the weight of n points at 1. */
static double kolmogorov_by_steps(double d, int n)
{
    double breakpoint[199], weight[100] = {1}, next[100], at = 0;
    int m = 0;
    for (int i = 1; i <= n; i++) {
        breakpoint[m++] = fmin(1, fmax(0, (double)i / n - d));
        breakpoint[m++] = fmin(1, fmax(0, (double)(i - 1) / n + d));
    }
    breakpoint[m++] = 1;
    gsl_sort(breakpoint, 1, (size_t)m);
    for (int b = 0; b < m; at = breakpoint[b++]) {
        for (int j = 0; j <= n; j++) {
            double term = 1, t = breakpoint[b];
            next[j] = 0;
            for (int l = 0; l <= j; term *= (t - at) / ++l) next[j] += weight[j - l] * term;
            for (int i = 1; i <= n; i++) { /* point i lies above i/n - d and below (i-1)/n + d */
                if (j >= i && t <= (double)i / n - d) next[j] = 0;
                if (j < i && t >= fmin(1, (double)(i - 1) / n + d)) next[j] = 0;
            }
        }
        for (int j = 0; j <= n; j++) weight[j] = next[j];
    }
    return weight[n] * tgamma(n + 1);
}

/* A sorted sample whose distance is d: point i is at i/n - d, or at 0 if that is negative. */
static void p_of_distance(double *ret_d, double *ret_p, double d, int n)
{
    double sorted[100];
    for (int i = 1; i <= n; i++) sorted[i - 1] = fmax(0, (double)i / n - d);
    spec_goodness_ks_uniform(ret_d, ret_p, sorted, (size_t)n);
}

TEST(distances_by_hand)
{
    double d, p;
    spec_goodness_ks_uniform(&d, &p, (const double[]){0.1, 0.2, 0.3}, 3);
    assert_within(d, 0.7, 1e-15);
    assert_within(p, 2 * 0.3 * 0.3 * 0.3, 1e-14);
    spec_goodness_ks_uniform(&d, &p, (const double[]){0.4, 0.8, 0.9},
                             3); /* below the diagonal: .8 - 1/3 */
    assert_within(d, 0.8 - 1.0 / 3, 1e-15);
    spec_goodness_ks_uniform(&d, &p, (const double[]){0.3}, 1);
    assert_within(d, 0.7, 1e-15);
    assert_within(p, 0.6, 1e-14);
    spec_goodness_ks_uniform(&d, &p, (const double[]){0.5}, 1);
    assert_within(d, 0.5, 1e-15);
    assert_within(p, 1, 1e-14);
}

TEST(distances_have_edges)
{
    double d, p;
    spec_goodness_ks_uniform(&d, &p, NULL, 0);
    assert_true(d == 0 && p == 1);
    spec_goodness_ks_uniform(&d, &p, (const double[]){0, 0, 0}, 3);
    assert_true(d == 1 && p == 0);
    spec_goodness_ks_uniform(&d, &p, (const double[]){0.2, 1.5}, 2);
    assert_true(d == 1 && p == 0);
    const double zeros[21] = {0};
    for (size_t n = 19; n <= 21;
         n++) { /* near the largest matrix; the limit alone would give 1e-18 */
        spec_goodness_ks_uniform(&d, &p, zeros, n);
        assert_true(d == 1 && p == 0);
    }
    spec_goodness_ks_uniform(&d, &p, (const double[]){0.2, NAN, 0.4}, 3);
    assert_true(isnan(d) && isnan(p));
}

TEST(small_samples_have_exact_p_values)
{
    for (int n = 1; n <= 20; n++) {
        for (double d = 0.5 / n + 0.003; d < 0.999; d += 0.053) {
            double got, p;
            p_of_distance(&got, &p, d, n);
            assert_within(got, d, 1e-15);
            assert_within(p, 1 - kolmogorov_by_steps(d, n), 1e-13);
        }
    }
}

TEST(larger_samples_have_p_values_within_six_ten_thousandths)
{
    double worst = 0;
    for (int n = 21; n <= 99; n += 39) {
        for (double d = 0.5 / n + 0.001; d < 0.4; d += 0.02) {
            double got, p;
            p_of_distance(&got, &p, d, n);
            worst = fmax(worst, fabs(p - (1 - kolmogorov_by_steps(d, n))));
        }
    }
    printf("largest error of p: %g\n", worst);
    assert_true(worst < 0.0006);
}

/* n = 21 is the first without an exact value; it uses seven terms of the limit's series, at the
 * corrected argument. */
TEST(exactness_ends_at_twenty)
{
    double d, p, t = sqrt(21) * 0.27, wanted = 0;
    t += 1 / (6 * sqrt(21)) + (t - 1) / 84;
    for (int j = 1; j < 8; j++) wanted += (j % 2 ? 2 : -2) * exp(-2 * j * j * t * t);
    p_of_distance(&d, &p, 0.27, 21);
    assert_within(p, wanted, 1e-14);
    assert_true(fabs(p - (1 - kolmogorov_by_steps(0.27, 21))) > 1e-6);
}

/* Kolmogorov's limit at n = 10^6, where the correction is a ten-thousandth. Tables give .0500 at
 * 1.3581 and .0100 at 1.6276. */
TEST(large_samples_follow_the_limit_law)
{
    enum { N = 1000000 };
    static double sorted[N];
    static const double t[4] = {1.3581, 1.6276, 0.8276, 0.1}, wanted[4] = {0.05, 0.01, 0.5, 1};
    for (int i = 0; i < 4; i++) {
        double d, p, distance = t[i] / sqrt(N);
        for (int x = 1; x <= N; x++) sorted[x - 1] = fmax(0, (double)x / N - distance);
        spec_goodness_ks_uniform(&d, &p, sorted, N);
        assert_within(p, wanted[i], 1e-3 * wanted[i] + 2e-5);
    }
}
