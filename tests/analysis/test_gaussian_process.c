/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the posterior and the likelihood against an explicit inverse and a determinant by
 * elimination, and the expected improvement against quadrature. */
#include "analysis/gaussian_process.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_integration.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

enum { N = 14, D = 6 };

typedef struct {
    unsigned char x[N][D];
    double y[N];
} data;

static double distance(const unsigned char *a, const unsigned char *b)
{
    double sum = 0.0;
    for (int i = 0; i < D; i++) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

/* The vectors are distinct: the bits of 5 i + 3. The values are a linear function plus a product
 * and noise. */
static void make_data(data *to)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus2, spec_test_seed());
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < D; k++) to->x[i][k] = (unsigned char)((5 * i + 3) % 64 >> k & 1);
        to->y[i] = 0.7 + 0.21 * to->x[i][0] - 0.13 * to->x[i][2] + 0.4 * to->x[i][3] * to->x[i][5] +
                   gsl_ran_gaussian(rng, 0.01);
    }
}

/* C^-1 by Gauss-Jordan; returns log det(C), of a matrix with positive pivots. */
static double invert(double inverse[N][N], const data *of, double scale, double noise)
{
    double a[N][N], log_det = 0.0;
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i][j] = exp(-distance(of->x[i], of->x[j]) / scale) + (i == j ? noise : 0.0);
            inverse[i][j] = i == j;
        }
    for (int k = 0; k < N; k++) {
        const double pivot = a[k][k];
        log_det += log(pivot);
        for (int j = 0; j < N; j++) {
            a[k][j] /= pivot;
            inverse[k][j] /= pivot;
        }
        for (int i = 0; i < N; i++) {
            const double factor = a[i][k];
            for (int j = 0; j < N && i != k; j++) {
                a[i][j] -= factor * a[k][j];
                inverse[i][j] -= factor * inverse[k][j];
            }
        }
    }
    return log_det;
}

/* Returns the log density of y for any mean and variance. */
static double log_density(const data *of, double mean, double variance, double scale, double noise)
{
    double inverse[N][N], form = 0.0;
    const double log_det = invert(inverse, of, scale, noise);
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            form += (of->y[i] - mean) * inverse[i][j] * (of->y[j] - mean) / variance;
    return -0.5 * (form + log_det + N * log(2.0 * M_PI * variance));
}

TEST(the_fit_maximises_the_likelihood)
{
    data of;
    OWNED(spec_gaussian_process) p = {0};
    make_data(&of);
    assert_int_equal(spec_gaussian_process_fit(&p, of.x[0], of.y, N, D), GSL_SUCCESS);
    const double most = log_density(&of, p.mean, p.variance, p.scale, p.noise);
    assert_within(p.log_likelihood, most, 1e-9);
    for (int side = -1; side <= 1; side += 2) {
        assert_true(log_density(&of, p.mean + side * 0.01, p.variance, p.scale, p.noise) < most);
        assert_true(log_density(&of, p.mean, p.variance * (1 + side * 0.05), p.scale, p.noise) <
                    most);
        assert_true(log_density(&of, p.mean, p.variance, p.scale * pow(2.0, side), p.noise) < most);
    }
}

TEST(the_posterior_is_that_of_the_explicit_inverse)
{
    data of;
    OWNED(spec_gaussian_process) p = {0};
    double inverse[N][N];
    make_data(&of);
    assert_int_equal(spec_gaussian_process_fit(&p, of.x[0], of.y, N, D), GSL_SUCCESS);
    invert(inverse, &of, p.scale, p.noise);
    for (int point = 0; point < 64; point++) {
        unsigned char x[D];
        double r[N], mean, sd, wanted = p.mean, explained = 0.0;
        for (int k = 0; k < D; k++) x[k] = (unsigned char)(point >> k & 1);
        for (int i = 0; i < N; i++) r[i] = exp(-distance(x, of.x[i]) / p.scale);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                wanted += r[i] * inverse[i][j] * (of.y[j] - p.mean);
                explained += r[i] * inverse[i][j] * r[j];
            }
        spec_gaussian_process_predict(&mean, &sd, &p, x);
        assert_within(mean, wanted, 1e-9);
        assert_within(sd * sd, p.variance * fmax(0.0, 1.0 - explained), 1e-9);
    }
}

/* Where a value is known, little is left to learn; far from all values, the mean is the process's.
 */
TEST(known_values_are_nearly_certain)
{
    data of;
    OWNED(spec_gaussian_process) p = {0};
    make_data(&of);
    assert_int_equal(spec_gaussian_process_fit(&p, of.x[0], of.y, N, D), GSL_SUCCESS);
    for (int i = 0; i < N; i++) {
        double mean, sd;
        spec_gaussian_process_predict(&mean, &sd, &p, of.x[i]);
        assert_true(sd <= sqrt(p.variance * p.noise) + 1e-12);
        assert_true(fabs(mean - of.y[i]) < 10.0 * sqrt(p.variance * p.noise));
    }
}

TEST(equal_values_leave_no_doubt)
{
    static const unsigned char x[3][2] = {{0, 0}, {0, 1}, {1, 1}}, other[2] = {1, 0};
    static const double y[] = {0.27, 0.27, 0.27};
    OWNED(spec_gaussian_process) p = {0};
    double mean, sd;
    for (int n = 1; n <= 3; n++) {
        assert_int_equal(spec_gaussian_process_fit(&p, x[0], y, n, 2), GSL_SUCCESS);
        spec_gaussian_process_predict(&mean, &sd, &p, other);
        assert_within(mean, 0.27, 1e-12);
        assert_true(sd == 0.0);
    }
}

typedef struct {
    double mean, sd, best;
} gain;

static double integrand(double y, void *of)
{
    const gain *g = of;
    return (y - g->best) * gsl_ran_gaussian_pdf(y - g->mean, g->sd);
}

TEST(the_expected_improvement_is_its_integral)
{
    static const double means[] = {0.4, 0.93, 1.7}, sds[] = {0.02, 0.31, 2.0};
    gsl_integration_workspace *room = gsl_integration_workspace_alloc(1000);
    for (int i = 0; i < 9; i++) {
        gain g = {means[i % 3], sds[i / 3], 0.87};
        gsl_function f = {integrand, &g};
        double wanted, error;
        const double to = fmax(g.best, g.mean) + 12.0 * g.sd;
        gsl_integration_qag(&f, g.best, to, 1e-14, 1e-12, 1000, GSL_INTEG_GAUSS61, room, &wanted,
                            &error);
        assert_within(spec_gaussian_process_improvement(g.mean, g.sd, g.best), wanted, 1e-11);
    }
    gsl_integration_workspace_free(room);
    assert_true(spec_gaussian_process_improvement(0.5, 0.0, 0.3) == 0.5 - 0.3);
    assert_true(spec_gaussian_process_improvement(0.2, 0.0, 0.3) == 0.0);
}

static int set_up(void **state)
{
    (void)state;
    gsl_set_error_handler_off();
    return 0;
}

SUITE(.setup = set_up);
