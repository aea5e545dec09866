/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/acceptance_drift.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

enum { MOST = 1100 };

/* log |C|, and x' C^-1 y for the first n of both. */
static double inverse_form(const gsl_matrix *cholesky, const double *x, const double *y, size_t n)
{
    double sum = 0.0;
    gsl_vector *solved = gsl_vector_alloc(n);
    for (size_t i = 0; i < n; i++) gsl_vector_set(solved, i, y[i]);
    gsl_linalg_cholesky_svx(cholesky, solved);
    for (size_t i = 0; i < n; i++) sum += x[i] * gsl_vector_get(solved, i);
    gsl_vector_free(solved);
    return sum;
}

/* Returns the log likelihood of n normal angles of covariance sigma^2 C and of `least`, integrated
 * over the level and d sigma / sigma. Omits a constant that depends on n alone. */
static double likelihood(gsl_matrix *covariance, const double *angle, double least, size_t n)
{
    double one[MOST], log_root = 0.0;
    for (size_t i = 0; i < n; i++) one[i] = 1.0;
    gsl_linalg_cholesky_decomp1(covariance);
    for (size_t i = 0; i < n; i++) log_root += log(gsl_matrix_get(covariance, i, i));
    const double constant = inverse_form(covariance, one, one, n),
                 cross = inverse_form(covariance, one, angle, n),
                 square = inverse_form(covariance, angle, angle, n);
    return -log_root - 0.5 * log(constant) -
           0.5 * (double)n * log(square - cross * cross / constant + least);
}

/* Computes the capital with matrices, over the models and steps of
 * docs/formulas/statistics.md#acceptance-drift. */
static double capital_by_matrices(size_t *ret_from, const double *passed, const double *tested,
                                  size_t n, size_t learn)
{
    static const double phi[] = {0.0, 0.2, 0.4, 0.6, 0.75, 0.87, 0.95};
    double angle[MOST], mean = 0.0, shares = 0.0, best = 0.0;
    double capital[MOST];
    size_t places[MOST];
    for (size_t i = 0; i < n; i++) angle[i] = asin(sqrt((passed[i] + 0.375) / (tested[i] + 0.75)));
    for (size_t i = 0; i < learn; i++) mean += tested[i] / (double)learn;
    for (int i = 1; i <= 512; i++) shares += 1.0 / i;
    for (size_t now = learn + 1; now <= n; now++) {
        double largest = -INFINITY, bet = 0.0, likeliest = -INFINITY, scale = 0.0;
        size_t from = n;
        gsl_matrix *c = gsl_matrix_alloc(now, now);
        for (int m = 0; m < 21; m++) {
            double null = 0.0, sum = shares;
            for (size_t j = now; j >= learn; j--) { /* j = now: no step */
                for (size_t a = 0; a < now; a++)
                    for (size_t b = 0; b < now; b++) {
                        const double r = mean / tested[a], s = mean / tested[b];
                        const double v = m % 3 == 0   ? r * s
                                         : m % 3 == 1 ? (1.0 + r) * (1.0 + s) / 4.0
                                                      : 1.0;
                        const double lag = a > b ? (double)(a - b) : (double)(b - a);
                        gsl_matrix_set(c, a, b,
                                       pow(phi[m / 3], lag) * sqrt(v) / (1.0 - pow(phi[m / 3], 2)) +
                                           (a >= j && b >= j ? 4.0 : 0.0));
                    }
                const double got = likelihood(c, angle, 0.25 / mean, now);
                if (j == now) {
                    null = got;
                    continue;
                }
                sum += 1.0 / (double)(j - learn + 1) * expm1(got - null);
                if (got > likeliest) {
                    likeliest = got;
                    from = j;
                }
            }
            if (m == 0) scale = null;
            largest = fmax(largest, null);
            bet += exp(null - scale) * sum / shares / 21.0;
        }
        gsl_matrix_free(c);
        capital[now] = log(bet) + scale - largest;
        places[now] = from;
        const double least =
            now < learn + 3 ? 0.0 : fmin(capital[now], fmin(capital[now - 1], capital[now - 2]));
        if (least > best) {
            best = least;
            *ret_from = places[now];
        }
    }
    return best;
}

