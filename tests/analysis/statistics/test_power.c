/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/statistics/power.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_integration.h>
#include <gsl/gsl_randist.h>

/* df = 1: (Z + d)^2 > x, from two normal tails. */
static double one_degree(double x, double noncentrality)
{
    const double d = sqrt(noncentrality), root = sqrt(x);
    return gsl_cdf_ugaussian_Q(root - d) + gsl_cdf_ugaussian_P(-root - d);
}

typedef struct {
    double x, df, noncentrality;
} sum_of_two;

static double given_the_rest(double rest, void *params)
{
    const sum_of_two *s = params;
    return gsl_ran_chisq_pdf(rest, s->df - 1.0) *
           one_degree(fmax(s->x - rest, 0.0), s->noncentrality);
}

/* df > 2: one degree of freedom has all the noncentrality, and the others are a central chi-square,
 * over which we integrate. */
static double by_integration(double x, double df, double noncentrality)
{
    sum_of_two s = {x, df, noncentrality};
    gsl_function f = {.function = given_the_rest, .params = &s};
    gsl_integration_workspace *work = gsl_integration_workspace_alloc(400);
    double below = 0.0, error;
    gsl_integration_qag(&f, 0.0, x, 1e-15, 1e-12, 400, GSL_INTEG_GAUSS61, work, &below, &error);
    gsl_integration_workspace_free(work);
    return below + gsl_cdf_chisq_Q(x, df - 1.0);
}

TEST(one_degree_of_freedom_is_two_normal_tails)
{
    static const double x[4] = {0.3, 2.385, 23.9, 500.0},
                        noncentrality[5] = {0.0, 0.27, 4.1, 60.0, 700.0};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 5; j++) {
            const double tail = spec_power_noncentral_tail(x[i], 1.0, noncentrality[j]);
            assert_within(tail, one_degree(x[i], noncentrality[j]), 1e-13);
        }
}

TEST(more_degrees_add_a_central_law)
{
    static const double df[3] = {3.0, 10.0, 63.0}, noncentrality[3] = {0.7, 12.0, 101.0};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (double x = 0.4 * df[i]; x < 4.0 * df[i]; x += df[i]) {
                const double tail = spec_power_noncentral_tail(x, df[i], noncentrality[j]);
                assert_within(tail, by_integration(x, df[i], noncentrality[j]), 1e-10);
            }
}

/* Sums the terms of the Poisson law within 12 standard deviations plus 40, each with its own
 * central tail. */
static double by_direct_sum(double x, double df, double noncentrality)
{
    const double half = 0.5 * noncentrality, reach = 12.0 * sqrt(half) + 40.0;
    double sum = 0.0;
    for (double j = fmax(0.0, floor(half - reach)); j <= ceil(half + reach); j++)
        sum += gsl_ran_poisson_pdf((unsigned)j, half) * gsl_cdf_chisq_Q(x, df + 2.0 * j);
    return sum;
}

/* At x = 1480 the first terms of the series are subnormal, with few digits. If the later terms were
 * computed from them by factors, they would be off by 1e-7 and more. */
TEST(subnormal_terms_are_computed_afresh)
{
    static const double x[3] = {1463.0, 1480.0, 1497.0}, noncentrality[2] = {270.0, 427.0};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 2; j++)
            assert_near(spec_power_noncentral_tail(x[i], 3.0, noncentrality[j]),
                        by_direct_sum(x[i], 3.0, noncentrality[j]), 1e-10);
}

TEST(the_noncentrality_gives_the_power)
{
    static const double df[4] = {1.0, 7.0, 63.0, 1023.0}, alpha[3] = {0.27, 1e-3, 1e-12},
                        power[2] = {0.28, 0.973};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 2; k++) {
                const double noncentrality = spec_power_noncentrality(df[i], alpha[j], power[k]);
                double low = 0.0,
                       high = 20.0 * df[i] + 500.0; /* bisection for the critical value */
                for (int h = 0; h < 100; h++) {
                    const double middle = 0.5 * (low + high);
                    if (gsl_cdf_chisq_Q(middle, df[i]) > alpha[j]) low = middle;
                    else high = middle;
                }
                assert_within(spec_power_noncentral_tail(low, df[i], noncentrality), power[k],
                              1e-9);
            }
}

