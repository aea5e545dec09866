/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks running moments against samples computed by hand and against the moments of counts. */
#include "analysis/statistics/moments.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <math.h>

/* Mean 5, squared differences 9+1+1+1+0+0+4+16 = 32. */
static const double sample[8] = {2, 4, 4, 4, 5, 5, 7, 9};

static spec_moments moments_of(const double *x, int n, double offset)
{
    spec_moments moments = {0};
    for (int i = 0; i < n; i++) spec_moments_add(&moments, x[i] + offset);
    return moments;
}

TEST(a_known_sample_has_known_moments)
{
    spec_moments moments = moments_of(sample, 8, 0);
    assert_int_equal(moments.n, 8);
    assert_within(moments.mean, 5, 1e-15);
    assert_within(moments.m2, 32, 1e-13);
    assert_within(spec_moments_variance(&moments), 32.0 / 7, 1e-14);
    assert_within(spec_moments_standard_error(&moments), sqrt(32.0 / 7 / 8), 1e-15);
}

TEST(a_large_offset_does_not_cancel)
{
    spec_moments moments = moments_of(sample, 8, 1e9);
    assert_within(spec_moments_variance(&moments), 32.0 / 7,
                  1e-6); /* mean of squares less square of mean: 0 or 128 */
}

TEST(few_observations_have_no_variance)
{
    spec_moments empty = {0}, one = moments_of(sample, 1, 0), two = moments_of(sample, 2, 0);
    assert_true(isnan(spec_moments_variance(&empty)) && isnan(spec_moments_standard_error(&empty)));
    assert_true(isnan(spec_moments_variance(&one)) && isnan(spec_moments_standard_error(&one)));
    assert_within(spec_moments_variance(&two), 2, 1e-15);
}

