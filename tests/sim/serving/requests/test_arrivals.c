/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sim/serving/requests/arrivals.h"

#include "sim/chance/rng.h"
#include "tests/support/battery.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>

enum { CELLS = 64, COUNTS = 14 };

static gsl_rng *rng_of(uint64_t stream)
{
    gsl_rng *rng = gsl_rng_alloc(spec_rng_pcg64dxsm);
    spec_rng_stream(rng, spec_test_seed(), stream);
    return rng;
}

static spec_arrivals arrivals_of(const char *spec, double rate)
{
    spec_arrivals arrivals;
    assert_works(spec_arrivals_init(&arrivals, spec, rate, &error));
    return arrivals;
}

/* Counts gaps in cells of equal probability. With the shape cv^2 in place of 1/cv^2, the first cell
 * alone would be off by tens of standard errors. */
TEST(gaps_have_their_law, STATISTICS)
{
    static const struct {
        const char *spec;
        double shape;
    } cases[] = {{"poisson", 1.0}, {"gamma?cv=2", 0.25}, {"gamma?cv=0.6", 1.0 / 0.36}};
    const uint64_t n = spec_test_samples(200000);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const double rate = 3.7;
        const spec_arrivals arrivals = arrivals_of(cases[c].spec, rate);
        uint64_t counts[CELLS] = {0};
        double probability[CELLS];
        OWNED_RNG *rng = rng_of(c);
        for (int i = 0; i < CELLS; i++) probability[i] = 1.0 / CELLS;
        for (uint64_t i = 0; i < n; i++) {
            const double gap = spec_arrivals_gap(&arrivals, rng);
            const double below =
                gsl_cdf_gamma_P(gap, cases[c].shape, 1.0 / (rate * cases[c].shape));
            counts[below < 1.0 ? (int)(below * CELLS) : CELLS - 1]++;
        }
        assert_false(spec_battery_rejects(spec_battery_chi_square(counts, probability, CELLS)));
    }
}

/* Counts of 0 and 1 share a cell, and so do those of COUNTS or more. */
static int cell_of(int n)
{
    return n < 2 ? 0 : n < COUNTS ? n - 1 : COUNTS - 1;
}

/* A second route: the number of arrivals in a second, using every other second so that windows do
 * not touch. Gamma gaps with the same mean fail: with cv 2 the variance is about four times as
 * large. */
TEST(poisson_arrivals_in_a_second_are_poisson, STATISTICS)
{
    const double rate = 6.3;
    const spec_arrivals arrivals = arrivals_of("poisson", rate);
    uint64_t counts[COUNTS] = {0};
    double probability[COUNTS] = {0}, time = 0.0;
    OWNED_RNG *rng = rng_of(7);
    const uint64_t windows = spec_test_samples(30000);
    for (uint64_t w = 0; w < windows; w++) {
        const double begin = 2.0 * (double)w;
        int n = 0;
        while (time < begin) time += spec_arrivals_gap(&arrivals, rng);
        for (; time < begin + 1.0; n++) time += spec_arrivals_gap(&arrivals, rng);
        counts[cell_of(n)]++;
    }
    for (int n = 0; n < 100; n++) probability[cell_of(n)] += gsl_ran_poisson_pdf((unsigned)n, rate);
    assert_false(spec_battery_rejects(spec_battery_chi_square(counts, probability, COUNTS)));
}

TEST(another_rate_scales_the_same_gaps)
{
    static const char *const specs[] = {"poisson", "gamma?cv=3.1", "even"};
    for (int s = 0; s < 3; s++) {
        const spec_arrivals slow = arrivals_of(specs[s], 0.5), fast = arrivals_of(specs[s], 8.0);
        gsl_rng *a = rng_of(3), *b = rng_of(3);
        for (int i = 0; i < 100; i++)
            assert_same(spec_arrivals_gap(&slow, a), 16.0 * spec_arrivals_gap(&fast, b));
        gsl_rng_free(a);
        gsl_rng_free(b);
    }
}

TEST(even_arrivals_have_equal_gaps)
{
    const spec_arrivals arrivals = arrivals_of("even", 4.0);
    for (int i = 0; i < 3; i++) assert_same(spec_arrivals_gap(&arrivals, NULL), 0.25);
}

TEST(without_a_process_all_arrive_at_once)
{
    const spec_arrivals none = {0};
    assert_int_equal(none.kind, SPEC_ARRIVALS_AT_ONCE);
    assert_same(spec_arrivals_gap(&none, NULL), 0.0);
}

TEST(wrong_processes_and_rates_are_refused)
{
    static const struct {
        const char *spec;
        double rate;
        const char *text;
    } cases[] = {
        {"poison", 1.0, "no arrival process is named 'poison'; did you mean 'poisson'?"},
        {"", 1.0, "an empty name"},
        {"gamma?cv=0", 1.0, "gamma: cv=0 is not between 0.001 and 100"},
        {"gamma?cv=nan", 1.0, "gamma: cv=nan is not a finite number"},
        {"gamma?shape=2", 1.0, "gamma has no key 'shape'; its keys are cv"},
        {"even?cv=2", 1.0, "even has no key 'cv'"},
        {"even", 0.0, "a rate of 0 requests/s is not between 1e-09 and 1e+09"},
        {"even", -3.0, "a rate of -3 requests/s is not between 1e-09 and 1e+09"},
        {"even", NAN, "a rate of nan requests/s is not between 1e-09 and 1e+09"},
        {"even", INFINITY, "a rate of inf requests/s is not between 1e-09 and 1e+09"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        spec_arrivals arrivals;
        spec_error error = {""};
        assert_int_not_equal(spec_arrivals_init(&arrivals, cases[c].spec, cases[c].rate, &error),
                             GSL_SUCCESS);
        assert_string_equal(error.text, cases[c].text);
        assert_int_equal(arrivals.kind, SPEC_ARRIVALS_AT_ONCE);
    }
}