TEST(the_capital_is_that_of_the_likelihoods_by_matrices)
{
    enum { N = 26 };
    double passed[N], tested[N];
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int i = 0; i < N; i++) {
        tested[i] = 400.0 + (i * 37) % 300;
        passed[i] = gsl_ran_binomial(rng, i < 14 ? 0.71 : 0.47, (unsigned)tested[i]);
    }
    size_t from = N;
    const double capital = capital_by_matrices(&from, passed, tested, N, 6);
    const spec_acceptance_drift got = spec_acceptance_drift_test(passed, tested, N, 6);
    printf("capital %.3f, from %zu\n", capital, from);
    assert_true(capital > 1.0);
    assert_near(-log(got.p), capital, 1e-9);
    assert_int_equal(got.from, from);
    assert_int_equal(from, 14);
    double before[2] = {0}, after[2] = {0};
    for (int i = 0; i < N; i++) {
        (i < 14 ? before : after)[0] += passed[i];
        (i < 14 ? before : after)[1] += tested[i];
    }
    assert_near(got.before, before[0] / before[1], 1e-14);
    assert_near(got.after, after[0] / after[1], 1e-14);
}

/* Draws windows of `size` trials. With phi > 0 their alphas have the autocorrelation phi^lag and a
 * standard deviation of .05; with phi = 0 they follow a Beta law with the same deviation. From
 * window `at` on alpha is lower by .05. */
static void draw(double *passed, double *tested, size_t n, double size, double phi, int mixed,
                 size_t at, gsl_rng *rng)
{
    double state = gsl_ran_ugaussian(rng);
    for (size_t i = 0; i < n; i++) {
        double alpha = 0.7;
        if (phi > 0.0) {
            state = phi * state + sqrt(1.0 - phi * phi) * gsl_ran_ugaussian(rng);
            alpha += 0.05 * state;
        } else if (mixed) {
            alpha = gsl_ran_beta(rng, 83.0 * 0.7, 83.0 * 0.3);
        }
        tested[i] = mixed ? ceil(size * exp(gsl_ran_ugaussian(rng) - 0.5)) : size;
        passed[i] = gsl_ran_binomial(rng, alpha - (i >= at ? 0.05 : 0.0), (unsigned)tested[i]);
    }
}

/* At a rate of .01, 8 alarms in 40 runs have probability 4e-9. The wrong version, a null without
 * serial correlation, raises an alarm in 90 % of the runs with autocorrelation .8. */
TEST(constant_acceptance_raises_no_alarm, STATISTICS)
{
    const struct {
        double phi;
        int mixed;
    } law[] = {{0.0, 0}, {0.0, 1}, {0.8, 0}};
    const int runs = (int)spec_test_samples(40);
    double passed[MOST], tested[MOST];
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int k = 0; k < 3; k++) {
        int alarms = 0;
        for (int r = 0; r < runs; r++) {
            draw(passed, tested, 60, 1000.0, law[k].phi, law[k].mixed, MOST, rng);
            alarms += spec_acceptance_drift_test(passed, tested, 60, 10).p <= 0.01;
        }
        printf("phi %.1f, mixed %d: %d alarms of %d\n", law[k].phi, law[k].mixed, alarms, runs);
        assert_true(alarms < runs / 5);
    }
}

/* A change of .05 after 50 windows of 1,000 trials is found within 12 windows in 78 % of the runs,
 * and within 40 windows in all 30 runs; the window of the change is found to within 3 (mean error
 * .1). */
