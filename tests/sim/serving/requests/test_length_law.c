/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/requests/length_law.h"

#include "sim/chance/rng.h"
#include "tests/support/battery.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_integration.h>
#include <gsl/gsl_randist.h>
#include <string.h>

enum { CELLS = 4000 };

static spec_length_law law_of(const char *spec)
{
    spec_length_law law;
    assert_works(spec_length_law_init(&law, spec, 1, &error));
    return law;
}

static double probability_of(const spec_length_law *law, int n)
{
    return spec_length_law_above(law, n - 1) - spec_length_law_above(law, n);
}

/* Counts draws in cells of at least 20 expected counts. If lengths were rounded down, or to the
 * nearest number, the short laws would be off by more than ten standard errors in their first
 * cells. */
TEST(draws_have_the_exact_law, STATISTICS)
{
    static const char *const specs[] = {"lognormal?mean=512&sigma=1",
                                        "lognormal?mean=3.3&sigma=0.7",
                                        "lognormal?mean=40&sigma=1.5&most=5000",
                                        "lognormal?mean=7.4&sigma=0",
                                        "geometric?mean=256",
                                        "geometric?mean=2.7",
                                        "geometric?mean=300&most=1500",
                                        "uniform?low=3&high=200",
                                        "uniform?low=9&high=10"};
    const uint64_t draws = spec_test_samples(200000), seed = spec_test_seed();
    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        const spec_length_law law = law_of(specs[s]);
        int *cell = calloc((size_t)law.most + 1, sizeof *cell), cells = 0;
        uint64_t counts[CELLS] = {0};
        double probability[CELLS] = {0};
        for (int n = 1; n <= law.most; n++) {
            const double above = spec_length_law_above(&law, n);
            cell[n] = cells;
            probability[cells] += probability_of(&law, n);
            if (probability[cells] * (double)draws > 20.0 && above * (double)draws > 20.0) cells++;
            assert_true(cells < CELLS);
        }
        cells++;
        spec_rng_stream(rng, seed, s);
        for (uint64_t i = 0; i < draws; i++) {
            const int n = spec_length_law_draw(&law, rng);
            assert_true(n >= 1 && n <= law.most);
            counts[cell[n]]++;
        }
        const double p = spec_battery_chi_square(counts, probability, (size_t)cells);
        if (spec_battery_rejects(p)) fail_msg("%s: p = %g in %d cells", specs[s], p, cells);
        free(cell);
    }
}

/* If draws are weighted by length, the mean is E[L^2]/E[L], and the mean of 1/L is 1/E[L]. For
 * unweighted draws the first would be too small by 20 standard errors or more. */
TEST(draws_by_length_have_its_moments, STATISTICS)
{
    static const char *const specs[] = {"lognormal?mean=512&sigma=1",
                                        "lognormal?mean=77&sigma=0.3",
                                        "geometric?mean=256",
                                        "geometric?mean=2.7",
                                        "uniform?low=3&high=200",
                                        "uniform?low=9&high=10",
                                        "12",
                                        "lognormal?mean=400&sigma=1.5&most=3000",
                                        "geometric?mean=300&most=400"};
    const uint64_t draws = spec_test_samples(200000), seed = spec_test_seed();
    OWNED_RNG *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        const spec_length_law law = law_of(specs[s]);
        const double mean = spec_length_law_mean(&law);
        double sum[2] = {0}, square[2] = {0};
        const double expected[2] = {spec_length_law_mean_square(&law) / mean, 1.0 / mean};
        spec_rng_stream(rng, seed, s);
        for (uint64_t i = 0; i < draws; i++) {
            const int n = spec_length_law_draw_by_length(&law, rng);
            const double of[2] = {n, 1.0 / n};
            assert_true(n >= law.low && n <= law.most);
            for (int k = 0; k < 2; k++) {
                sum[k] += of[k] - expected[k];
                square[k] += pow(of[k] - expected[k], 2.0);
            }
        }
        for (int k = 0; k < 2; k++)
            assert_true(fabs(sum[k]) <= 1e-9 * (double)draws + 5.0 * sqrt(square[k]));
    }
}

