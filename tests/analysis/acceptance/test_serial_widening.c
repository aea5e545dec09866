/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/serial_widening.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>

enum { WINDOWS = 120 };

/* Draws the sum of an autoregressive series, which has this share of the variance, and of
 independent values. */
static void draw(double *value, int n, double phi, double share, gsl_rng *rng)
{
    double level = gsl_ran_ugaussian(rng);
    for (int i = 0; i < n; i++) {
        if (i > 0) level = phi * level + sqrt(1.0 - phi * phi) * gsl_ran_ugaussian(rng);
        value[i] = sqrt(share) * level + sqrt(1.0 - share) * gsl_ran_ugaussian(rng);
    }
}

/* Computes the half-width of Student's interval, and the distance of the mean from its true value,
 * 0. */
static double half_width(double *ret_off, const double *value, int n, double error)
{
    double mean = 0.0, squares = 0.0;
    for (int i = 0; i < n; i++) mean += value[i] / n;
    for (int i = 0; i < n; i++) squares += pow(value[i] - mean, 2.0);
    *ret_off = fabs(mean);
    return gsl_cdf_tdist_Qinv(0.5 * error, n - 1.0) * sqrt(squares / (n - 1.0) / n);
}

/* These numbers come from a second program, which uses dense matrices. */
TEST(dense_matrices_give_the_same_widening)
{
    static const double rising[] = {0.1, 0.3, 0.2, 0.6, 0.5, 0.9, 1.1, 1.0},
                        mixed[] = {0.4, -0.7, 1.2, -0.1, 0.3, -1.1, 0.8, -0.6};
    assert_within(spec_serial_widening(rising, 8, 0.05), 7.5313, 2e-3);
    assert_within(spec_serial_widening(mixed, 8, 0.05), 2.0632, 2e-3);
    assert_within(spec_serial_widening(rising, 8, 0.2), 5.4577, 2e-3);
}

/* Coverage of intervals with a nominal 95 %: at least .93 in each row. The second number is the
 * coverage of Student's interval for independent values. */
TEST(intervals_of_dependent_windows_hold_the_mean)
{
    static const struct {
        int n;
        double phi, share, student; /* at most */
    } known[] = {{12, 0.0, 1.0, 1.0}, {12, 0.8, 1.0, 0.6},   {24, 0.8, 1.0, 0.6},
                 {24, 0.9, 0.5, 0.8}, {60, 0.8, 0.5, 0.8},   {60, 0.95, 1.0, 0.35},
                 {60, 0.5, 1.0, 0.8}, {120, 0.95, 0.5, 0.5}, {120, 0.9, 1.0, 0.45}};
    enum { TRIALS = 400 };
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus2, spec_test_seed());
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int held = 0, student = 0;
        for (int trial = 0; trial < TRIALS; trial++) {
            double value[WINDOWS], off;
            draw(value, known[i].n, known[i].phi, known[i].share, rng);
            const double half = half_width(&off, value, known[i].n, 0.05);
            student += off <= half;
            held += off <= half * spec_serial_widening(value, (size_t)known[i].n, 0.05);
        }
        /* 4 standard errors below .93 */
        assert_true(held >= TRIALS * (0.93 - 4.0 * sqrt(0.93 * 0.07 / TRIALS)));
        assert_true(student <= TRIALS * (known[i].student + 0.05));
    }
}

/* Hundreds of independent windows show that they are independent. */
TEST(many_independent_windows_are_hardly_widened)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus2, spec_test_seed());
    double value[4 * WINDOWS], sum = 0.0;
    for (int trial = 0; trial < 50; trial++) {
        draw(value, 4 * WINDOWS, 0.0, 1.0, rng);
        sum += spec_serial_widening(value, 4 * WINDOWS, 0.05) / 50.0;
    }
    assert_true(sum >= 1.0 && sum < 1.3);
}

TEST(the_widening_has_no_units)
{
    double value[] = {0.1, 0.3, 0.2, 0.6, 0.5, 0.9, 1.1, 1.0};
    const double before = spec_serial_widening(value, 8, 0.05);
    for (int i = 0; i < 8; i++) value[i] = 7.0 - 3.0 * value[i];
    assert_near(spec_serial_widening(value, 8, 0.05), before, 1e-5);
    const double equal[] = {0.2, 0.2, 0.2, 0.2};
    assert_same(spec_serial_widening(equal, 4, 0.05), 1.0);
    assert_same(spec_serial_widening(value, 2, 0.05), 1.0);
    assert_nan(spec_serial_widening(value, 8, 0.0));
    assert_nan(spec_serial_widening(value, 8, 1.0));
}

/* The model of independent values is first. The widening at an error mixes those of the models, and
 * dependent values are likely to be dependent. */
TEST(models_have_weights_and_widenings)
{
    static const double rising[] = {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0},
                        mixed[] = {3.0, 8.0, 1.0, 6.0, 2.0, 7.0, 4.0, 5.0};
    double independent[2];
    for (int i = 0; i < 2; i++) {
        spec_serial_model model[SPEC_SERIAL_MODELS];
        const double *value = i == 0 ? rising : mixed;
        double sum = 0.0, least = INFINITY, most = 0.0;
        spec_serial_widenings(model, value, 8);
        for (int m = 0; m < SPEC_SERIAL_MODELS; m++) {
            sum += model[m].weight;
            least = fmin(least, model[m].widening);
            most = fmax(most, model[m].widening);
        }
        assert_near(sum, 1.0, 1e-12);
        assert_near(model[0].widening, 1.0, 1e-12);
        const double all = spec_serial_widening(value, 8, 0.05);
        assert_true(least < all && all < most);
        independent[i] = model[0].weight;
    }
    assert_true(independent[0] < 0.1 && independent[1] > 0.3);
}
