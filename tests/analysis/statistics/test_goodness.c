/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks goodness of fit with tables computed by hand, and with p-values that must be uniform under
 * the law. */
#include "analysis/statistics/goodness.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_sort.h>
#include <math.h>

typedef int count_test(spec_goodness *, const uint64_t *, const double *, size_t, double, int);

TEST(hand_worked_tables)
{
    /* Expected 25, 25, 50: chi^2 = 1 + 1 + 0, tail exp(-1); G = 2 (20 log .8 + 30 log 1.2). */
    const uint64_t counts[3] = {20, 30, 50};
    const double probability[3] = {0.25, 0.25, 0.5};
    double g = 2 * (20 * log(0.8) + 30 * log(1.2));
    spec_goodness fit;
    assert_int_equal(spec_goodness_chi_square(&fit, counts, probability, 3, 5, 0), GSL_SUCCESS);
    assert_within(fit.statistic, 2, 1e-14);
    assert_within(fit.p, exp(-1), 1e-14);
    assert_true(fit.df == 2 && fit.pooled == 0);
    assert_int_equal(spec_goodness_g(&fit, counts, probability, 3, 5, 0), GSL_SUCCESS);
    assert_within(fit.statistic, g, 1e-13);
    assert_within(fit.p, exp(-g / 2), 1e-13);
    assert_int_equal(fit.df, 2);
    const uint64_t gap[3] = {0, 50, 50}; /* 0 log 0 = 0 */
    assert_int_equal(spec_goodness_g(&fit, gap, probability, 3, 5, 0), GSL_SUCCESS);
    assert_within(fit.statistic, 100 * log(2), 1e-12);
}

/* Each cell has 10^15 counts, except that three are off: chi^2 = 2 9/10^15, where computing with
 * squares would cancel. A single count has information, too. */
TEST(near_fits_do_not_cancel)
{
    const uint64_t near[2] = {1000000000000003, 999999999999997}, single[2] = {1, 3};
    const double even[2] = {0.5, 0.5};
    spec_goodness fit;
    assert_int_equal(spec_goodness_chi_square(&fit, near, even, 2, 5, 0), GSL_SUCCESS);
    assert_within(fit.statistic, 18e-15, 1e-20);
    assert_int_equal(spec_goodness_g(&fit, single, even, 2, 0, 0), GSL_SUCCESS);
    assert_within(fit.statistic, 2 * (log(0.5) + 3 * log(1.5)), 1e-14);
}

TEST(fitted_parameters_cost_degrees_of_freedom)
{
    const uint64_t counts[3] = {20, 30, 50};
    const double probability[3] = {0.25, 0.25, 0.5};
    spec_goodness fit;
    assert_int_equal(spec_goodness_chi_square(&fit, counts, probability, 3, 5, 1), GSL_SUCCESS);
    assert_int_equal(fit.df, 1);
    assert_within(fit.p, erfc(1), 1e-14); /* P(Z^2 >= 2) */
    for (int fitted = 2; fitted < 5; fitted++) {
        assert_int_equal(spec_goodness_chi_square(&fit, counts, probability, 3, 5, fitted),
                         GSL_SUCCESS);
        assert_true(fit.df == 0 && fit.p == 1 && fit.statistic > 1.9);
    }
    assert_int_equal(spec_goodness_chi_square(&fit, counts, probability, 3, 5, -1), GSL_EDOM);
}

TEST(small_cells_become_one_pool)
{
    /* Expected 60, 2, 30, 4, 4: the pool of three expects 10 and has 13. chi^2 = 25/60 + 4/30 +
     * 9/10. */
    const uint64_t counts[5] = {55, 5, 32, 2, 6};
    const double probability[5] = {0.6, 0.02, 0.3, 0.04, 0.04};
    spec_goodness fit;
    assert_int_equal(spec_goodness_chi_square(&fit, counts, probability, 5, 5, 0), GSL_SUCCESS);
    assert_within(fit.statistic, 25.0 / 60 + 4.0 / 30 + 9.0 / 10, 1e-13);
    assert_true(fit.df == 2 && fit.pooled == 3);
    assert_int_equal(spec_goodness_chi_square(&fit, counts, probability, 5, 0, 0), GSL_SUCCESS);
    assert_within(fit.statistic, 25.0 / 60 + 9.0 / 2 + 4.0 / 30 + 4.0 / 4 + 4.0 / 4, 1e-13);
    assert_true(fit.df == 4 && fit.pooled == 0);
}

