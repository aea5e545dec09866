/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/moment_bounds.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_rng.h>
#include <math.h>

enum { ATOMS = 9, GRID = 500 };

/* Moments 1..n of a law with atoms. */
static void moments_of(double *m, const double *place, const double *weight, int atoms, int n)
{
    for (int j = 1; j <= n; j++) {
        m[j - 1] = 0.0;
        for (int i = 0; i < atoms; i++) m[j - 1] += weight[i] * pow(place[i], j);
    }
}

static double tail(double x, int from, int to)
{
    double sum = 0.0;
    for (int j = from; j <= to; j++) sum += pow(x, j);
    return sum;
}

static void assert_bounds(const double *m, int K, int K_other, double low, double high,
                          double tolerance)
{
    int used = -1;
    const spec_bounds bounds = spec_moment_bounds_mixture(&used, m, K, K_other);
    assert_int_equal(used, K);
    assert_within(bounds.low, low, tolerance);
    assert_within(bounds.high, high, tolerance);
}

/* llama.cpp's pull request 24536: 87 rounds at K = 3, of which 70 55 42 accepted each depth. */
TEST(a_log_of_llama_cpp_has_these_bounds)
{
    const double m[] = {70.0 / 87.0, 55.0 / 87.0, 42.0 / 87.0};
    const double run = 1.0 + 167.0 / 87.0;
    for (int K = 0; K <= 3; K++) {
        double tokens = 1.0;
        for (int j = 0; j < K; j++) tokens += m[j];
        const spec_bounds same = spec_moment_bounds_free(m, 3, K);
        assert_same(same.low, same.high);
        assert_near(same.low, tokens, 1e-15);
        assert_same(spec_moment_bounds_mixture(NULL, m, 3, K).high, same.low);
        assert_same(spec_moment_bounds_mixture(NULL, m, 3, K).low, same.low);
        assert_same(spec_moment_bounds_constant(m, 3, K), same.low);
    }
    const spec_bounds four = spec_moment_bounds_free(m, 3, 4),
                      six = spec_moment_bounds_free(m, 3, 6);
    assert_prints(four.low, 2, "2.92");
    assert_prints(four.high, 2, "3.40");
    assert_prints(six.low, 2, "2.92");
    assert_prints(six.high, 2, "4.37");
    const double ratio = 42.0 / 55.0;
    assert_near(spec_moment_bounds_constant(m, 3, 4), run + 42.0 / 87.0 * ratio, 1e-15);
    assert_near(spec_moment_bounds_constant(m, 3, 6),
                run + 42.0 / 87.0 * (ratio + ratio * ratio + ratio * ratio * ratio), 1e-15);
    /* m_2/m_1 = .786 falls to .764 = m_3/m_2: no law has the third moment. */
    int used = -1;
    const spec_bounds mixture = spec_moment_bounds_mixture(&used, m, 3, 4);
    assert_int_equal(used, 1);
    assert_true(mixture.low >= run && mixture.low <= mixture.high && mixture.high <= four.high);
}

/* The closed form of m_3 from two moments, and of m_2 from one. */
TEST(closed_forms_of_the_next_moment_are_met)
{
    const double places[] = {0.03, 0.27, 0.61, 0.98};
    for (int a = 0; a < 4; a++)
        for (int b = a + 1; b < 4; b++)
            for (double weight = 0.07; weight < 1.0; weight += 0.31) {
                const double place[] = {places[a], places[b], 0.5};
                const double weights[] = {weight * 0.8, (1.0 - weight) * 0.8, 0.2};
                double m[2];
                moments_of(m, place, weights, 3, 2);
                const double run = 1.0 + m[0] + m[1], gap = m[0] - m[1];
                assert_bounds(m, 2, 3, run + m[1] * m[1] / m[0],
                              run + m[1] - gap * gap / (1.0 - m[0]), 1e-14);
                assert_bounds(m, 1, 2, 1.0 + m[0] + m[0] * m[0], 1.0 + 2.0 * m[0], 1e-14);
                /* One moment: between one alpha, and alphas 0 and 1. */
                assert_bounds(m, 1, 7, 1.0 + tail(m[0], 1, 7), 1.0 + 7.0 * m[0], 1e-13);
            }
}

/* Given 2k - 1 moments of the uniform law the least is attained by Gauss's rule with k points, the
 * most by Lobatto's with k + 1; given 2k by Radau's with the end 0 or 1. */
