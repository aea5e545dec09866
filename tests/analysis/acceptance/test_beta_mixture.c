/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/beta_mixture.h"

#include "speclab/round.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_sf_gamma.h>
#include <math.h>

/* Second route: the log likelihood from the probabilities of n_accepted, by Beta functions. */
static double by_beta_functions(const double *counts, int K, double a, double b)
{
    double sum = 0.0;
    for (int k = 0; k <= K; k++)
        if (counts[k] > 0.0)
            sum += counts[k] * (gsl_sf_lnbeta(a + k, k < K ? b + 1.0 : b) - gsl_sf_lnbeta(a, b));
    return sum;
}

static double of_one_alpha(const double *counts, int K, double alpha)
{
    double sum = 0.0;
    for (int k = 0; k <= K; k++)
        if (counts[k] > 0.0) sum += counts[k] * (k * log(alpha) + (k < K ? log1p(-alpha) : 0.0));
    return sum;
}

static double tested_alpha(const double *counts, int K)
{
    double accepted = 0.0, tested = 0.0;
    for (int k = 0; k <= K; k++) {
        accepted += k * counts[k];
        tested += (k < K ? k + 1 : K) * counts[k];
    }
    return accepted / tested;
}

/* From vLLM's pull request 48915: acceptance_histogram [39,1,0,3]. */
TEST(counts_of_a_request_of_vllm_are_a_mixture)
{
    const double counts[] = {39, 1, 0, 3};
    spec_beta_mixture fit;
    assert_int_equal(spec_beta_mixture_fit(&fit, counts, 3), GSL_SUCCESS);
    assert_prints(fit.a, 3, "0.022");
    assert_prints(fit.b, 3, "0.218");
    assert_prints(fit.likelihood_ratio, 1, "18.2");
    assert_near(fit.alpha, 10.0 / 50.0, 1e-14);
}

/* No point on a grid of means and sums has a higher likelihood than the fit, and the fit's own
 * likelihood is right. */
TEST(the_fit_is_the_likeliest_of_a_grid)
{
    const double cases[][6] = {
        {39, 1, 0, 3, 0, 0},    {11, 14, 11, 4, 0, 3}, {8, 0, 6, 6, 0, 0},
        {17, 15, 13, 42, 0, 0}, {5, 9, 12, 51, 0, 0},  {200, 90, 60, 40, 30, 500},
        {3, 1, 0, 0, 0, 900},   {1, 0, 0, 0, 0, 1},    {900, 7, 1, 1, 0, 1}};
    const int depth[] = {3, 5, 3, 3, 3, 5, 5, 5, 5};
    for (int c = 0; c < 9; c++) {
        const double *counts = cases[c];
        const int K = depth[c];
        spec_beta_mixture fit;
        assert_int_equal(spec_beta_mixture_fit(&fit, counts, K), GSL_SUCCESS);
        assert_near(fit.alpha, tested_alpha(counts, K), 1e-13);
        const double one = of_one_alpha(counts, K, fit.alpha);
        double best = one;
        for (int i = 1; i < 200; i++)
            for (int j = -24; j <= 36; j++) {
                const double sum = pow(10.0, j / 4.0), mean = i / 200.0;
                if (sum > 1e5) continue; /* Beta functions lose their digits */
                best = fmax(best, by_beta_functions(counts, K, mean * sum, (1.0 - mean) * sum));
            }
        assert_true(fit.likelihood_ratio >= 2.0 * (best - one) - 1e-7);
        if (isinf(fit.a)) {
            assert_true(isinf(fit.b));
            assert_same(fit.likelihood_ratio, 0.0);
        } else {
            assert_within(2.0 * (by_beta_functions(counts, K, fit.a, fit.b) - one),
                          fit.likelihood_ratio, 1e-6);
            for (int sign = -1; sign <= 1; sign += 2) /* a maximum in both directions */
                assert_true(by_beta_functions(counts, K, fit.a * (1.0 + sign * 1e-3), fit.b) <
                                by_beta_functions(counts, K, fit.a, fit.b) + 1e-9 &&
                            by_beta_functions(counts, K, fit.a, fit.b * (1.0 + sign * 1e-3)) <
                                by_beta_functions(counts, K, fit.a, fit.b) + 1e-9);
        }
    }
}

/* For the exact expected counts of a law, the likelihood is largest at that law. */
TEST(expected_counts_give_the_law_back)
{
    const double laws[][2] = {{0.022, 0.218}, {4.0, 1.0}, {27.0, 2.385}, {0.5, 0.1}, {1.0, 30.0}};
    for (int l = 0; l < 5; l++)
        for (int K = 2; K <= 15; K += 13) {
            double counts[16], alpha = 0.0;
            for (int k = 0; k <= K; k++)
                counts[k] =
                    1000.0 *
                    (spec_beta_mixture_moment(laws[l][0], laws[l][1], k) -
                     (k < K ? spec_beta_mixture_moment(laws[l][0], laws[l][1], k + 1) : 0.0));
            spec_beta_mixture fit;
            assert_int_equal(spec_beta_mixture_fit(&fit, counts, K), GSL_SUCCESS);
            assert_near(fit.a, laws[l][0], 1e-5);
            assert_near(fit.b, laws[l][1], 1e-5);
            alpha = tested_alpha(counts, K);
            assert_near(fit.alpha, alpha, 1e-12);
        }
}