TEST(a_pool_too_small_takes_in_the_next_smallest_cell)
{
    /* Expected 60, 2, 18, 1, 19: the pool expects 3, takes in 18, and then has 20 against 21. */
    const uint64_t counts[5] = {58, 1, 15, 4, 22};
    const double probability[5] = {0.6, 0.02, 0.18, 0.01, 0.19};
    spec_goodness fit;
    assert_int_equal(spec_goodness_chi_square(&fit, counts, probability, 5, 5, 0), GSL_SUCCESS);
    assert_within(fit.statistic, 4.0 / 60 + 9.0 / 19 + 1.0 / 21, 1e-13);
    assert_true(fit.df == 2 && fit.pooled == 3);
    /* Two cells expect 19: the first of them joins. 4 + 19 expected, 3 + 22 observed. */
    const double tied[4] = {0.58, 0.04, 0.19, 0.19};
    assert_int_equal(
        spec_goodness_chi_square(&fit, (const uint64_t[]){60, 3, 22, 15}, tied, 4, 5, 0),
        GSL_SUCCESS);
    assert_within(fit.statistic, 4.0 / 58 + 4.0 / 23 + 16.0 / 19, 1e-13);
    /* At 3 the pool has exactly enough. */
    const double exact[5] = {0.5, 0.015625, 0.234375, 0.03125,
                             0.21875}; /* of 64: 32, 1, 15, 2, 14 */
    const uint64_t seen[5] = {30, 2, 17, 1, 14};
    assert_int_equal(spec_goodness_chi_square(&fit, seen, exact, 5, 3, 0), GSL_SUCCESS);
    assert_within(fit.statistic, 4.0 / 32 + 0.0 + 4.0 / 15, 1e-13);
    assert_true(fit.df == 3 && fit.pooled == 2);
    /* Of the cells 64, 32, 1, 1, 2, 28, the one that expects exactly the minimum is not pooled. */
    const double least[5] = {0.5, 0.015625, 0.015625, 0.03125, 0.4375};
    assert_int_equal(
        spec_goodness_chi_square(&fit, (const uint64_t[]){30, 3, 2, 5, 24}, least, 5, 2, 0),
        GSL_SUCCESS);
    assert_true(fit.pooled == 2 && fit.df == 3);
    assert_within(fit.statistic, 4.0 / 32 + 9.0 / 2 + 9.0 / 2 + 16.0 / 28, 1e-13);
}

/* For the tables above, and for a law of 300 tokens at many sizes, the number of cells is the same
 * as in the test itself. */
TEST(cells_are_those_of_the_test)
{
    double pooled, law[300], sum = 0;
    const double five[5] = {0.6, 0.02, 0.18, 0.01, 0.19}, gap[3] = {0.25, 0, 0.75};
    assert_int_equal(spec_goodness_cells(&pooled, five, 5, 100, 5),
                     3); /* .02 and .01 take in .18 */
    assert_within(pooled, 0.21, 1e-15);
    assert_int_equal(spec_goodness_cells(&pooled, five, 5, 1000, 5), 5);
    assert_same(pooled, 0);
    assert_int_equal(spec_goodness_cells(&pooled, five, 5, 400, 5), 4); /* .01 alone takes in .02 */
    assert_within(pooled, 0.03, 1e-15);
    assert_int_equal(spec_goodness_cells(&pooled, (const double[]){1}, 1, 3, 5),
                     1); /* a pool of one changes nothing */
    assert_same(pooled, 0);
    assert_int_equal(spec_goodness_cells(&pooled, gap, 3, 100, 5), 2);
    assert_int_equal(spec_goodness_cells(&pooled, five, 5, 0, 5), 1);
    assert_within(pooled, 1, 1e-15);
    for (int i = 0; i < 300; i++) sum += law[i] = pow(i + 1, -1.3);
    for (int i = 0; i < 300; i++) law[i] /= sum;
    for (uint64_t n = 1; n < 1000000; n += n / 2 + 1) {
        uint64_t counts[300] = {n};
        spec_goodness fit;
        double in_pool = 0;
        assert_int_equal(spec_goodness_g(&fit, counts, law, 300, 10, 0), GSL_SUCCESS);
        assert_int_equal(spec_goodness_cells(&pooled, law, 300, (double)n, 10), fit.df + 1);
        for (int i = 0; i < fit.pooled && fit.pooled > 1; i++) in_pool += law[299 - i];
        assert_within(pooled, in_pool, 1e-12);
    }
}