/* The probability of the longest, from the sum of the law; 10 lengths of 16,384 have more than 5
 * %. */
TEST(the_longest_lengths_hold_their_share_of_the_squares)
{
    static const char *const specs[] = {"lognormal?mean=128&sigma=1",
                                        "lognormal?mean=128&sigma=1.5&most=8192",
                                        "lognormal?mean=128&sigma=2&most=16384"};
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        const spec_length_law law = law_of(specs[s]);
        const double all = spec_length_law_mean_square(&law);
        double sum = 0.0;
        int n = law.most + 1;
        while (sum < 0.05 * all) {
            n--;
            sum += (double)n * n * probability_of(&law, n);
        }
        const double chance = spec_length_law_above(&law, n - 1);
        assert_near(spec_length_law_longest(&law, 0.05), chance, 5e-3);
    }
    const spec_length_law even = law_of("lognormal?mean=50&sigma=0"),
                          geometric = law_of("geometric?mean=50");
    assert_true(spec_length_law_longest(&even, 0.05) == 1.0);
    assert_nan(spec_length_law_longest(&geometric, 0.05));
}

/* A second route for the rounded lognormal law: x is rounded to n with probability 1 - |x - n|. */
static double rounds_to(double x, void *parameters)
{
    const double *p = parameters; /* mu, sigma, n */
    const double chance = 1.0 - fabs(x - p[2]);
    return chance > 0.0 ? chance * gsl_ran_lognormal_pdf(x, p[0], p[1]) : 0.0;
}

TEST(the_lognormal_law_is_the_integral_of_its_rounding)
{
    static const char *const specs[] = {"lognormal?mean=9.3&sigma=0.7",
                                        "lognormal?mean=512&sigma=1",
                                        "lognormal?mean=77&sigma=0.27"};
    gsl_integration_workspace *work = gsl_integration_workspace_alloc(1000);
    for (size_t s = 0; s < sizeof specs / sizeof *specs; s++) {
        const spec_length_law law = law_of(specs[s]);
        for (int n = 2; n < 2000; n += 1 + n / 5) {
            double p[] = {law.mu, law.sigma, n}, left, right, off;
            const gsl_function f = {rounds_to, p};
            gsl_integration_qag(&f, n - 1, n, 1e-14, 1e-11, 1000, 6, work, &left, &off);
            gsl_integration_qag(&f, n, n + 1, 1e-14, 1e-11, 1000, 6, work, &right, &off);
            assert_within(probability_of(&law, n), left + right, 1e-12);
        }
    }
    gsl_integration_workspace_free(work);
}

TEST(means_are_those_of_the_law_and_of_the_spec)
{
    static const struct {
        const char *spec;
        double mean, tolerance; /* the spec's mean; its error in lengths within 1..most */
    } cases[] = {{"lognormal?mean=512&sigma=1", 512, 1e-6},
                 {"lognormal?mean=33.25&sigma=0.5", 33.25, 1e-6},
                 {"lognormal?mean=2048&sigma=1.2&most=1048576", 2048, 1e-4},
                 {"lognormal?mean=40&sigma=1.5&most=5000", 40, 0.01},
                 {"geometric?mean=256", 256, 1e-9},
                 {"geometric?mean=1", 1, 1e-12},
                 {"geometric?mean=300&most=1500", 300, 0.01},
                 {"lognormal?mean=512&sigma=1&most=4096", 503, 0.001},
                 {"geometric?mean=100000&most=131072", 73037.6, 1e-6},
                 {"uniform?low=3&high=200", 101.5, 1e-12},
                 {"512", 512, 0.0}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const spec_length_law law = law_of(cases[c].spec);
        double sum = 0.0, square = 0.0;
        for (int n = 0; n < law.most; n++) sum += spec_length_law_above(&law, n);
        for (int n = 1; n <= law.most; n++) square += (double)n * n * probability_of(&law, n);
        assert_near(spec_length_law_mean_square(&law), square, 1e-8);
        assert_near(spec_length_law_mean(&law), sum, 1e-9);
        assert_near(spec_length_law_mean(&law), cases[c].mean, cases[c].tolerance);
        assert_same(spec_length_law_above(&law, -1), 1.0);
        assert_same(spec_length_law_above(&law, law.low - 1), 1.0);
        assert_same(spec_length_law_above(&law, law.most), 0.0);
    }
}

