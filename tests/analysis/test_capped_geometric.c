/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/capped_geometric.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <limits.h>
#include <stdio.h>

static const double alphas[] = {0.0, 1e-300, 1e-9,     0.27,        0.5,
                                0.8, 0.9731, 0.999999, 1.0 - 1e-12, 1.0};
static const int lengths[] = {0, 1, 2, 3, 5, 8, 64, 256, 100000};

enum { N_ALPHAS = sizeof alphas / sizeof *alphas, N_LENGTHS = sizeof lengths / sizeof *lengths };

/* Computes the mean and variance of n_accepted from its law in extended precision; the variance is
 * taken about the mean, so nothing cancels. */
static void sum_over_law(long double *ret_mean, long double *ret_variance, double alpha, int K)
{
    long double mean = 0.0L, variance = 0.0L, lost = 1.0L - (long double)alpha, power = 1.0L;
    for (int k = 0; k <= K; k++, power *= alpha)
        mean += (long double)k * power * (k < K ? lost : 1.0L);
    power = 1.0L;
    for (int k = 0; k <= K; k++, power *= alpha) {
        variance +=
            ((long double)k - mean) * ((long double)k - mean) * power * (k < K ? lost : 1.0L);
    }
    *ret_mean = mean;
    *ret_variance = variance;
}

TEST(mean_and_variance_are_sums_over_the_law)
{
    for (int i = 0; i < N_ALPHAS; i++) {
        for (int j = 0; j < N_LENGTHS; j++) {
            long double mean, variance;
            sum_over_law(&mean, &variance, alphas[i], lengths[j]);
            assert_near(spec_capped_geometric_mean(alphas[i], lengths[j]), (double)(1.0L + mean),
                        2e-15);
            assert_near(spec_capped_geometric_variance(alphas[i], lengths[j]), (double)variance,
                        2e-14);
        }
    }
}

/* Second route for the variance, independent of both the law and the closed form: the recursion
 * over positions in extended precision. Dense in alpha, to cover both branches and the values
 * between them. */
TEST(variance_follows_the_recursion_over_positions)
{
    double worst = 0.0;
    for (int K = 1; K <= 40; K++) {
        for (double alpha = 0.001; alpha < 1.0; alpha += 0.0137) {
            long double mean = 1.0L, variance = 0.0L, a = alpha;
            for (int i = 0; i < K; i++) {
                variance = a * variance + a * (1.0L - a) * mean * mean;
                mean = 1.0L + a * mean;
            }
            double error = fabs(spec_capped_geometric_variance(alpha, K) / (double)variance - 1.0);
            if (error > worst) worst = error;
        }
    }
    print_message("    largest relative error %.2g\n", worst);
    assert_true(worst < 4e-15);
}

TEST(law_and_tail_are_powers_of_alpha)
{
    assert_same(spec_capped_geometric_probability(0.5, 3, 0), 0.5);
    assert_same(spec_capped_geometric_probability(0.5, 3, 1), 0.25);
    assert_same(spec_capped_geometric_probability(0.5, 3, 2), 0.125);
    assert_same(spec_capped_geometric_probability(0.5, 3, 3), 0.125);
    assert_near(spec_capped_geometric_probability(0.27, 4, 2), 0.27 * 0.27 * 0.73, 1e-15);
    assert_near(spec_capped_geometric_probability(0.27, 2, 2), 0.27 * 0.27, 1e-15);
    assert_same(spec_capped_geometric_tail(0.5, 3, 0), 1.0);
    assert_same(spec_capped_geometric_tail(0.5, 3, 1), 0.5);
    assert_same(spec_capped_geometric_tail(0.5, 3, 3), 0.125);
    for (int i = 0; i < N_ALPHAS; i++) {
        double sum = 0.0;
        for (int k = 8; k >= 0; k--) {
            sum += spec_capped_geometric_probability(alphas[i], 8, k);
            assert_near(spec_capped_geometric_tail(alphas[i], 8, k), sum, 1e-15);
        }
        assert_near(sum, 1.0, 1e-15);
    }
}

TEST(outside_the_support_chances_are_0_and_1)
{
    assert_same(spec_capped_geometric_probability(0.27, 3, -1), 0.0);
    assert_same(spec_capped_geometric_probability(0.27, 3, 4), 0.0);
    assert_same(spec_capped_geometric_probability(0.27, 3, INT_MIN), 0.0);
    assert_same(spec_capped_geometric_probability(0.27, 3, INT_MAX), 0.0);
    assert_same(spec_capped_geometric_tail(0.27, 3, -1), 1.0);
    assert_same(spec_capped_geometric_tail(0.27, 3, -2), 1.0);
    assert_same(spec_capped_geometric_tail(0.27, 3, INT_MIN), 1.0);
    assert_same(spec_capped_geometric_tail(0.27, 3, 4), 0.0);
    assert_same(spec_capped_geometric_tail(1.0, 3, INT_MAX), 0.0);
}