TEST(one_cell_says_nothing)
{
    const uint64_t few[3] = {1, 0, 2}, none[3] = {0, 0, 0};
    const double probability[3] = {0.3, 0.3, 0.4}, certain[1] = {1};
    count_test *const tests[2] = {spec_goodness_chi_square, spec_goodness_g};
    for (int i = 0; i < 2; i++) {
        spec_goodness fit;
        assert_int_equal(tests[i](&fit, few, probability, 3, 5, 0), GSL_SUCCESS);
        assert_true(fit.df == 0 && fit.p == 1 && fit.pooled == 3);
        assert_within(fit.statistic, 0, 1e-15);
        assert_int_equal(tests[i](&fit, none, probability, 3, 5, 0), GSL_SUCCESS);
        assert_true(fit.df == 0 && fit.p == 1 && fit.statistic == 0);
        assert_int_equal(tests[i](&fit, few, certain, 1, 5, 0), GSL_SUCCESS);
        assert_true(fit.df == 0 && fit.p == 1 && fit.statistic == 0);
    }
}

/* A pool of one cell counts as well: 3 observed, 3 (1 - d) expected, chi^2 = 3 d^2 / (1 - d). */
TEST(a_single_small_cell_has_its_term)
{
    const double d = 5e-10;
    spec_goodness fit;
    assert_int_equal(
        spec_goodness_chi_square(&fit, (const uint64_t[]){3}, (const double[]){1 - d}, 1, 5, 0),
        GSL_SUCCESS);
    assert_within(fit.statistic, 3 * d * d, 1e-24);
    assert_true(fit.pooled == 1 && fit.df == 0 && fit.p == 1);
}

TEST(the_impossible_has_p_zero_and_is_no_cell)
{
    const double probability[5] = {0, 0.25, 0.25, 0.5, 0};
    const uint64_t possible[5] = {0, 20, 30, 50, 0}, impossible[5] = {0, 20, 30, 50, 1},
                   only[5] = {1, 0, 0, 0, 0};
    count_test *const tests[2] = {spec_goodness_chi_square, spec_goodness_g};
    for (int i = 0; i < 2; i++) {
        for (double least = 0; least < 6; least += 5) {
            spec_goodness fit;
            assert_int_equal(tests[i](&fit, possible, probability, 5, least, 0), GSL_SUCCESS);
            assert_true(fit.df == 2 && fit.p > 0.3 && fit.p < 0.4 && fit.pooled == 0);
            assert_int_equal(tests[i](&fit, impossible, probability, 5, least, 0), GSL_SUCCESS);
            assert_true(fit.p == 0 && fit.statistic == INFINITY);
            assert_int_equal(tests[i](&fit, only, probability, 5, least, 0), GSL_SUCCESS);
            assert_true(fit.p == 0 && fit.statistic == INFINITY);
        }
        /* A pool that takes in the next smallest cell never takes in an empty one. */
        const double tail[4] = {0.02, 0, 0.18, 0.8};
        const uint64_t seen[4] = {2, 0, 18, 80};
        spec_goodness fit;
        assert_int_equal(tests[i](&fit, seen, tail, 4, 5, 0), GSL_SUCCESS);
        assert_true(fit.pooled == 2 && fit.df == 1);
    }
}

TEST(what_is_no_law_is_refused)
{
    const uint64_t counts[2] = {3, 4};
    static const double laws[][2] = {{0.5, 0.4}, {0.5, 0.6},        {1.5, -0.5},
                                     {NAN, 0.5}, {0.5, 0.5 + 1e-8}, {0.5, 0.5 - 1e-8}};
    spec_goodness fit;
    for (int i = 0; i < 6; i++) {
        fit = (spec_goodness){1, 1, 1, 1, 1};
        assert_int_equal(spec_goodness_chi_square(&fit, counts, laws[i], 2, 5, 0), GSL_EDOM);
        assert_true(fit.statistic == 0 && fit.df == 0 && fit.p == 0 && fit.pooled == 0);
    }
    const double good[2] = {0.5, 0.5 + 1e-10};
    assert_int_equal(spec_goodness_chi_square(&fit, counts, good, 2, 5, 0), GSL_SUCCESS);
    assert_int_equal(spec_goodness_chi_square(&fit, counts, good, 2, -1, 0), GSL_EDOM);
    assert_int_equal(spec_goodness_chi_square(&fit, counts, good, 2, NAN, 0), GSL_EDOM);
}

