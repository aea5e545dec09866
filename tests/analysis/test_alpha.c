/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Estimators of alpha against likelihoods maximised numerically and the table of accepted/drafted;
 * intervals against binomial tails summed term by term, and their coverage by enumeration of every
 * outcome. */
#include "analysis/alpha.h"

#include "speclab/round.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_randist.h>
#include <math.h>

/* P(n_accepted = k), its sum k P(k), and E[n_emitted], computed directly. */
static double law(double alpha, int K, int k)
{
    return pow(alpha, k) * (k < K ? 1 - alpha : 1);
}

static double mean_accepted(double alpha, int K)
{
    double mean = 0;
    for (int k = 0; k <= K; k++) mean += k * law(alpha, K, k);
    return mean;
}

TEST(trials_count_every_test_up_to_the_first_failure)
{
    /* With K = 3, 4 rounds reject the first token, 3 the second and 2 the third, and 5 accept all
     * three. */
    const uint64_t counts[4] = {4, 3, 2, 5};
    uint64_t passed, tested;
    spec_alpha_trials(&passed, &tested, counts, 3);
    assert_int_equal(passed, 0 * 4 + 1 * 3 + 2 * 2 + 3 * 5);
    assert_int_equal(tested, 1 * 4 + 2 * 3 + 3 * 2 + 3 * 5);
    assert_within(spec_alpha_mle(counts, 3), 22.0 / 31, 1e-16);
    assert_within(spec_alpha_accepted_over_drafted(counts, 3), 22.0 / 42, 1e-16);
    assert_within(spec_alpha_emitted_over_K1(counts, 3), 36.0 / 56, 1e-16);
}

TEST(drafts_of_any_length_are_pooled_over_their_tests)
{
    /* The rounds above, depth by depth: 14 test the first token, 10 of which go on to the second.
     */
    const uint64_t tested[3] = {14, 10, 7}, passed[3] = {10, 7, 5}, counts[4] = {4, 3, 2, 5};
    assert_true(spec_alpha_tested(passed, tested, 3) == spec_alpha_mle(counts, 3));
    /* Two of the three rounds that accepted exactly one token had no second draft token. */
    const uint64_t fewer[3] = {14, 8, 7};
    assert_within(spec_alpha_tested(passed, fewer, 3), 22.0 / 29, 1e-16);
    assert_true(isnan(spec_alpha_tested(passed, tested, 0)));
}

TEST(estimates_without_evidence_are_undefined)
{
    const uint64_t none[3] = {0, 0, 0}, undrafted[1] = {7}, all[2] = {0, 9}, nothing[2] = {9, 0};
    uint64_t passed, tested;
    assert_true(isnan(spec_alpha_mle(none, 2)) && isnan(spec_alpha_accepted_over_drafted(none, 2)));
    assert_true(isnan(spec_alpha_emitted_over_K1(none, 2)));
    spec_alpha_trials(&passed, &tested, undrafted, 0);
    assert_true(passed == 0 && tested == 0);
    assert_true(isnan(spec_alpha_mle(undrafted, 0)) &&
                isnan(spec_alpha_accepted_over_drafted(undrafted, 0)));
    assert_true(spec_alpha_emitted_over_K1(undrafted, 0) == 1);
    assert_true(spec_alpha_mle(all, 1) == 1 && spec_alpha_mle(nothing, 1) == 0);
    assert_true(spec_alpha_accepted_over_drafted(all, 1) == 1 &&
                spec_alpha_accepted_over_drafted(nothing, 1) == 0);
    assert_true(spec_alpha_emitted_over_K1(all, 1) == 1 &&
                spec_alpha_emitted_over_K1(nothing, 1) == 0.5);
}

static double log_likelihood(double alpha, const uint64_t *counts, int K)
{
    double sum = 0;
    for (int k = 0; k <= K; k++) sum += (double)counts[k] * log(law(alpha, K, k));
    return sum;
}

