/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/requests/alpha_law.h"

#include "sim/chance/rng.h"
#include "tests/support/battery.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_cdf.h>

enum { CELLS = 50 };

static spec_alpha_law law_of(const char *spec, double alpha)
{
    spec_alpha_law law;
    assert_works(spec_alpha_law_init(&law, spec, alpha, &error));
    return law;
}

/* Counts draws in cells of equal probability. If a and b were exchanged, nearly all draws would be
 * in the last cells. */
TEST(beta_draws_have_their_law, STATISTICS)
{
    static const double cases[][2] = {{0.7, 5.0}, {0.27, 1.3}, {0.85, 400.0}};
    const uint64_t n = spec_test_samples(100000), seed = spec_test_seed();
    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char spec[64];
        const double alpha = cases[c][0], concentration = cases[c][1];
        snprintf(spec, sizeof spec, "beta?concentration=%g", concentration);
        const spec_alpha_law law = law_of(spec, alpha);
        uint64_t counts[CELLS] = {0};
        double probability[CELLS];
        for (int i = 0; i < CELLS; i++) probability[i] = 1.0 / CELLS;
        spec_rng_stream(rng, seed, c);
        for (uint64_t i = 0; i < n; i++) {
            const double below =
                gsl_cdf_beta_P(spec_alpha_law_draw(&law, rng), alpha * concentration,
                               (1.0 - alpha) * concentration);
            counts[below < 1.0 ? (int)(below * CELLS) : CELLS - 1]++;
        }
        assert_false(spec_battery_rejects(spec_battery_chi_square(counts, probability, CELLS)));
    }
}

/* Averaged over all shares, the quantile has the mean and the variance of the law. */
TEST(quantiles_have_the_moments_of_the_law)
{
    static const char *const specs[] = {"one", "beta?concentration=5", "two?spread=0.2"};
    enum { N = 20000 };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        const spec_alpha_law law = law_of(specs[i], 0.7);
        const double variance[] = {0.0, 0.7 * 0.3 / 6.0, 0.04};
        double mean = 0.0, square = 0.0, last = 0.0;
        for (int k = 0; k < N; k++) {
            const double alpha = spec_alpha_law_quantile(&law, (k + 0.5) / N);
            assert_true(alpha >= last);
            last = alpha;
            mean += alpha / N;
            square += alpha * alpha / N;
        }
        assert_within(mean, 0.7, 1e-6);
        assert_within(square - mean * mean, variance[i], 1e-5);
    }
}

TEST(two_values_are_equally_likely, STATISTICS)
{
    const spec_alpha_law law = law_of("two?spread=0.15", 0.62);
    const uint64_t n = spec_test_samples(100000);
    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    spec_rng_stream(rng, spec_test_seed(), 9);
    uint64_t counts[2] = {0};
    for (uint64_t i = 0; i < n; i++) {
        const double alpha = spec_alpha_law_draw(&law, rng);
        const int high = alpha > 0.62;
        assert_near(alpha, high ? 0.77 : 0.47, 1e-15);
        counts[high]++;
    }
    assert_false(
        spec_battery_rejects(spec_battery_chi_square(counts, (const double[]){0.5, 0.5}, 2)));
}

/* Moments of Beta(a, b) by their recurrence: m_j = m_(j-1) (a + j - 1) / (a + b + j - 1). */
TEST(beta_nodes_have_the_moments_of_beta)
{
    static const double cases[][2] = {{0.7, 5.0}, {0.5, 2.0},  {0.31, 0.01}, {0.999, 0.7},
                                      {0.8, 1e6}, {1e-6, 3.0}, {0.6, 1.0},   {0.9, 170.0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char spec[64];
        const double a = cases[c][0] * cases[c][1], total = cases[c][1];
        double alpha[SPEC_ALPHA_NODES], weight[SPEC_ALPHA_NODES], moment = 1.0;
        int n;
        snprintf(spec, sizeof spec, "beta?concentration=%.17g", total);
        const spec_alpha_law law = law_of(spec, cases[c][0]);
        assert_int_equal(spec_alpha_law_nodes(&n, alpha, weight, &law, NULL), GSL_SUCCESS);
        assert_int_equal(n, SPEC_ALPHA_NODES);
        for (int i = 1; i < n; i++) assert_true(alpha[i] >= alpha[i - 1]);
        for (int j = 0; j < 2 * SPEC_ALPHA_NODES; j++) {
            double sum = 0.0;
            for (int i = 0; i < n; i++) sum += weight[i] * pow(alpha[i], j);
            assert_within(sum, moment, 1e-12);
            moment *= (a + j) / (total + j);
        }
    }
}

TEST(at_its_limits_the_law_is_one_value)
{
    static const struct {
        const char *spec;
        double alpha;
    } cases[] = {
        {"one", 0.73}, {"beta", 0.0}, {"beta?concentration=0.3", 1.0}, {"two?spread=0", 0.4}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        double alpha[SPEC_ALPHA_NODES], weight[SPEC_ALPHA_NODES];
        int n;
        const spec_alpha_law law = law_of(cases[c].spec, cases[c].alpha);
        assert_same(spec_alpha_law_draw(&law, NULL), cases[c].alpha);
        assert_int_equal(spec_alpha_law_nodes(&n, alpha, weight, &law, NULL), GSL_SUCCESS);
        assert_int_equal(n, 1);
        assert_same(alpha[0], cases[c].alpha);
        assert_same(weight[0], 1.0);
    }
}

TEST(two_nodes_are_the_two_values)
{
    double alpha[SPEC_ALPHA_NODES], weight[SPEC_ALPHA_NODES];
    int n;
    const spec_alpha_law law = law_of("two?spread=0.3", 0.7);
    assert_int_equal(spec_alpha_law_nodes(&n, alpha, weight, &law, NULL), GSL_SUCCESS);
    assert_int_equal(n, 2);
    assert_near(alpha[0], 0.4, 1e-15);
    assert_same(alpha[1], 1.0);
    assert_same(weight[0] + weight[1], 1.0);
}

TEST(wrong_laws_are_refused)
{
    static const struct {
        const char *spec;
        double alpha;
        const char *text;
    } cases[] = {
        {"one", 1.2, "alpha = 1.2 is outside [0,1]"},
        {"one", NAN, "alpha = nan is outside [0,1]"},
        {"betta", 0.5, "no distribution of alpha is named 'betta'; did you mean 'beta'?"},
        {"beta?concentration=0", 0.5, "beta: concentration=0 is not between 0.01 and 1e+06"},
        {"beta?concentration=nan", 0.5, "beta: concentration=nan is not a finite number"},
        {"one?spread=0.1", 0.5, "one has no key 'spread'"},
        {"two?spread=0.3", 0.8,
         "two: alpha = 0.8 with spread = 0.3 leaves [0,1]; spread may be at most 0.2"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spec_alpha_law law;
        spec_error error = {""};
        assert_int_not_equal(spec_alpha_law_init(&law, cases[c].spec, cases[c].alpha, &error),
                             GSL_SUCCESS);
        assert_string_equal(error.text, cases[c].text);
        assert_same(law.mean, 0.0);
    }
}