/* 1000 data sets of 2000 counts from a law whose last cells pool: p-values uniform by KS. With one
 * degree of freedom too many they are not: the mean p moves from .50 to .59, eleven standard
 * errors. A law off by a tenth in its first cell is detected. */
TEST(p_values_are_uniform_under_the_law_and_only_there, STATISTICS)
{
    enum { CELLS = 10, SETS = 1000 };
    static const double probability[CELLS] = {.27, .19, .14, .11, .1, .08, .05, .0577, .0013, .001};
    static const double wrong[CELLS] = {.243, .217, .14, .11, .1, .08, .05, .0577, .0013, .001};
    count_test *const tests[2] = {spec_goodness_chi_square, spec_goodness_g};
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int i = 0; i < 2; i++) {
        static double honest[SETS], generous[SETS];
        int found = 0;
        for (int s = 0; s < SETS; s++) {
            unsigned int drawn[CELLS];
            uint64_t counts[CELLS];
            spec_goodness fit;
            gsl_ran_multinomial(rng, CELLS, 2000, probability, drawn);
            for (int x = 0; x < CELLS; x++) counts[x] = drawn[x];
            assert_int_equal(tests[i](&fit, counts, probability, CELLS, 5, 0), GSL_SUCCESS);
            assert_true(fit.df == 8 - (fit.pooled == 3)); /* 2.6 and 2 are pooled with the next
                                                           * cell */
            honest[s] = fit.p;
            generous[s] = gsl_cdf_chisq_Q(fit.statistic, fit.df + 1);
            assert_int_equal(tests[i](&fit, counts, wrong, CELLS, 5, 0), GSL_SUCCESS);
            found += fit.p < 0.05;
        }
        gsl_sort(honest, 1, SETS);
        gsl_sort(generous, 1, SETS);
        double d, p;
        spec_goodness_ks_uniform(&d, &p, honest, SETS);
        assert_true(p > SPEC_TEST_P);
        spec_goodness_ks_uniform(&d, &p, generous, SETS);
        assert_true(p < SPEC_TEST_P);
        assert_true(found > SETS / 2);
    }
}

/* ---- families and normals -------------------------------------------------------------------- */

TEST(holm_adjusts_a_hand_worked_family)
{
    /* The sorted p-values .005, .01, .03, .04 times 4, 3, 2, 1 give .02, .03, .06, .04, and the
     * last is raised to .06. */
    const double p[4] = {0.01, 0.04, 0.03, 0.005}, wanted[4] = {0.03, 0.06, 0.06, 0.02};
    double adjusted[4], alias[4];
    size_t order[4];
    spec_goodness_holm(adjusted, p, 4, order);
    for (int i = 0; i < 4; i++) assert_within(adjusted[i], wanted[i], 1e-16);
    for (int i = 0; i < 4; i++) alias[i] = p[i];
    spec_goodness_holm(alias, alias, 4, order);
    assert_memory_equal(alias, adjusted, sizeof alias);
}

TEST(holm_knows_ties_ones_and_not_a_number)
{
    double adjusted[3];
    size_t order[3];
    spec_goodness_holm(adjusted, (const double[]){0.2, 0.2, 0.2}, 3, order);
    for (int i = 0; i < 3; i++) assert_within(adjusted[i], 0.6, 1e-15);
    spec_goodness_holm(adjusted, (const double[]){0.9, 0, 0.4}, 3, order);
    assert_within(adjusted[0], 0.9, 1e-15);
    assert_true(adjusted[1] == 0);
    assert_within(adjusted[2], 0.8, 1e-15);
    spec_goodness_holm(adjusted, (const double[]){0.9, 0.7, 0.8}, 3, order);
    assert_true(adjusted[0] == 1 && adjusted[1] == 1 && adjusted[2] == 1);
    spec_goodness_holm(adjusted, (const double[]){0.27}, 1, order);
    assert_true(adjusted[0] == 0.27);
    for (int i = 0; i < 3; i++) {
        double p[3] = {0.1, 0.2, 0.3};
        p[i] = NAN;
        spec_goodness_holm(adjusted, p, 3, order);
        assert_true(isnan(adjusted[0]) && isnan(adjusted[1]) && isnan(adjusted[2]));
    }
    spec_goodness_holm(NULL, NULL, 0, NULL);
}