TEST(mle_maximises_the_censored_likelihood)
{
    static const uint64_t counts[3][6] = {
        {4, 3, 2, 5, 0, 0}, {11, 0, 4, 1, 1, 27}, {1, 90, 3, 3, 2, 1}};
    static const int K[3] = {3, 5, 5};
    for (int i = 0; i < 3; i++) {
        double low = 1e-9, high = 1 - 1e-9;
        while (high - low >
               1e-8) { /* ternary search: the likelihood is concave in log alpha/(1-alpha) */
            double left = low + (high - low) / 3, right = high - (high - low) / 3;
            if (log_likelihood(left, counts[i], K[i]) < log_likelihood(right, counts[i], K[i])) {
                low = left;
            } else {
                high = right;
            }
        }
        assert_within(spec_alpha_mle(counts[i], K[i]), low, 1e-6);
    }
}

/* tests/oracle/misc.py, part (h): accepted/drafted, E[n_emitted], and the prediction if
 * accepted/drafted is mistaken for alpha. */
TEST(accepted_over_drafted_is_not_alpha)
{
    static const struct {
        double beta;
        int K;
        double ratio, emitted, mistaken;
    } table[] = {
        {0.6, 4, .326, 2.306, 1.479}, {0.6, 8, .184, 2.475, 1.226}, {0.6, 12, .125, 2.497, 1.143},
        {0.8, 4, .590, 3.362, 2.266}, {0.8, 8, .416, 4.329, 1.712}, {0.8, 12, .310, 4.725, 1.450},
        {0.9, 4, .774, 4.095, 3.194}, {0.9, 8, .641, 6.126, 2.733}, {0.9, 12, .538, 7.458, 2.165}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        int K = table[i].K;
        uint64_t counts[13];
        for (int k = 0; k <= K; k++) counts[k] = (uint64_t)(1e15 * law(table[i].beta, K, k) + 0.5);
        double ratio = spec_alpha_accepted_over_drafted(counts, K);
        assert_within(ratio, table[i].ratio, 5.1e-4);
        assert_within((K + 1) * spec_alpha_emitted_over_K1(counts, K), table[i].emitted, 5.1e-4);
        assert_within(1 + mean_accepted(ratio, K), table[i].mistaken, 5.1e-4);
        assert_within(spec_alpha_mle(counts, K), table[i].beta, 1e-13);
        assert_within(spec_alpha_from_accepted_over_drafted(ratio, K), table[i].beta, 1e-12);
        assert_within(spec_alpha_from_emitted((K + 1) * spec_alpha_emitted_over_K1(counts, K), K),
                      table[i].beta, 1e-12);
    }
}

TEST(inversions_return_the_alpha_they_came_from)
{
    static const int lengths[] = {1, 2, 3, 5, 8, 31, 256};
    static const double alphas[] = {1e-9, 0.003, 0.1,  0.27,   0.5,     0.73,
                                    0.8,  0.9,   0.99, 0.9999, 1 - 1e-9};
    for (int j = 0; j < 7; j++) {
        int K = lengths[j];
        for (int i = 0; i < 11; i++) {
            double accepted = 0, power = 1;
            for (int k = 1; k <= K; k++) accepted += power *= alphas[i];
            assert_within(spec_alpha_from_accepted_over_drafted(accepted / K, K), alphas[i],
                          1e-12 * alphas[i]);
            assert_within(spec_alpha_from_emitted(1 + accepted, K), alphas[i], 1e-12);
        }
        assert_true(spec_alpha_from_accepted_over_drafted(0, K) == 0 &&
                    spec_alpha_from_emitted(1, K) == 0);
        assert_true(spec_alpha_from_accepted_over_drafted(1, K) == 1 &&
                    spec_alpha_from_emitted(K + 1, K) == 1);
    }
    /* (alpha + alpha^2) / 2 = r at K = 2. */
    assert_within(spec_alpha_from_accepted_over_drafted(0.27, 2), (sqrt(1 + 8 * 0.27) - 1) / 2,
                  1e-15);
}

