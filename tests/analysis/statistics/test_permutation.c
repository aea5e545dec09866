/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/statistics/permutation.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_randist.h>
#include <math.h>

static gsl_rng *generator(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, (unsigned long)spec_test_seed());
    return rng;
}

/* Returns the studentised difference between the clusters whose bits are set and the others. */
static double studentised(const double *passed, const double *tested, int n, unsigned before)
{
    double sum[2][2] = {{0}}, square[2] = {0}, variance = 0.0;
    int held[2] = {0};
    for (int i = 0; i < n; i++) {
        const int side = (before >> i & 1) == 0;
        held[side]++;
        sum[side][0] += passed[i];
        sum[side][1] += tested[i];
    }
    for (int i = 0; i < n; i++) {
        const int side = (before >> i & 1) == 0;
        square[side] += pow(passed[i] - sum[side][0] / sum[side][1] * tested[i], 2);
    }
    for (int side = 0; side < 2; side++)
        variance += held[side] / (held[side] - 1.0) * square[side] / pow(sum[side][1], 2);
    return fabs(sum[0][0] / sum[0][1] - sum[1][0] / sum[1][1]) / sqrt(variance);
}

/* The share of all divisions that are as extreme as the given one. */
static double exact(const double *passed, const double *tested, int n, int n_before)
{
    const double own = studentised(passed, tested, n, (1U << n_before) - 1);
    int divisions = 0, extreme = 0;
    for (unsigned mask = 0; mask < 1U << n; mask++) {
        if (__builtin_popcount(mask) != n_before) continue;
        divisions++;
        extreme += studentised(passed, tested, n, mask) >= own * (1.0 - 1e-10);
    }
    return (double)extreme / divisions;
}

/* The standard error of 40,000 divisions is at most .0025; the wrong version, a plain difference,
 * has p-values that differ by .03 or more. */
TEST(p_values_are_those_of_all_divisions)
{
    enum { R = 40000 };
    static const double passed[9] = {61, 70, 31, 8, 55, 90, 43, 77, 20},
                        tested[9] = {90, 101, 40, 31, 70, 99, 70, 85, 22};
    static const int befores[3] = {2, 4, 6};
    double work[18];
    OWNED_RNG *rng = generator();
    for (int k = 0; k < 3; k++) {
        const size_t before = (size_t)befores[k];
        const spec_permutation got =
            spec_permutation_ratio(passed, tested, before, 9 - before, R, work, rng);
        const double right = exact(passed, tested, 9, befores[k]);
        double sum[4] = {0};
        for (size_t i = 0; i < 9; i++) {
            sum[i < before ? 0 : 2] += passed[i];
            sum[i < before ? 1 : 3] += tested[i];
        }
        printf("%d before: p %.4f, all divisions %.4f\n", befores[k], got.p, right);
        assert_within(got.p, right, 5.0 * sqrt(right * (1.0 - right) / R) + 1.0 / R);
        assert_near(got.before, sum[0] / sum[1], 1e-14);
        assert_near(got.after, sum[2] / sum[3], 1e-14);
    }
}

/* With 2 and 2 clusters without spread, 2 of the 6 divisions, the given one and its mirror image,
 * have an infinite statistic. Even if no random division is as extreme, p is at least (1 + 0) / (1
 * + R), so never 0. */
TEST(differences_without_spread_are_the_most_extreme)
{
    enum { R = 20000 };
    const double passed[] = {1, 2, 9, 18}, tested[] = {10, 20, 10, 20};
    double work[8], all_passed[60], all_tested[60], more[120];
    OWNED_RNG *rng = generator();
    const spec_permutation got = spec_permutation_ratio(passed, tested, 2, 2, R, work, rng);
    assert_within(got.p, 1.0 / 3.0, 5.0 * sqrt(2.0 / 9.0 / R));
    for (int i = 0; i < 60; i++) {
        all_tested[i] = 100.0;
        all_passed[i] = i < 30 ? 20.0 + i % 5 : 70.0 + i % 7;
    }
    const spec_permutation far =
        spec_permutation_ratio(all_passed, all_tested, 30, 30, 999, more, rng);
    assert_near(far.p, 1e-3, 1e-12);
    assert_same(spec_permutation_ratio(all_passed, all_tested, 30, 30, 0, more, rng).p, 1.0);
    for (int i = 0; i < 60; i++) all_passed[i] = 30.0;
    assert_same(spec_permutation_ratio(all_passed, all_tested, 30, 30, 99, more, rng).p, 1.0);
}