TEST(any_critical_value_has_its_noncentrality)
{
    static const double df[3] = {1.0, 7.0, 300.0}, critical[3] = {40.0, 93.0, 480.0};
    for (int i = 0; i < 3; i++) {
        const double noncentrality = spec_power_noncentrality_beyond(critical[i], df[i], 0.9);
        assert_within(spec_power_noncentral_tail(critical[i], df[i], noncentrality), 0.9, 1e-9);
    }
    assert_same(spec_power_noncentrality_beyond(0.01, 7.0, 0.9),
                0.0); /* the central law exceeds it with this probability already */
    assert_nan(spec_power_noncentrality_beyond(-1.0, 7.0, 0.9));
    assert_nan(spec_power_noncentrality_beyond(INFINITY, 7.0, 0.9));
    assert_nan(spec_power_noncentrality_beyond(40.0, 7.0, 1.0));
}

/* TV = .01 at 1e-6 and power .9; numbers of two digits, from an approximation. */
TEST(known_sample_sizes)
{
    assert_near(spec_power_draws(0.01, 63.0, 1e-6, 0.9), 2.5e5, 0.04);
    assert_near(spec_power_draws(0.01, 1023.0, 1e-6, 0.9), 7.6e5, 0.04);
    assert_near(spec_power_draws(0.01, 131071.0, 1e-6, 0.9), 7.8e6, 0.04);
}

TEST(draws_and_detectable_distance_are_inverse)
{
    const double n = spec_power_draws(0.0385, 12.0, 1e-6, 0.9);
    assert_near(spec_power_detectable(n, 12.0, 1e-6, 0.9), 0.0385, 1e-12);
    assert_near(spec_power_detectable(4.0 * n, 12.0, 1e-6, 0.9), 0.0385 / 2.0, 1e-12);
    assert_same(spec_power_detectable(0.5, 12.0, 1e-6, 0.9), 1.0);
    assert_near(spec_power_draws(1.0, 3.0, 0.1, 0.9), spec_power_noncentrality(3.0, 0.1, 0.9) / 4.0,
                1e-15);
}

TEST(outside_the_domain_there_is_no_number)
{
    static const double bad[8][3] = {{0.5, 0.1, 0.9}, {NAN, 0.1, 0.9}, {INFINITY, 0.1, 0.9},
                                     {3, 0.0, 0.9},   {3, 1.0, 0.9},   {3, 0.1, 0.1},
                                     {3, 0.1, 1.0},   {3, 0.1, NAN}};
    for (int i = 0; i < 8; i++)
        assert_nan(spec_power_noncentrality(bad[i][0], bad[i][1], bad[i][2]));
    assert_nan(spec_power_draws(0.0, 3.0, 0.1, 0.9));
    assert_nan(spec_power_draws(1.1, 3.0, 0.1, 0.9));
    assert_nan(spec_power_detectable(0.0, 3.0, 0.1, 0.9));
    assert_nan(spec_power_noncentral_tail(-1.0, 3.0, 1.0));
    assert_nan(spec_power_noncentral_tail(1.0, 0.5, 1.0));
    assert_nan(spec_power_noncentral_tail(1.0, 3.0, -1.0));
    assert_nan(spec_power_noncentral_tail(1.0, 3.0, INFINITY));
    assert_same(spec_power_noncentral_tail(0.0, 3.0, 1.0), 1.0);
    assert_same(spec_power_noncentral_tail(INFINITY, 3.0, 1.0), 0.0);
}