TEST(inversions_are_undefined_outside_their_range)
{
    assert_true(isnan(spec_alpha_from_accepted_over_drafted(0.27, 0)) &&
                isnan(spec_alpha_from_emitted(1, 0)));
    assert_true(isnan(spec_alpha_from_accepted_over_drafted(0, 0)) &&
                isnan(spec_alpha_from_emitted(1.5, 0)));
    assert_true(isnan(spec_alpha_from_accepted_over_drafted(-1e-9, 3)) &&
                isnan(spec_alpha_from_emitted(0.99, 3)));
    assert_true(isnan(spec_alpha_from_accepted_over_drafted(1.01, 3)) &&
                isnan(spec_alpha_from_emitted(4.01, 3)));
    assert_true(isnan(spec_alpha_from_accepted_over_drafted(NAN, 3)) &&
                isnan(spec_alpha_from_emitted(NAN, 3)));
    assert_true(isnan(spec_alpha_from_accepted_over_drafted(0.27, -1)));
}

/* ---- intervals ------------------------------------------------------------------------------- */

typedef void interval_function(double *ret_low, double *ret_high, uint64_t passed, uint64_t tested,
                               double error);

TEST(intervals_have_known_ends)
{
    double low, high;
    /* 8 of 10 at 95 %: tabulated as .4439-.9748 (exact) and .490-.943 (score). */
    spec_alpha_clopper_pearson_interval(&low, &high, 8, 10, 0.05);
    assert_within(low, 0.4439045, 1e-7);
    assert_within(high, 0.9747893, 1e-7);
    spec_alpha_wilson_interval(&low, &high, 8, 10, 0.05);
    assert_within(low, 0.4901625, 1e-7);
    assert_within(high, 0.9433178, 1e-7);
}

TEST(intervals_have_edges)
{
    interval_function *const functions[2] = {spec_alpha_wilson_interval,
                                             spec_alpha_clopper_pearson_interval};
    double low, high;
    for (int i = 0; i < 2; i++) {
        functions[i](&low, &high, 0, 0, 0.05);
        assert_true(low == 0 && high == 1);
        functions[i](&low, &high, 0, 27, 0.05);
        assert_true(low == 0 && high > 0.1 && high < 0.15);
        functions[i](&low, &high, 27, 27, 0.05);
        assert_true(low > 0.85 && low < 0.9 && high == 1);
        static const struct {
            uint64_t passed, tested;
            double error;
        } undefined[] = {{3, 2, 0.05}, {1, 2, 0},   {1, 2, 1},
                         {1, 2, -0.1}, {1, 2, 1.1}, {1, 2, NAN}};
        for (int j = 0; j < 6; j++) {
            functions[i](&low, &high, undefined[j].passed, undefined[j].tested, undefined[j].error);
            assert_true(isnan(low) && isnan(high));
        }
    }
}

TEST(wilson_ends_solve_the_score_equation)
{
    const double z = 1.959963984540054; /* normal quantile at .975, any table */
    for (uint64_t n = 1; n < 40; n++) {
        for (uint64_t k = 0; k <= n; k++) {
            double ends[2], fraction = (double)k / (double)n;
            spec_alpha_wilson_interval(&ends[0], &ends[1], k, n, 0.05);
            assert_true(ends[0] <= fraction && fraction <= ends[1]);
            for (int i = 0; i < 2; i++) {
                double left = (fraction - ends[i]) * (fraction - ends[i]),
                       right = z * z * ends[i] * (1 - ends[i]) / (double)n;
                assert_within(left, right, 1e-14);
            }
        }
    }
}