TEST(one_alpha_is_no_mixture)
{
    spec_beta_mixture fit;
    const double alphas[] = {0.03, 0.27, 0.8, 0.999};
    for (int i = 0; i < 4; i++) {
        double counts[9];
        for (int k = 0; k <= 8; k++)
            counts[k] = 1e4 * pow(alphas[i], k) * (k < 8 ? 1.0 - alphas[i] : 1.0);
        assert_int_equal(spec_beta_mixture_fit(&fit, counts, 8), GSL_SUCCESS);
        assert_near(fit.alpha, alphas[i], 1e-12);
        assert_within(fit.likelihood_ratio, 0.0, 1e-6);
    }
    /* Decay by depth: no mixture is likelier than one alpha. */
    const double decay[] = {10, 20, 40, 20}, none[] = {43, 0, 0, 0}, all[] = {0, 0, 0, 43},
                 two[] = {10, 33};
    assert_int_equal(spec_beta_mixture_fit(&fit, decay, 3), GSL_SUCCESS);
    assert_true(isinf(fit.a) && isinf(fit.b));
    assert_same(fit.likelihood_ratio, 0.0);
    assert_int_equal(spec_beta_mixture_fit(&fit, none, 3), GSL_SUCCESS);
    assert_same(fit.alpha, 0.0);
    assert_true(isinf(fit.a) && fit.likelihood_ratio == 0.0);
    assert_int_equal(spec_beta_mixture_fit(&fit, all, 3), GSL_SUCCESS);
    assert_same(fit.alpha, 1.0);
    assert_true(isinf(fit.b) && fit.likelihood_ratio == 0.0);
    /* A single depth tells nothing about a mixture. */
    assert_int_equal(spec_beta_mixture_fit(&fit, two, 1), GSL_SUCCESS);
    assert_near(fit.alpha, 33.0 / 43.0, 1e-15);
    assert_true(isinf(fit.a) && fit.likelihood_ratio == 0.0);
}

/* Rounds that accept nothing or everything give alphas of 0 and 1, the largest possible spread. */
TEST(all_or_nothing_is_the_widest_mixture)
{
    const double counts[] = {30, 0, 0, 0, 70};
    spec_beta_mixture fit;
    assert_int_equal(spec_beta_mixture_fit(&fit, counts, 4), GSL_SUCCESS);
    assert_near(fit.a + fit.b, 1e-6, 1e-9);
    assert_near(fit.a / (fit.a + fit.b), 0.7, 1e-5);
    assert_near(spec_beta_mixture_moment(fit.a, fit.b, 4), 0.7, 1e-5);
    const double one = of_one_alpha(counts, 4, 280.0 / 310.0);
    assert_near(fit.likelihood_ratio, 2.0 * (30 * log(0.3) + 70 * log(0.7) - one), 1e-4);
}

/* Twice the log likelihood ratio over rounds of one alpha exceeds 3.84 in 2.5 % of the samples,
 * because half of them fit a decay. A fit that misses the maximum finds fewer. */
TEST(the_ratio_has_its_law_under_one_alpha)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    gsl_rng_set(rng, (unsigned long)spec_test_seed());
    const int samples = 2000;
    int above = 0, zero = 0;
    for (int trial = 0; trial < samples; trial++) {
        double counts[5] = {0};
        for (int r = 0; r < 400; r++) {
            int k = 0;
            while (k < 4 && gsl_rng_uniform(rng) < 0.66) k++;
            counts[k]++;
        }
        spec_beta_mixture fit;
        assert_int_equal(spec_beta_mixture_fit(&fit, counts, 4), GSL_SUCCESS);
        above += fit.likelihood_ratio > 3.841459;
        zero += fit.likelihood_ratio == 0.0;
    }
    gsl_rng_free(rng);
    assert_within(above, 0.025 * samples, 4.9 * sqrt(0.025 * 0.975 * samples) + 10.0);
    assert_within(zero, 0.5 * samples, 4.9 * sqrt(0.25 * samples) + 40.0);
}

TEST(moments_are_those_of_beta_functions)
{
    for (int j = 0; j <= 20; j++)
        assert_near(spec_beta_mixture_moment(2.7, 0.385, j),
                    exp(gsl_sf_lnbeta(2.7 + j, 0.385) - gsl_sf_lnbeta(2.7, 0.385)), 1e-12);
    assert_same(spec_beta_mixture_moment(2.7, 0.385, 0), 1.0);
    assert_nan(spec_beta_mixture_moment(0.0, 1.0, 2));
    assert_nan(spec_beta_mixture_moment(1.0, 0.0, 2));
    assert_nan(spec_beta_mixture_moment(1.0, NAN, 2));
    assert_nan(spec_beta_mixture_moment(INFINITY, INFINITY, 2));
    assert_nan(spec_beta_mixture_moment(1.0, 1.0, -1));
}

TEST(counts_outside_the_domain_are_refused)
{
    const double good[SPEC_K_MAX + 2] = {1.0, 2.0}, bad[][2] = {{-1.0, 3.0},
                                                                {NAN, 1.0},
                                                                {1.0, INFINITY},
                                                                {0.0, 0.0},
                                                                {1.7e308, 1.7e308}};
    spec_beta_mixture fit;
    for (int i = 0; i < 5; i++) {
        assert_int_equal(spec_beta_mixture_fit(&fit, bad[i], 1), GSL_EDOM);
        assert_nan(fit.alpha);
        assert_nan(fit.a);
        assert_nan(fit.b);
        assert_nan(fit.likelihood_ratio);
    }
    assert_int_equal(spec_beta_mixture_fit(&fit, good, 0), GSL_EDOM);
    assert_int_equal(spec_beta_mixture_fit(&fit, good, SPEC_K_MAX + 1), GSL_EDOM);
    assert_int_equal(spec_beta_mixture_fit(&fit, good, SPEC_K_MAX), GSL_SUCCESS);
}