TEST(merging_is_adding_in_any_order)
{
    spec_moments whole = moments_of(sample, 8, 0.27), empty = {0};
    for (int a = 0; a <= 8; a++) {
        for (int b = a; b <= 8; b++) {
            spec_moments part[3] = {moments_of(sample, a, 0.27),
                                    moments_of(sample + a, b - a, 0.27),
                                    moments_of(sample + b, 8 - b, 0.27)};
            static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                             {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
            for (int o = 0; o < 6; o++) {
                spec_moments merged = empty;
                for (int i = 0; i < 3; i++) spec_moments_merge(&merged, &part[orders[o][i]]);
                assert_int_equal(merged.n, 8);
                assert_within(merged.mean, whole.mean, 1e-15 * whole.mean);
                assert_within(merged.m2, whole.m2, 1e-15 * whole.m2);
            }
        }
    }
}

TEST(merging_an_empty_part_changes_no_bit)
{
    spec_moments whole = moments_of(sample, 8, 0.27), merged = whole, empty = {0};
    spec_moments_merge(&merged, &empty);
    assert_memory_equal(&merged, &whole, sizeof whole);
    spec_moments_merge(&empty, &whole);
    assert_memory_equal(&empty, &whole, sizeof whole);
    spec_moments_merge(&empty, &(spec_moments){0});
    assert_memory_equal(&empty, &whole, sizeof whole);
}

/* With a known standard error. */
static double known_z(double estimate, double theory, double se)
{
    return spec_moments_z(estimate, theory, se, INFINITY);
}

TEST(z_counts_known_standard_errors)
{
    assert_within(known_z(2.5, 2, 0.25), 2, 0);
    assert_within(known_z(2, 2.5, 0.25), -2, 0);
    assert_true(known_z(2, 2, 0.25) == 0 && known_z(2, 2, 0) == 0 &&
                known_z(INFINITY, INFINITY, 0) == 0);
    assert_true(known_z(3, 2, 0) == INFINITY && known_z(2, 3, 0) == -INFINITY);
    /* A difference of 1/2^40 of the value is allowed. */
    assert_true(known_z(3, 3 + 0x1p-39, 0) == 0 && known_z(3, 3 + 0x1p-38, 0) == -INFINITY);
    assert_true(known_z(-3, -3 - 0x1p-39, 0) == 0 && known_z(-3, -3 - 0x1p-38, 0) == INFINITY);
    assert_true(known_z(INFINITY, 1, 0) == INFINITY && known_z(1, INFINITY, 0) == -INFINITY);
    assert_true(known_z(-1, -1, 0) == 0 && known_z(0, 1, INFINITY) == 0);
    assert_true(isnan(known_z(NAN, 1, 0)) && isnan(known_z(1, NAN, 0)) &&
                isnan(known_z(1, 1, NAN)));
    assert_true(isnan(known_z(1, 1, -1)) && isnan(known_z(2, 1, -1)));
}

/* Second route: Student's tails by the incomplete beta function. */
TEST(z_has_the_tails_of_students_t)
{
    static const double dfs[] = {1, 2, 7, 31, 63, 99, 1023, 20000};
    for (int i = 0; i < 8; i++)
        for (double t = 0.27; t < 30; t *= 1.31) {
            const double df = dfs[i], tails = gsl_cdf_beta_P(df / (df + t * t), 0.5 * df, 0.5),
                         z = spec_moments_z(2 + 0.25 * t, 2, 0.25, df);
            assert_near(2 * gsl_cdf_ugaussian_Q(z), tails, 2e-6);
            assert_near(spec_moments_z(2 - 0.25 * t, 2, 0.25, df), -z, 1e-13);
            assert_true(z < t);
        }
    /* With 64 batches |t| = 5 has 8.5 times the probability of |z| = 5. */
    assert_near(gsl_cdf_tdist_Q(5, 63) / gsl_cdf_ugaussian_Q(5), 8.47, 0.001);
    assert_within(spec_moments_z(5, 0, 1, 63), 4.57088, 1e-5);
    assert_true(spec_moments_z(0, 0, 0, 63) == 0 && spec_moments_z(1, 0, 0, 63) == INFINITY);
    assert_true(isnan(spec_moments_z(1, 0, 1, 0)) && isnan(spec_moments_z(1, 0, 1, NAN)) &&
                isnan(spec_moments_z(1, 0, 1, -3)));
    assert_nan(spec_moments_z(1, 1, 0, 0));
    /* Even beyond the smallest tail that a double can hold, z still rises, to sqrt(20000
     * log(1.125)). */
    assert_near(spec_moments_z(50, 0, 1, 20000), 48.53515, 1e-5);
    for (int i = 0; i < 8; i++) {
        double before = 0;
        for (double t = 20; t < 1e300; t *= 1.7) {
            const double z = spec_moments_z(t, 0, 1, dfs[i]);
            assert_true(z > before && isfinite(z));
            before = z;
        }
    }
}

/* Means of 8 values, each divided by its own standard error: |z| > 3 has the normal probability
 * .0027, where |t| > 3 has .020. */
TEST(z_of_few_batches_is_normal, STATISTICS)
{
    enum { N = 200000, BATCHES = 8 };
    unsigned beyond[2] = {0, 0};
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int i = 0; i < N; i++) {
        spec_moments batches = {0};
        for (int b = 0; b < BATCHES; b++)
            spec_moments_add(&batches, 2.385 + gsl_ran_gaussian_ziggurat(rng, 0.27));
        const double se = spec_moments_standard_error(&batches);
        beyond[0] += fabs(spec_moments_z(batches.mean, 2.385, se, BATCHES - 1)) > 3;
        beyond[1] += fabs(known_z(batches.mean, 2.385, se)) > 3;
    }
    const double chance = 2 * gsl_cdf_ugaussian_Q(3);
    assert_true(gsl_cdf_binomial_P(beyond[0], chance, N) > SPEC_TEST_P);
    assert_true(gsl_cdf_binomial_Q(beyond[0], chance, N) > SPEC_TEST_P);
    assert_true(gsl_cdf_binomial_Q(beyond[1], chance, N) < 1e-100);
}

/* If both shares are equal, both degrees of freedom count; if a share is zero, it adds none. */
TEST(two_standard_errors_share_their_degrees_of_freedom)
{
    assert_near(spec_moments_welch_df(0.27, 63, 0.27, 31), 4 / (1.0 / 63 + 1.0 / 31), 1e-15);
    assert_same(spec_moments_welch_df(0.27, 63, 0, 31), 63);
    assert_same(spec_moments_welch_df(0, 63, 0.27, 31), 31);
    assert_near(spec_moments_welch_df(3, INFINITY, 4, 9), 9 * 625.0 / 256, 1e-15);
    assert_same(spec_moments_welch_df(0.27, 63, 0, NAN), 63);
    assert_same(spec_moments_welch_df(0, NAN, 0, 31), 31);
    assert_nan(spec_moments_welch_df(NAN, 63, 0.27, 31));
}