/* P(from <= X <= to) for X binomial (n, p), term by term. */
static double binomial_sum(double p, uint64_t n, uint64_t from, uint64_t to)
{
    double sum = 0;
    for (uint64_t k = from; k <= to; k++) {
        sum += exp(lgamma((double)n + 1) - lgamma((double)k + 1) - lgamma((double)(n - k) + 1) +
                   (double)k * log(p) + (double)(n - k) * log1p(-p));
    }
    return sum;
}

TEST(clopper_pearson_ends_have_the_tails_they_should)
{
    for (uint64_t n = 1; n <= 61; n += 3) {
        for (uint64_t k = 0; k <= n; k++) {
            for (double error = 0.5; error > 1e-7; error /= 27) {
                double low, high;
                spec_alpha_clopper_pearson_interval(&low, &high, k, n, error);
                if (k > 0)
                    assert_within(binomial_sum(low, n, k, n), error / 2, 1e-10 * error + 1e-13);
                if (k < n)
                    assert_within(binomial_sum(high, n, 0, k), error / 2, 1e-10 * error + 1e-13);
            }
        }
    }
}

TEST(clopper_pearson_stands_up_to_a_thousand_million_tests)
{
    static const uint64_t passed[3] = {270000, 80000000, 730000000},
                          tested[3] = {1000000, 100000000, 1000000000};
    for (int i = 0; i < 3; i++) {
        double low, high;
        spec_alpha_clopper_pearson_interval(&low, &high, passed[i], tested[i], 0.05);
        double share = (double)passed[i] / (double)tested[i],
               wide = 8 * sqrt((double)tested[i] * share * (1 - share));
        assert_within(binomial_sum(low, tested[i], passed[i], passed[i] + (uint64_t)wide), 0.025,
                      2e-7);
        assert_within(binomial_sum(high, tested[i], passed[i] - (uint64_t)wide, passed[i]), 0.025,
                      2e-7);
    }
    double low, high;
    spec_alpha_clopper_pearson_interval(&low, &high, 0, 1000000000,
                                        0.05); /* (1 - high)^n = error/2 */
    assert_within(high, -expm1(log(0.025) / 1e9), 1e-15);
}

/* Returns the coverage of an interval at p, summed over every outcome. */
static double coverage(const double *low, const double *high, uint64_t n, double p)
{
    double sum = 0;
    for (uint64_t k = 0; k <= n; k++) {
        if (low[k] <= p && p <= high[k]) sum += binomial_sum(p, n, k, k);
    }
    return sum;
}

TEST(coverage_is_what_each_interval_promises)
{
    static const uint64_t sizes[3] = {5, 20, 67};
    for (int i = 0; i < 3; i++) {
        uint64_t n = sizes[i];
        double wilson[2][68], exact[2][68], mean = 0, least = 1;
        for (uint64_t k = 0; k <= n; k++) {
            spec_alpha_wilson_interval(&wilson[0][k], &wilson[1][k], k, n, 0.05);
            spec_alpha_clopper_pearson_interval(&exact[0][k], &exact[1][k], k, n, 0.05);
        }
        for (int j = 1; j < 400; j++) {
            double p = j / 400.0, covered = coverage(wilson[0], wilson[1], n, p);
            mean += covered / 399;
            least = fmin(least, covered);
            assert_true(coverage(exact[0], exact[1], n, p) >= 0.95 - 1e-12);
        }
        assert_within(mean, 0.95, 0.011);
        assert_true(least < 0.93 && least > 0.8); /* true of Wilson's interval only */
    }
}

/* ---- bootstrap ------------------------------------------------------------------------------- */

static gsl_rng *generator(uint64_t seed)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, (unsigned long)seed);
    return rng;
}