TEST(the_longest_length_has_the_whole_tail)
{
    const spec_length_law law = law_of("geometric?mean=300&most=1500");
    assert_near(probability_of(&law, 1500), pow(1.0 - 1.0 / 300.0, 1499.0), 1e-9);
}

TEST(a_number_is_itself_and_draws_nothing)
{
    spec_length_law law;
    assert_int_equal(spec_length_law_init(&law, "0", 0, NULL), GSL_SUCCESS);
    assert_int_equal(spec_length_law_draw(&law, NULL), 0);
    assert_int_equal(spec_length_law_init(&law, "16777216", 1, NULL), GSL_SUCCESS);
    assert_int_equal(spec_length_law_draw(&law, NULL), SPEC_LENGTH_MAX);
}

TEST(wrong_laws_are_refused)
{
    static const struct {
        const char *spec, *text;
    } cases[] = {
        {"0", "'0' is not a whole number of tokens between 1 and 16777216"},
        {"-5", "'-5' is not a whole number of tokens between 1 and 16777216"},
        {"12.5", "'12.5' is not a whole number of tokens between 1 and 16777216"},
        {"16777217", "'16777217' is not a whole number of tokens between 1 and 16777216"},
        {"99999999999999999999",
         "'99999999999999999999' is not a whole number of tokens between 1 and 16777216"},
        {"nan", "no distribution of lengths is named 'nan'; they are lognormal, geometric and "
                "uniform"},
        {"log-normal", "no distribution of lengths is named 'log-normal'; did you mean "
                       "'lognormal'?"},
        {"lognormal?mean=inf", "lognormal: mean=inf is not a finite number"},
        {"lognormal?mean=1e300", "lognormal: mean=1e300 is not between 1 and 1.67772e+07"},
        {"lognormal?sigma=1000", "lognormal: sigma=1000 is not between 0 and 10"},
        {"lognormal?sigma=-1", "lognormal: sigma=-1 is not between 0 and 10"},
        {"lognormal?median=3", "lognormal has no key 'median'; did you mean 'mean'?"},
        {"lognormal?mean=512&sigma=5",
         "lognormal?mean=512&sigma=5: lengths of 1 to 131072 have mean 63.0352, not 512: give the "
         "largest length, as in most=131072"},
        {"lognormal?mean=1.1&sigma=2",
         "lognormal?mean=1.1&sigma=2: lengths of 1 or more have mean 1.7674, not 1.1: the mean "
         "must be larger"},
        {"lognormal?mean=1.1&sigma=2&most=50",
         "lognormal?mean=1.1&sigma=2&most=50: lengths of 1 or more have mean 1.7674, not 1.1: the "
         "mean must be larger"},
        {"geometric?mean=100000",
         "geometric?mean=100000: lengths of 1 to 131072 have mean 73037.6, not 100000: give the "
         "largest length, as in most=131072"},
        {"geometric?mean=0.5", "geometric: mean=0.5 is not between 1 and 1.67772e+07"},
        {"geometric?sigma=1", "geometric has no key 'sigma'; its keys are mean,most"},
        {"uniform?low=9&high=3", "uniform: low=9 is above high=3"},
        {"uniform?low=0", "uniform: low=0 is not a whole number between 1 and 16777216"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spec_length_law law;
        spec_error error = {""};
        assert_int_not_equal(spec_length_law_init(&law, cases[c].spec, 1, &error), GSL_SUCCESS);
        assert_string_equal(error.text, cases[c].text);
        assert_int_equal(law.kind, SPEC_LENGTH_OF_ROW);
        assert_true(isnan(spec_length_law_mean(&law)) && isnan(spec_length_law_above(&law, 3)));
    }
}