TEST(limits_are_values)
{
    for (int j = 0; j < N_LENGTHS; j++) {
        int K = lengths[j];
        assert_same(spec_capped_geometric_mean(0.0, K), 1.0);
        assert_same(spec_capped_geometric_mean(1.0, K), K + 1.0);
        assert_same(spec_capped_geometric_variance(0.0, K), 0.0);
        assert_same(spec_capped_geometric_variance(1.0, K), 0.0);
        assert_same(spec_capped_geometric_probability(0.0, K, 0), 1.0);
        assert_same(spec_capped_geometric_probability(1.0, K, K), 1.0);
    }
    for (int i = 0; i < N_ALPHAS; i++) {
        assert_same(spec_capped_geometric_mean(alphas[i], 0), 1.0);
        assert_same(spec_capped_geometric_variance(alphas[i], 0), 0.0);
        assert_near(spec_capped_geometric_mean(alphas[i], 1), 1.0 + alphas[i], 1e-15);
        assert_near(spec_capped_geometric_variance(alphas[i], 1), alphas[i] * (1.0 - alphas[i]),
                    4e-15);
    }
    assert_same(spec_capped_geometric_mean(1.0, INT_MAX), 2147483648.0);
    assert_near(spec_capped_geometric_mean(0.8, INT_MAX), 5.0, 1e-15);
    assert_near(spec_capped_geometric_variance(0.8, INT_MAX), 20.0,
                1e-14); /* geometric: alpha / (1-alpha)^2 */
}

/* tests/oracle/closed.py, lines "stats", whose mean counts accepted tokens: one less. */
TEST(known_answers_of_the_oracle)
{
    assert_near(spec_capped_geometric_mean(0.8, 5), 11529.0 / 3125.0, 1e-15);
    assert_near(spec_capped_geometric_variance(0.8, 5), 37735284.0 / 9765625.0, 2e-15);
    assert_near(spec_capped_geometric_mean(0.27, 4), 1.36789741, 1e-15);
    assert_near(spec_capped_geometric_variance(0.27, 4), 0.4889673657152919, 2e-15);
    assert_near(spec_capped_geometric_mean(0.7, 3), 2.533, 1e-15);
    assert_near(spec_capped_geometric_variance(0.7, 3), 1.534911, 2e-15);
}

TEST(chances_by_position_multiply)
{
    const double a[] = {0.9, 0.27, 0.5};
    assert_near(spec_capped_geometric_positional_mean(a, 3),
                1.0 + 0.9 + 0.9 * 0.27 + 0.9 * 0.27 * 0.5, 1e-15);
    assert_same(spec_capped_geometric_positional_mean(a, 0), 1.0);
    assert_same(spec_capped_geometric_positional_mean(NULL, 0), 1.0);
    assert_same(spec_capped_geometric_positional_mean(a, 1), 1.9);
}

TEST(equal_chances_by_position_are_iid)
{
    for (int i = 0; i < N_ALPHAS; i++) {
        double a[256];
        for (int k = 0; k < 256; k++) a[k] = alphas[i];
        for (int K = 0; K <= 256; K += 16) {
            assert_near(spec_capped_geometric_positional_mean(a, K),
                        spec_capped_geometric_mean(alphas[i], K), 1e-14);
        }
    }
}

TEST(outside_the_domain_is_nan)
{
    const double bad[] = {NAN, -1e-300, -0.27, 1.0 + 1e-15, 2.0, INFINITY, -INFINITY};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_nan(spec_capped_geometric_probability(bad[i], 3, 1));
        assert_nan(spec_capped_geometric_probability(bad[i], 3, 7));
        assert_nan(spec_capped_geometric_tail(bad[i], 3, 1));
        assert_nan(spec_capped_geometric_tail(bad[i], 3, 0));
        assert_nan(spec_capped_geometric_mean(bad[i], 3));
        assert_nan(spec_capped_geometric_mean(bad[i], 0));
        assert_nan(spec_capped_geometric_variance(bad[i], 3));
        assert_nan(spec_capped_geometric_variance(bad[i], 0));
        for (int where = 0; where < 3; where++) {
            double a[3] = {0.27, 0.0, 0.27};
            a[where] = bad[i];
            assert_nan(spec_capped_geometric_positional_mean(a, 3));
        }
    }
    assert_nan(spec_capped_geometric_probability(0.27, -1, 0));
    assert_nan(spec_capped_geometric_tail(0.27, -1, 0));
    assert_nan(spec_capped_geometric_mean(0.27, -1));
    assert_nan(spec_capped_geometric_variance(0.27, -1));
    assert_nan(spec_capped_geometric_positional_mean(NULL, -1));
}