TEST(bootstrap_is_deterministic_and_takes_percentiles)
{
    const uint64_t counts[4] = {400, 300, 200, 500};
    const double weight[4] = {400, 300, 200, 500};
    double low, high, work[5], wanted[5];
    OWNED_RNG *rng = generator(7);
    for (int i = 0; i < 5; i++) {
        unsigned int drawn[4];
        uint64_t again[4];
        gsl_ran_multinomial(rng, 4, 1400, weight, drawn);
        for (int k = 0; k < 4; k++) again[k] = drawn[k];
        wanted[i] = spec_alpha_mle(again, 3);
    }
    gsl_rng_set(rng, 7);
    assert_int_equal(spec_alpha_bootstrap(&low, &high, counts, 3, 0.5, 5, work, rng), GSL_SUCCESS);
    for (int i = 0; i < 5; i++) { /* five estimates: the quartiles are the second and the fourth */
        int below = 0;
        for (int j = 0; j < 5; j++) below += wanted[j] < wanted[i];
        assert_true(work[below] == wanted[i]);
    }
    assert_true(low == work[1] && high == work[3]);
    gsl_rng_set(rng, 7);
    assert_int_equal(spec_alpha_bootstrap(&low, &high, counts, 3, 0.5, 1, work, rng), GSL_SUCCESS);
    assert_true(low == wanted[0] && high == wanted[0]);
}

TEST(bootstrap_of_iid_rounds_is_as_wide_as_the_normal_interval)
{
    enum { RESAMPLES = 2000 };
    static double work[RESAMPLES];
    const uint64_t counts[4] = {2700, 1971, 1439, 3890}; /* alpha near .73 */
    uint64_t passed, tested;
    spec_alpha_trials(&passed, &tested, counts, 3);
    double alpha = spec_alpha_mle(counts, 3), se = sqrt(alpha * (1 - alpha) / (double)tested), low,
           high;
    OWNED_RNG *rng = generator(spec_test_seed());
    assert_int_equal(spec_alpha_bootstrap(&low, &high, counts, 3, 0.05, RESAMPLES, work, rng),
                     GSL_SUCCESS);
    assert_within(low, alpha - 1.96 * se,
                  0.4 * se); /* a percentile of 2000 has a standard error of .06 se */
    assert_within(high, alpha + 1.96 * se, 0.4 * se);
}

/* 400 data sets of 150 rounds. If the true coverage is .94, the number covered has a standard
 * deviation of 4.7, so that 345 is 6.4 of them below the mean: an interval of half the width
 * (coverage .67), or with one end off, is rejected. */
TEST(bootstrap_covers_alpha)
{
    enum { SETS = 400, RESAMPLES = 200 };
    double work[RESAMPLES], weight[5];
    int covered = 0, below = 0;
    for (int k = 0; k <= 4; k++) weight[k] = law(0.73, 4, k);
    OWNED_RNG *rng = generator(spec_test_seed());
    for (int i = 0; i < SETS; i++) {
        unsigned int drawn[5];
        uint64_t counts[5];
        double low, high;
        gsl_ran_multinomial(rng, 5, 150, weight, drawn);
        for (int k = 0; k <= 4; k++) counts[k] = drawn[k];
        assert_int_equal(spec_alpha_bootstrap(&low, &high, counts, 4, 0.05, RESAMPLES, work, rng),
                         GSL_SUCCESS);
        covered += low <= 0.73 && 0.73 <= high;
        below += 0.73 < low;
    }
    printf("bootstrap covers %d of %d\n", covered, (int)SETS);
    assert_true(covered >= 345 && covered <= 398 && below <= 40);
}

/* 1.5e9 rounds lie between 2^30 and 2^31. */
TEST(bootstrap_draws_up_to_two_to_the_31_rounds_at_once)
{
    const uint64_t counts[2] = {700000000, 800000000};
    const double weight[2] = {7e8, 8e8};
    double low, high, work[1];
    unsigned int drawn[2];
    OWNED_RNG *rng = generator(7);
    gsl_ran_multinomial(rng, 2, 1500000000, weight, drawn);
    gsl_rng_set(rng, 7);
    assert_int_equal(spec_alpha_bootstrap(&low, &high, counts, 1, 0.5, 1, work, rng), GSL_SUCCESS);
    assert_true(low == (double)drawn[1] / 1.5e9 && high == low);
}