TEST(normal_p_is_two_sided)
{
    assert_within(spec_goodness_normal_p(1.959963984540054), 0.05, 1e-15);
    assert_within(spec_goodness_normal_p(-1.959963984540054), 0.05, 1e-15);
    assert_true(spec_goodness_normal_p(0) == 1 && spec_goodness_normal_p(INFINITY) == 0 &&
                spec_goodness_normal_p(-INFINITY) == 0);
    assert_true(isnan(spec_goodness_normal_p(NAN)));
}

/* Sixteen cells expect five counts each, in 20,000 tables: the mean of G alone is too large by the
 * factor 1 + 1/(6 df) sum 1/expected. */
TEST(williams_brings_the_mean_of_g_to_that_of_chi_square)
{
    enum { CELLS = 16, N = 80, TABLES = 20000 };
    double law[CELLS], mean = 0, plain = 0;
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int i = 0; i < CELLS; i++) law[i] = 1.0 / CELLS;
    for (int t = 0; t < TABLES; t++) {
        unsigned int drawn[CELLS];
        uint64_t counts[CELLS];
        spec_goodness g;
        gsl_ran_multinomial(rng, CELLS, N, law, drawn);
        for (int i = 0; i < CELLS; i++) counts[i] = drawn[i];
        assert_int_equal(spec_goodness_g(&g, counts, law, CELLS, 5, 0), GSL_SUCCESS);
        assert_near(g.inverse, CELLS / 5.0 - 1.0 / N, 1e-12);
        plain += g.statistic / TABLES;
        mean += spec_goodness_williams(&g) / TABLES;
    }
    /* The standard error is sqrt(30/20,000) = .04; without the correction the mean is too large by
     * .53. */
    assert_within(mean, 15, 0.2);
    assert_true(plain > 15.35);
    assert_nan(spec_goodness_williams(&(spec_goodness){.statistic = 1}));
}

TEST(sums_of_events_have_the_tails_of_their_moments)
{
    static const double chances[] = {0.27, 0.02, 0.94};
    for (int c = 0; c < 3; c++) {
        const unsigned int n = 20000;
        const double chance = chances[c], mean = n * chance, variance = mean * (1 - chance);
        const double third = variance * (1 - 2 * chance);
        for (int z = 1; z <= 6; z++) {
            /* halfway between two counts, both tails are those of the next count outwards */
            const double above = floor(mean + z * sqrt(variance)) + 0.5,
                         below = ceil(mean - z * sqrt(variance)) - 0.5;
            const double tail = gsl_cdf_binomial_Q((unsigned int)(above - 0.5), chance, n);
            const double other = gsl_cdf_binomial_P((unsigned int)(below - 0.5), chance, n);
            assert_near(spec_goodness_sum_p(above - mean, variance, third), 2 * tail,
                        z < 5 ? 0.03 : 0.2);
            assert_near(spec_goodness_sum_p(below - mean, variance, third), 2 * other,
                        z < 5 ? 0.03 : 0.2);
        }
    }
    /* For rare events ten standard deviations have the Poisson tail, where the normal law says
     * 1e-23. */
    const double poisson = gsl_cdf_poisson_Q(25, 5);
    const double p = spec_goodness_sum_p(25.5 - 5, 5, 5);
    assert_true(p > 2 * poisson && p < 2e4 * poisson);
    assert_near(spec_goodness_sum_p(2.385, 1, 0), spec_goodness_normal_p(2.385), 1e-14);
    assert_near(spec_goodness_sum_p(2.385, 1, 1e-3), spec_goodness_normal_p(2.385), 3e-3);
    assert_same(spec_goodness_sum_p(-2.385, 1, 0.27), spec_goodness_sum_p(2.385, 1, -0.27));
    assert_same(spec_goodness_sum_p(0, 1, 0), 1);
    assert_same(spec_goodness_sum_p(3, 0, 0), 1);
    assert_same(spec_goodness_sum_p(1e7, 1, 0.27), 0);
    assert_same(spec_goodness_sum_p(1e7, 1, 1e-3), 0);
    assert_same(spec_goodness_sum_p(-1e7, 1, 0.27), 0);
    assert_nan(spec_goodness_sum_p(1, -1, 0));
}