TEST(few_clusters_say_nothing)
{
    const double passed[] = {1, 5, 2, 0}, tested[] = {10, 20, 10, 0}, none[] = {0, 0, 10, 20};
    double work[8];
    OWNED_RNG *rng = generator();
    spec_permutation got = spec_permutation_ratio(passed, tested, 1, 3, 99, work, rng);
    assert_true(got.p == 1.0 && got.before == 0.1 && fabs(got.after - 7.0 / 30.0) < 1e-15);
    assert_same(spec_permutation_ratio(passed, tested, 3, 1, 99, work, rng).p, 1.0);
    got = spec_permutation_ratio(none, none, 2, 2, 99, work, rng);
    assert_true(got.p == 1.0 && isnan(got.before) && got.after == 1.0);
}

/* Under the null, 12 and 8 clusters of unequal sizes have different alphas. p <= .1 has probability
 * at most .1, and the standard error of 1,200 samples is .0087. The wrong version, in which single
 * trials change sides, would give .5. A change of .14 is found in .9 of the samples. */
TEST(p_values_are_uniform_under_the_null, STATISTICS)
{
    const int samples = (int)spec_test_samples(1200);
    double passed[20], tested[20], work[40];
    int low = 0, half = 0, found = 0;
    OWNED_RNG *rng = generator();
    for (int s = 0; s < samples; s++)
        for (int change = 0; change < 2; change++) {
            for (int i = 0; i < 20; i++) {
                const double alpha = gsl_ran_beta(rng, 21.0, 9.0);
                tested[i] = ceil(200.0 * exp(0.7 * gsl_ran_ugaussian(rng)));
                passed[i] = gsl_ran_binomial(rng, alpha - (change && i >= 12 ? 0.2 : 0.0) * alpha,
                                             (unsigned)tested[i]);
            }
            const double p = spec_permutation_ratio(passed, tested, 12, 8, 99, work, rng).p;
            low += !change && p <= 0.1;
            half += !change && p <= 0.5;
            found += change && p <= 0.1;
        }
    printf("p <= .1: %.3f, p <= .5: %.3f, with a change: %.3f\n", (double)low / samples,
           (double)half / samples, (double)found / samples);
    assert_within((double)low / samples, 0.1, 5.0 * sqrt(0.09 / samples));
    assert_within((double)half / samples, 0.5, 5.0 * sqrt(0.25 / samples));
    assert_true(found > 0.7 * samples);
}

/* Clusters of 5,000 tests, cut from a series of requests: alpha from a Beta law of deviation .05,
 * lengths exponential. With short requests the clusters are independent. With requests of 4,000
 * tests they are not, and p <= .01 comes in .083 of 2,000 samples, as
 * docs/formulas/statistics.md#permutation says. */
TEST(clusters_that_share_requests_differ_too_often, STATISTICS)
{
    static const double length[2] = {100, 4000};
    const int samples = (int)spec_test_samples(1000);
    OWNED_RNG *rng = generator();
    for (int k = 0; k < 2; k++) {
        int alarms = 0;
        for (int s = 0; s < samples; s++) {
            double passed[24] = {0}, tested[24], work[48], left = 0, alpha = 0;
            for (int i = 0; i < 24; i++) {
                tested[i] = 5000;
                if (i == 12) left = 0; /* another run */
                for (double room = 5000; room > 0;) {
                    if (left < 1) {
                        left = ceil(gsl_ran_exponential(rng, length[k]));
                        alpha = gsl_ran_beta(rng, 83 * 0.7, 83 * 0.3);
                    }
                    const double n = fmin(left, room);
                    passed[i] += gsl_ran_binomial(rng, alpha, (unsigned)n);
                    left -= n;
                    room -= n;
                }
            }
            alarms += spec_permutation_ratio(passed, tested, 12, 12, 199, work, rng).p <= 0.01;
        }
        const double share = (double)alarms / samples;
        printf("requests of %g tests: p <= .01 in %.3f\n", length[k], share);
        assert_true(k == 0 ? share < 0.01 + 5 * sqrt(0.01 / samples)
                           : share > 0.083 - 5 * sqrt(0.083 / samples));
    }
}