TEST(bootstrap_takes_more_rounds_than_an_unsigned_int_holds)
{
    const uint64_t counts[3] = {3000000000u, 3000000000u, 3000000001u};
    double low, high, work[20];
    OWNED_RNG *rng = generator(spec_test_seed());
    assert_int_equal(spec_alpha_bootstrap(&low, &high, counts, 2, 0.1, 20, work, rng), GSL_SUCCESS);
    double se = sqrt(0.6 * 0.4 / 15e9);
    assert_within(work[0], 0.6, 8 * se);
    assert_within(work[19], 0.6, 8 * se);
    assert_true(work[19] - work[0] > 0.5 * se);
}

/* One round that accepted one of two tested tokens: every resample is that round again. */
TEST(bootstrap_of_a_single_round_is_that_round)
{
    double low, high, work[3];
    OWNED_RNG *rng = generator(1);
    assert_int_equal(
        spec_alpha_bootstrap(&low, &high, (const uint64_t[]){0, 1, 0}, 2, 0.05, 3, work, rng),
        GSL_SUCCESS);
    assert_true(low == 0.5 && high == 0.5);
    assert_int_equal(
        spec_alpha_bootstrap(&low, &high, (const uint64_t[]){0, 27}, 1, 0.05, 3, work, rng),
        GSL_SUCCESS);
    assert_true(low == 1 && high == 1);
}

TEST(bootstrap_without_a_test_draws_nothing)
{
    double low, high, work[3];
    gsl_rng *rng = generator(1), *fresh = generator(1);
    assert_int_equal(
        spec_alpha_bootstrap(&low, &high, (const uint64_t[]){27}, 0, 0.05, 3, work, rng),
        GSL_SUCCESS);
    assert_true(isnan(low) && isnan(high));
    assert_int_equal(
        spec_alpha_bootstrap(&low, &high, (const uint64_t[]){0, 0}, 1, 0.05, 3, work, rng),
        GSL_SUCCESS);
    assert_true(isnan(low) && isnan(high));
    assert_memory_equal(gsl_rng_state(rng), gsl_rng_state(fresh), gsl_rng_size(rng));
    gsl_rng_free(rng);
    gsl_rng_free(fresh);
}

TEST(bootstrap_refuses_what_it_cannot_do)
{
    uint64_t counts[SPEC_K_MAX + 2] = {5, 3};
    double low = 7, high = 7, work[3];
    OWNED_RNG *rng = generator(1);
    static const struct {
        int K;
        double error;
        int resamples;
    } bad[] = {{-1, 0.05, 3}, {SPEC_K_MAX + 1, 0.05, 3},
               {1, 0, 3},     {1, 1, 3},
               {1, -1, 3},    {1, 2, 3},
               {1, NAN, 3},   {1, 0.05, 0}};
    for (int i = 0; i < 8; i++) {
        low = high = 7;
        int status = spec_alpha_bootstrap(&low, &high, counts, bad[i].K, bad[i].error,
                                          bad[i].resamples, work, rng);
        assert_int_equal(status, GSL_EDOM);
        assert_true(low == 0 && high == 0);
    }
    assert_int_equal(spec_alpha_bootstrap(&low, &high, counts, 0, 0.05, 3, work, rng), GSL_SUCCESS);
    assert_true(isnan(low) && isnan(high));
    assert_int_equal(spec_alpha_bootstrap(&low, &high, counts, SPEC_K_MAX, 0.05, 1, work, rng),
                     GSL_SUCCESS);
    assert_true(low > 0 && low == high);
    counts[0] = counts[1] = 0;
    assert_int_equal(spec_alpha_bootstrap(&low, &high, counts, 1, 0.05, 3, work, rng), GSL_SUCCESS);
    assert_true(isnan(low) && isnan(high));
}
