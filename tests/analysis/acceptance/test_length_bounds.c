/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/length_bounds.h"

#include "analysis/capped_geometric.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_rng.h>
#include <math.h>

enum { ATOMS = 6, K_MOST = 20 };

/* Fills in the counters, at K, of requests that have these alphas and these shares of the tokens.
 * Returns tokens per round. */
static double counters(double *m, const double *alpha, const double *tokens, int n, int K)
{
    double rounds = 0.0, share[ATOMS], all = 0.0;
    for (int i = 0; i < n; i++) {
        share[i] = tokens[i] / spec_capped_geometric_mean(alpha[i], K);
        rounds += share[i];
        all += tokens[i];
    }
    for (int j = 1; j <= K; j++) {
        m[j - 1] = 0.0;
        for (int i = 0; i < n; i++) m[j - 1] += share[i] / rounds * pow(alpha[i], j);
        m[j - 1] = fmin(m[j - 1], 1.0);
    }
    return all / rounds;
}

/* Does the same for alphas that follow Beta(a,b) over the tokens, as an integral over 4,000
 * midpoints. */
static void beta_counters(double *m, double a, double b, int K)
{
    enum { STRIPS = 4000 };
    double rounds = 0.0, sum[K_MOST] = {0.0};
    for (int i = 0; i < STRIPS; i++) {
        /* alpha = 1 - (1-u)^(1/b) removes the pole at 1 */
        const double u = (i + 0.5) / STRIPS, alpha = 1.0 - pow(1.0 - u, 1.0 / b);
        const double weight = pow(alpha, a - 1.0) / spec_capped_geometric_mean(alpha, K);
        rounds += weight;
        for (int j = 0; j < K; j++) sum[j] += weight * pow(alpha, j + 1);
    }
    for (int j = 0; j < K; j++) m[j] = sum[j] / rounds;
}

/* The ends by another solver: HiGHS on a grid of 2,001 alphas. */
TEST(another_solver_finds_the_same_bounds_for_beta_laws)
{
    static const struct {
        double mean, concentration;
        int K, K_other;
        const char *low, *high;
    } known[] = {
        {0.7, 5.0, 5, 1, "1.6775", "1.6775"}, {0.7, 5.0, 5, 2, "2.1322", "2.1322"},
        {0.7, 5.0, 5, 3, "2.4403", "2.4405"}, {0.7, 5.0, 5, 4, "2.6532", "2.6536"},
        {0.7, 2.0, 6, 4, "2.5561", "2.5564"}, {0.7, 2.0, 6, 5, "2.6979", "2.6982"},
        {0.8, 3.0, 5, 3, "2.8148", "2.8152"}, {0.8, 3.0, 5, 4, "3.1627", "3.1632"},
        {0.6, 4.0, 3, 1, "1.5679", "1.5679"}, {0.6, 4.0, 3, 2, "1.8912", "1.8938"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double m[K_MOST];
        const double a = known[i].mean * known[i].concentration;
        beta_counters(m, a, known[i].concentration - a, known[i].K);
        const spec_bounds bounds = spec_length_bounds(m, known[i].K, known[i].K_other);
        assert_prints(bounds.low, 4, known[i].low);
        assert_prints(bounds.high, 4, known[i].high);
    }
}

TEST(one_alpha_has_its_tokens_at_every_length)
{
    const double alpha = 0.73, all = 1.0;
    double m[K_MOST];
    for (int K = 2; K <= 8; K++) {
        counters(m, &alpha, &all, 1, K);
        for (int K_other = 0; K_other <= 2 * K; K_other++) {
            const double tokens = spec_capped_geometric_mean(alpha, K_other);
            const spec_bounds bounds = spec_length_bounds(m, K, K_other);
            assert_within(bounds.low, tokens, 1e-4);
            assert_within(bounds.high, tokens, 1e-4);
        }
    }
}

/* If K_other + 1 divides K + 1, then f is 1 + a^(K_other+1) + a^(2 K_other+2) + .., and every law
 * gives the same answer. Otherwise the answer lies between the bounds. */
TEST(the_truth_of_any_requests_lies_within_the_bounds)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus2, spec_test_seed());
    double widest = 0.0;
    for (int trial = 0; trial < 120; trial++) {
        const int n = 1 + trial % ATOMS, K = 1 + trial % K_MOST, K_other = (7 * trial) % 24;
        double alpha[ATOMS], tokens[ATOMS], m[K_MOST], m_other[24], truth = 1.0;
        for (int i = 0; i < n; i++) {
            alpha[i] = fmin(1.0, fmax(0.0, 1.2 * gsl_rng_uniform(rng) - 0.1));
            tokens[i] = gsl_rng_uniform_pos(rng);
        }
        counters(m, alpha, tokens, n, K);
        if (K_other > 0) truth = counters(m_other, alpha, tokens, n, K_other);
        const spec_bounds bounds = spec_length_bounds(m, K, K_other);
        assert_true(bounds.low <= truth + 1e-5 && truth <= bounds.high + 1e-5);
        if ((K + 1) % (K_other + 1) == 0 && K <= SPEC_LENGTH_TERMS)
            assert_within(bounds.high, bounds.low, 1e-4);
        widest = fmax(widest, bounds.high - bounds.low);
    }
    assert_true(widest > 0.01); /* some ranges are wide, so the test is not trivial */
}

/* The module's own check says that the polynomial is above f; this checks it at other points, with
 * other arithmetic. */
TEST(polynomials_stay_on_their_side_of_the_ratio)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus2, spec_test_seed());
    for (int trial = 0; trial < 60; trial++) {
        double m[K_MOST];
        const int K = 1 + trial % K_MOST, K_other = (5 * trial) % 24;
        for (int j = 0; j < K; j++) m[j] = gsl_rng_uniform(rng); /* not the moments of a law */
        for (int high = 0; high < 2; high++) {
            const spec_length_bound bound = spec_length_bound_of(m, K, K_other, high, 4.0);
            for (int i = 0; i <= 3000; i++) {
                double powers[K_MOST];
                const double a = i / 3000.0;
                for (int j = 0; j < K; j++) powers[j] = pow(a, j + 1);
                const double f =
                    spec_capped_geometric_mean(a, K) / spec_capped_geometric_mean(a, K_other);
                const double off = spec_length_bound_at(&bound, powers) - f;
                assert_true(high ? off >= -1e-6 : off <= 1e-6);
            }
            for (int j = 0; j < bound.n; j++) assert_true(fabs(bound.c[j]) <= 4.0 + 1e-9);
        }
    }
}

TEST(lengths_and_shares_outside_their_domain_have_no_bounds)
{
    const double m[] = {0.5, 1.2}, fine[] = {0.5, 0.3};
    assert_true(isnan(spec_length_bounds(m, 2, 1).low));
    assert_true(isnan(spec_length_bounds(fine, 0, 1).low));
    assert_true(isnan(spec_length_bounds(fine, 2, -1).high));
    assert_true(isnan(spec_length_bounds(fine, 2, 65).high));
    assert_same(spec_length_bounds(fine, 2, 2).low, spec_length_bounds(fine, 2, 2).low);
}
