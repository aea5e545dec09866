/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/places.h"

#include "analysis/capped_geometric.h"
#include "analysis/modulated.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_rng.h>
#include <stdlib.h>

static double mean_of(const double *beta, const double *start, int n, int K, size_t burn_in,
                      size_t rounds)
{
    double mean;
    assert_int_equal(spec_places_mean(&mean, beta, start, n, K, burn_in, rounds), GSL_SUCCESS);
    return mean;
}

TEST(equal_chances_are_iid_acceptance)
{
    static const double beta[] = {0.735, 0.735, 0.735}, start[] = {0.27, 0.5, 0.23};
    for (int K = 0; K < 8; K++)
        assert_near(mean_of(beta, start, 3, K, 2, 5), spec_capped_geometric_mean(0.735, K), 1e-14);
    for (int K = 0; K < 8; K++) {
        assert_near(mean_of((const double[]){1.0}, (const double[]){1.0}, 1, K, 0, 3), K + 1.0,
                    1e-14);
        assert_near(mean_of((const double[]){0.0}, (const double[]){1.0}, 1, K, 0, 3), 1.0, 1e-14);
    }
}

/* Two places, K = 1, two rounds, by hand: from place 0 a round emits 2 with chance .8 and stays,
 * else 1. */
TEST(two_rounds_by_hand)
{
    static const double beta[] = {0.8, 0.3}, start[] = {1.0, 0.0};
    assert_near(mean_of(beta, start, 2, 1, 0, 1), 1.8, 1e-15);
    assert_near(mean_of(beta, start, 2, 1, 1, 1), 0.8 * 1.8 + 0.2 * 1.3, 1e-15);
    assert_near(mean_of(beta, start, 2, 1, 0, 2), (1.8 + 0.8 * 1.8 + 0.2 * 1.3) / 2, 1e-15);
    assert_near(mean_of(beta, (const double[]){0.25, 0.75}, 2, 1, 0, 1), 1.425, 1e-15);
}

/* Compares the long run with the chain over contexts, taking the circle of places as contexts:
 * another route to the kernel. */
TEST(the_long_run_is_that_of_the_chain_over_places)
{
    enum { N = 23 };
    double beta[N], start[N], accept[N * N] = {0.0}, reject[N * N] = {0.0}, bonus[N * N] = {0.0};
    OWNED_RNG *rng = gsl_rng_alloc(gsl_rng_taus2);
    for (int i = 0; i < N; i++) {
        const int next = i * N + (i + 1) % N;
        beta[i] = gsl_rng_uniform(rng);
        start[i] = i == 3;
        accept[next] = beta[i];
        reject[next] = 1.0 - beta[i];
        bonus[next] = 1.0;
    }
    for (int K = 1; K < 6; K++) {
        double expected, variance;
        assert_int_equal(
            spec_modulated_pair_chain(&expected, &variance, NULL, accept, reject, bonus, N, K),
            GSL_SUCCESS);
        assert_near(mean_of(beta, start, N, K, 30000, 1), expected, 1e-12);
    }
}

/* A separate simulation of a round from each place, for drafts longer than the circle too. */
TEST(one_round_is_the_sum_of_its_products)
{
    static const double beta[] = {0.27, 0.911, 0.6, 0.05, 1.0};
    enum { N = 5 };
    for (int K = 0; K <= 12; K++)
        for (int s = 0; s < N; s++) {
            double start[N] = {0.0}, expected = 1.0, product = 1.0;
            start[s] = 1.0;
            for (int k = 0; k < K; k++) expected += product *= beta[(s + k) % N];
            assert_near(mean_of(beta, start, N, K, 0, 1), expected, 1e-15);
        }
}

TEST(what_is_no_chance_or_law_is_refused)
{
    static const double beta[] = {0.3, 0.4}, start[] = {0.5, 0.5};
    double mean = 7.0;
    assert_int_equal(spec_places_mean(&mean, (const double[]){0.3, 1.1}, start, 2, 1, 0, 1),
                     GSL_EDOM);
    assert_same(mean, 0.0);
    assert_int_equal(spec_places_mean(&mean, (const double[]){-0.1, 1.0}, start, 2, 1, 0, 1),
                     GSL_EDOM);
    assert_int_equal(spec_places_mean(&mean, (const double[]){NAN, 1.0}, start, 2, 1, 0, 1),
                     GSL_EDOM);
    assert_int_equal(spec_places_mean(&mean, beta, (const double[]){0.5, 0.4}, 2, 1, 0, 1),
                     GSL_EDOM);
    assert_int_equal(spec_places_mean(&mean, beta, (const double[]){1.5, -0.5}, 2, 1, 0, 1),
                     GSL_EDOM);
    assert_int_equal(spec_places_mean(&mean, beta, (const double[]){0.5, 0.5 + 2e-9}, 2, 1, 0, 1),
                     GSL_EDOM);
    assert_int_equal(spec_places_mean(&mean, beta, (const double[]){0.5, 0.5 - 5e-10}, 2, 1, 0, 1),
                     GSL_SUCCESS);
    assert_int_equal(spec_places_mean(&mean, beta, start, 0, 1, 0, 1), GSL_EDOM);
    assert_int_equal(spec_places_mean(&mean, beta, start, 2, -1, 0, 1), GSL_EDOM);
    assert_int_equal(spec_places_mean(&mean, beta, start, 2, 1, 3, 0), GSL_EDOM);
}