TEST(quadrature_of_the_uniform_law_has_the_bounds)
{
    double m[8];
    for (int j = 1; j <= 8; j++) m[j - 1] = 1.0 / (j + 1);
    double run[9] = {1.0};
    for (int j = 1; j <= 8; j++) run[j] = run[j - 1] + m[j - 1];

    /* Nodes on [-1,1]: Abramowitz and Stegun, tables 25.4 and 25.6. */
    const double gauss[] = {-0.861136311594053, -0.339981043584856, 0.339981043584856,
                            0.861136311594053};
    const double gauss_weight[] = {0.347854845137454, 0.652145154862546, 0.652145154862546,
                                   0.347854845137454};
    const double inner = sqrt(3.0 / 7.0), lobatto[] = {-1.0, -inner, 0.0, inner, 1.0};
    const double lobatto_weight[] = {0.1, 49.0 / 90.0, 32.0 / 45.0, 49.0 / 90.0, 0.1};
    for (int K_other = 8; K_other <= 64; K_other += 7) {
        double low = run[7], high = run[7];
        for (int i = 0; i < 4; i++)
            low += gauss_weight[i] / 2.0 * tail((1.0 + gauss[i]) / 2.0, 8, K_other);
        for (int i = 0; i < 5; i++)
            high += lobatto_weight[i] / 2.0 * tail((1.0 + lobatto[i]) / 2.0, 8, K_other);
        assert_bounds(m, 7, K_other, low, high, 1e-11);
    }
    /* Radau's rule with three points: -1 and (1 -+ sqrt(6))/5, weights 2/9 and (16 +- sqrt(6))/18.
     */
    for (int K_other = 5; K_other <= 40; K_other += 5) {
        double low = run[4], high = run[4];
        for (int sign = -1; sign <= 1; sign += 2) {
            const double x = (1.0 + sign * sqrt(6.0)) / 5.0,
                         weight = (16.0 - sign * sqrt(6.0)) / 18.0;
            low += weight / 2.0 * tail((1.0 + x) / 2.0, 5, K_other);
            high += weight / 2.0 * tail((1.0 - x) / 2.0, 5, K_other);
        }
        high += 1.0 / 9.0 * tail(1.0, 5, K_other);
        assert_bounds(m, 4, K_other, low, high, 1e-12);
    }
    /* Eight moments: the range of m_9 is the product of p (1 - p), p_2k = k/(2k + 1), else 1/2. */
    double range = 1.0;
    for (int i = 1; i <= 8; i++) {
        const double p = i % 2 == 0 ? i / 2 / (i + 1.0) : 0.5;
        range *= p * (1.0 - p);
    }
    const spec_bounds nine = spec_moment_bounds_mixture(NULL, m, 8, 9);
    assert_near(nine.high - nine.low, range, 1e-8);
    assert_true(nine.low < run[8] + 0.1 && run[8] + 0.1 < nine.high);
}

/* ---- linear programming ---------------------------------------------------------------------- */

/* Solves `matrix` x = x, (n, n), by elimination with pivots. */
static void solve(long double *x, long double matrix[ATOMS][ATOMS], int n)
{
    for (int c = 0; c < n; c++) {
        int pivot = c;
        for (int r = c + 1; r < n; r++)
            if (fabsl(matrix[r][c]) > fabsl(matrix[pivot][c])) pivot = r;
        for (int k = 0; k < n; k++) {
            const long double swap = matrix[c][k];
            matrix[c][k] = matrix[pivot][k];
            matrix[pivot][k] = swap;
        }
        const long double swap = x[c];
        x[c] = x[pivot];
        x[pivot] = swap;
        for (int r = 0; r < n; r++) {
            if (r == c) continue;
            const long double factor = matrix[r][c] / matrix[c][c];
            for (int k = c; k < n; k++) matrix[r][k] -= factor * matrix[c][k];
            x[r] -= factor * x[c];
        }
    }
    for (int c = 0; c < n; c++) x[c] /= matrix[c][c];
}

static long double grid(int i)
{
    return (long double)i / GRID;
}

/* The largest mean of sign (x^(K+1) + .. + x^K_other) over laws on the grid that have the K moments
 * of the law with weights `weight` at the places `basis`: the simplex method from there. */