TEST(a_change_is_found_and_placed)
{
    const int runs = 30;
    int found = 0, placed = 0;
    double passed[MOST], tested[MOST];
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int r = 0; r < runs; r++) {
        draw(passed, tested, 90, 1000.0, 0.0, 0, 50, rng);
        const spec_acceptance_drift got = spec_acceptance_drift_test(passed, tested, 90, 10);
        found += got.p <= 0.01;
        placed += got.from >= 47 && got.from <= 53;
        if (got.p <= 0.01) {
            assert_within(got.before, 0.7, 0.02);
            assert_within(got.after, 0.65, 0.02);
        }
    }
    printf("found %d, placed %d of %d\n", found, placed, runs);
    assert_true(found >= runs - 2 && placed >= runs - 2);
}

TEST(one_odd_window_is_no_change)
{
    double passed[40], tested[40];
    for (int i = 0; i < 40; i++) {
        tested[i] = 1000.0;
        passed[i] = 700.0 + (i * 29) % 31;
    }
    passed[30] = 100.0;
    assert_true(spec_acceptance_drift_test(passed, tested, 40, 10).p > 0.5);
    assert_true(spec_acceptance_drift_test(passed, tested, 32, 10).p > 0.5); /* two windows */
    for (int i = 31; i < 40; i++) passed[i] -= 200.0;
    assert_true(spec_acceptance_drift_test(passed, tested, 40, 10).p < 1e-3);
}

TEST(few_windows_and_constant_ones_make_no_bet)
{
    double passed[60], tested[60];
    for (int i = 0; i < 60; i++) passed[i] = tested[i] = 50.0;
    spec_acceptance_drift got = spec_acceptance_drift_test(passed, tested, 60, 10);
    assert_true(got.p == 1.0 && got.from == 60 && got.before == 1.0 && isnan(got.after));
    for (int i = 0; i < 60; i++) passed[i] = i < 5 ? 50.0 : 0.0;
    got = spec_acceptance_drift_test(passed, tested, 10, 10);
    assert_true(got.p == 1.0 && got.from == 10 && got.before == 0.5 && isnan(got.after));
    got = spec_acceptance_drift_test(passed, tested, 0, 2);
    assert_true(got.p == 1.0 && got.from == 0 && isnan(got.before) && isnan(got.after));
    const double wrong[] = {-1.0, NAN, 51.0};
    for (int i = 0; i < 3; i++) {
        passed[7] = wrong[i];
        got = spec_acceptance_drift_test(passed, tested, 60, 10);
        assert_true(isnan(got.p) && got.from == 60);
    }
    passed[7] = 1.0;
    tested[7] = INFINITY;
    assert_nan(spec_acceptance_drift_test(passed, tested, 60, 10).p);
}

/* Windows without trials change nothing but the index; 1,100 windows are joined in groups of
 * four. */
TEST(empty_windows_do_not_count_and_many_are_joined)
{
    double passed[MOST], tested[MOST], apart_passed[MOST] = {0}, apart_tested[MOST] = {0};
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    draw(passed, tested, 90, 1000.0, 0.0, 0, 50, rng);
    for (int i = 0; i < 90; i++) {
        apart_passed[2 * i + 1] = passed[i];
        apart_tested[2 * i + 1] = tested[i];
    }
    const spec_acceptance_drift got = spec_acceptance_drift_test(passed, tested, 90, 10),
                                apart =
                                    spec_acceptance_drift_test(apart_passed, apart_tested, 181, 10);
    assert_true(got.p < 0.05 && apart.p == got.p && apart.from == 2 * got.from + 1);
    assert_near(apart.before, got.before, 1e-14);
    draw(passed, tested, MOST, 250.0, 0.0, 0, 600, rng);
    double joined_passed[MOST / 4] = {0}, joined_tested[MOST / 4] = {0};
    for (int i = 0; i < MOST; i++) {
        joined_passed[i / 4] += passed[i];
        joined_tested[i / 4] += tested[i];
    }
    const spec_acceptance_drift many = spec_acceptance_drift_test(passed, tested, MOST, 10),
                                joined = spec_acceptance_drift_test(joined_passed, joined_tested,
                                                                    MOST / 4, 10);
    assert_true(many.p < 1e-6 && many.p == joined.p && many.from == 4 * joined.from);
    assert_within((double)many.from, 600.0, 12.0);
}