static double simplex(const int *start, const double *start_weight, int K, int K_other, double sign)
{
    const int n = K + 1;
    int basis[ATOMS];
    long double weight[ATOMS];
    for (int i = 0; i < n; i++) {
        basis[i] = start[i];
        weight[i] = start_weight[i];
    }
    for (int pivots = 0; pivots < 1000; pivots++) {
        long double matrix[ATOMS][ATOMS], price[ATOMS], move[ATOMS];
        for (int i = 0; i < n; i++) {
            price[i] = sign * tail((double)grid(basis[i]), K + 1, K_other);
            for (int j = 0; j < n; j++) matrix[i][j] = powl(grid(basis[i]), j);
        }
        solve(price, matrix, n);
        int enters = -1;
        long double best = 1e-15L;
        for (int g = 0; g <= GRID; g++) {
            long double gain = sign * tail((double)grid(g), K + 1, K_other);
            for (int j = n - 1; j >= 0; j--) gain -= price[j] * powl(grid(g), j);
            if (gain > best) best = gain, enters = g;
        }
        if (enters < 0) break;
        for (int i = 0; i < n; i++) {
            move[i] = powl(grid(enters), i);
            for (int j = 0; j < n; j++) matrix[i][j] = powl(grid(basis[j]), i);
        }
        solve(move, matrix, n);
        int leaves = -1;
        for (int i = 0; i < n; i++)
            if (move[i] > 1e-14L &&
                (leaves < 0 || weight[i] * move[leaves] < weight[leaves] * move[i]))
                leaves = i;
        assert_true(leaves >= 0);
        const long double step = weight[leaves] / move[leaves];
        for (int i = 0; i < n; i++) weight[i] -= step * move[i];
        weight[leaves] = step;
        basis[leaves] = enters;
    }
    long double sum = 0.0L;
    for (int i = 0; i < n; i++) sum += weight[i] * tail((double)grid(basis[i]), K + 1, K_other);
    return (double)sum;
}

/* The best law on the grid attains the bounds up to the square of the grid's step. */
TEST(linear_programming_finds_the_same_bounds)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus2, spec_test_seed());
    for (int trial = 0; trial < 40; trial++) {
        const int K = 1 + trial % 6, K_other = K + 1 + trial % 4, n = K + 1;
        int basis[ATOMS];
        double place[ATOMS], weight[ATOMS], total = 0.0, m[ATOMS];
        for (int i = 0; i < n; i++) { /* apart, so that the moments have room */
            basis[i] = (int)((i + 0.9 * gsl_rng_uniform(rng)) * GRID / n);
            place[i] = (double)grid(basis[i]);
            total += weight[i] = 0.1 + gsl_rng_uniform(rng);
        }
        for (int i = 0; i < n; i++) weight[i] /= total;
        moments_of(m, place, weight, n, K);
        int used = -1;
        const spec_bounds bounds = spec_moment_bounds_mixture(&used, m, K, K_other);
        assert_int_equal(used, K);
        const double run = spec_moment_bounds_free(m, K, K).low,
                     low = run + simplex(basis, weight, K, K_other, -1.0),
                     high = run + simplex(basis, weight, K, K_other, 1.0);
        assert_within(bounds.low, low, 2e-5 * K_other);
        assert_within(bounds.high, high, 2e-5 * K_other);
        assert_true(low > bounds.low - 1e-11 && high < bounds.high + 1e-11);
    }
}

/* ---- edges ----------------------------------------------------------------------------------- */

TEST(every_law_lies_within_the_bounds_of_its_moments)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_taus2, spec_test_seed());
    for (int trial = 0; trial < 3000; trial++) {
        const int atoms = 1 + (int)gsl_rng_uniform_int(rng, ATOMS), K = 1 + trial % 10,
                  K_other = 12 + trial % 50;
        double place[ATOMS], weight[ATOMS], total = 0.0, m[70];
        for (int i = 0; i < atoms; i++) {
            place[i] = fmin(1.0, fmax(0.0, 1.2 * gsl_rng_uniform(rng) - 0.1));
            total += weight[i] = gsl_rng_uniform_pos(rng);
        }
        for (int i = 0; i < atoms; i++) weight[i] /= total;
        moments_of(m, place, weight, atoms, K_other);
        for (int j = 0; j < K_other; j++) m[j] = fmin(m[j], 1.0);
        int used = -1;
        const spec_bounds bounds = spec_moment_bounds_mixture(&used, m, K, K_other),
                          free = spec_moment_bounds_free(m, K, K_other);
        const double tokens = spec_moment_bounds_free(m, K_other, K_other).low;
        assert_int_equal(used, K < 8 ? K : 8);
        assert_true(bounds.low <= bounds.high);
        assert_true(bounds.low <= tokens + 1e-4 && tokens - 1e-4 <= bounds.high);
        assert_true(free.low <= bounds.low + 1e-12 && bounds.high <= free.high + 1e-12);
        if (K >= 2 * atoms && atoms <= 3) assert_within(bounds.low, bounds.high, 1e-4);
    }
}

TEST(one_alpha_leaves_nothing_open)
{
    const double alphas[] = {0.0, 0.27, 0.8, 1.0};
    for (int a = 0; a < 4; a++)
        for (int K = 1; K <= 8; K++) {
            double m[8];
            for (int j = 0; j < K; j++) m[j] = pow(alphas[a], j + 1);
            const double tokens = 1.0 + tail(alphas[a], 1, 20);
            if (K >= 2 || alphas[a] == 0.0 || alphas[a] == 1.0)
                assert_bounds(m, K, 20, tokens, tokens, 1e-10);
            assert_near(spec_moment_bounds_constant(m, K, 20), tokens, 1e-13);
        }
    /* Alphas 0 and 1: every moment is the weight of 1. */
    const double extremes[] = {0.3, 0.3, 0.3};
    assert_bounds(extremes, 3, 9, 1.0 + 9 * 0.3, 1.0 + 9 * 0.3, 1e-14);
}

TEST(moments_without_a_law_are_cut)
{
    int used = -1;
    /* m_2 < m_1^2: decay by depth. m_1 alone asks for m_3 >= .729, and m_3 <= m_2. */
    const double decay[] = {0.9, 0.5};
    spec_bounds bounds = spec_moment_bounds_mixture(&used, decay, 2, 3);
    assert_int_equal(used, 1);
    assert_near(bounds.low, 2.4 + 0.5, 1e-15);
    assert_near(bounds.high, 2.4 + 0.5, 1e-15);
    const double noise[] = {0.9, 0.805};
    bounds = spec_moment_bounds_mixture(&used, noise, 2, 3);
    assert_int_equal(used, 1);
    assert_near(bounds.low, 2.705 + 0.729, 1e-15);
    assert_near(bounds.high, 2.705 + 0.805, 1e-15);
    /* A third moment above its range [.6^2/.7, .6 - .1^2/.3]. */
    const double third[] = {0.7, 0.6, 0.57};
    bounds = spec_moment_bounds_mixture(&used, third, 3, 4);
    assert_int_equal(used, 2);
    /* Not a moment of a law after one that determined it. */
    const double after[] = {0.5, 0.25, 0.2};
    spec_moment_bounds_mixture(&used, after, 3, 4);
    assert_int_equal(used, 2);
    /* m_1 above 1 does not count as a share. */
    const double rising[] = {0.3, 0.4};
    bounds = spec_moment_bounds_mixture(&used, rising, 2, 4);
    assert_int_equal(used, 1);
    assert_true(bounds.low <= bounds.high);
}

TEST(values_outside_the_domain_have_no_bounds)
{
    const double good[] = {0.7, 0.5}, bad[3][2] = {{1.1, 0.5}, {0.7, -0.1}, {NAN, 0.5}};
    int used = 7;
    for (int i = 0; i < 3; i++) {
        assert_nan(spec_moment_bounds_free(bad[i], 2, 4).low);
        assert_nan(spec_moment_bounds_free(bad[i], 2, 4).high);
        assert_nan(spec_moment_bounds_mixture(&used, bad[i], 2, 4).low);
        assert_int_equal(used, 0);
        assert_nan(spec_moment_bounds_constant(bad[i], 2, 4));
    }
    assert_nan(spec_moment_bounds_free(good, -1, 4).low);
    assert_nan(spec_moment_bounds_free(good, 2, -1).low);
    /* Nothing was run: every draft token may be accepted, or none. */
    const spec_bounds none = spec_moment_bounds_mixture(&used, NULL, 0, 4);
    assert_same(none.low, 1.0);
    assert_same(none.high, 5.0);
    assert_int_equal(used, 0);
    assert_same(spec_moment_bounds_constant(NULL, 0, 0), 1.0);
    assert_nan(spec_moment_bounds_constant(NULL, 0, 1));
    const double zero[] = {0.7, 0.0};
    assert_near(spec_moment_bounds_constant(zero, 2, 9), 1.7, 1e-15);
    const double zeros[] = {0.0, 0.0};
    assert_same(spec_moment_bounds_constant(zeros, 2, 9), 1.0);
}
