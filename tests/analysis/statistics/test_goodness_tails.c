/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The error of the p-values of counts against exact tails, at false-alarm levels: the figures of
 * docs/conformance.md#statistics. Each tail comes from another route: enumeration of a table, or
 * inversion of the transform of its law. */
#include "analysis/statistics/goodness.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <complex.h>
#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <stdbool.h>
#include <stdlib.h>

/* ---- tables of two cells --------------------------------------------------------------------- */

typedef struct {
    double p, chance;
} outcome;

static int by_p(const void *a, const void *b)
{
    const double x = ((const outcome *)a)->p, y = ((const outcome *)b)->p;
    return (x > y) - (x < y);
}

/* Returns the largest P(p-value <= x) / x over those x in [least, most] that a p-value can take. */
static double largest_ratio(outcome *of, int n, double least, double most)
{
    double sum = 0, worst = 0;
    qsort(of, (size_t)n, sizeof *of, by_p);
    for (int i = 0; i < n && of[i].p <= most; i++) {
        sum += of[i].chance;
        if (of[i].p >= least && (i + 1 == n || of[i + 1].p > of[i].p * (1 + 1e-9)))
            worst = fmax(worst, sum / of[i].p);
    }
    return worst;
}

enum { OUTCOMES = 4000 };

/* Does it for n draws and G as validate computes it, with Williams' correction and chi-square's
 * tail. Counts beyond 20 standard deviations are left out. */
static double two_cells(int n, double chance, double least, double most)
{
    static outcome of[OUTCOMES];
    const double mean = n * chance, reach = 20 * sqrt(mean) + 80, law[2] = {chance, 1 - chance};
    int size = 0;
    for (int k = (int)fmax(0, mean - reach); k <= n && k < mean + reach; k++) {
        const uint64_t counts[2] = {(uint64_t)k, (uint64_t)(n - k)};
        spec_goodness g;
        assert_int_equal(spec_goodness_g(&g, counts, law, 2, 10, 0), GSL_SUCCESS);
        assert_true(size < OUTCOMES && g.df == 1);
        of[size++] = (outcome){gsl_cdf_chisq_Q(spec_goodness_williams(&g), 1),
                               gsl_ran_binomial_pdf((unsigned)k, chance, (unsigned)n)};
    }
    return largest_ratio(of, size, least, most);
}

TEST(tables_of_two_cells_have_up_to_fourteen_times_the_tail)
{
    assert_within(two_cells(100000, 1e-4, 1e-5, 1e-4), 4.68, 0.01);
    assert_within(two_cells(100, 0.2, 1e-9, 1e-8), 3.10, 0.01);
    double worst = 0;
    for (int expected = 10; expected <= 26; expected++)
        for (int times = 2; times <= 2000; times = times < 4 ? times + 1 : times * 5)
            for (int odd = 0; odd < 2; odd++) {
                const int n = times * expected + odd;
                worst = fmax(worst, two_cells(n, 1.0 / times, 1e-13, 1e-3));
            }
    assert_true(worst > 11 && worst < 14);
}

/* ---- tables of many cells -------------------------------------------------------------------- */

/* A cell that expects `expected` counts: its count is Poisson, and adds g to G. Given that all
 * counts sum to their mean, m such cells are the multinomial table. */
enum { COUNTS = 160 };
typedef struct {
    double expected, x;          /* G/m */
    double log_chance[COUNTS], g[COUNTS];
} cell;

/* log E[exp(s g + u count)]. */
static double complex transform(const cell *c, double complex s, double complex u)
{
    double complex sum = 0;
    for (int k = 0; k < COUNTS; k++) sum += cexp(c->log_chance[k] + s * c->g[k] + u * k);
    return clog(sum);
}

/* Finds the saddle point, where the tilted mean of g is x and that of the count is `expected`.
 * Also returns the inverse curvatures there. */
static void find_saddle(double *s, double *u, double *ret_ss, double *ret_uu, const cell *c)
{
    *s = 1e-3;
    *u = 0;
    for (int turn = 0; turn < 200; turn++) {
        double w = 0, g = 0, n = 0, gg = 0, gn = 0, nn = 0;
        for (int k = 0; k < COUNTS; k++) {
            const double weight = exp(c->log_chance[k] + *s * c->g[k] + *u * k);
            w += weight;
            g += weight * c->g[k];
            n += weight * k;
            gg += weight * c->g[k] * c->g[k];
            gn += weight * c->g[k] * k;
            nn += weight * k * k;
        }
        g /= w, n /= w, gg = gg / w - g * g, gn = gn / w - g * n, nn = nn / w - n * n;
        const double off[2] = {c->x - g, c->expected - n}, determinant = gg * nn - gn * gn;
        *ret_ss = nn / determinant;
        *ret_uu = gg / determinant;
        *s += fmax(-0.02, fmin(0.02, (nn * off[0] - gn * off[1]) / determinant));
        *u += fmax(-0.02, fmin(0.02, (gg * off[1] - gn * off[0]) / determinant));
    }
}

/* Returns P(G >= x given the total) of m cells, divided by the level at which chi-square has x. It
 * inverts the transform along lines through the saddle point. */
static double many_cells(int m, double expected, double level, int points)
{
    cell c = {.expected = expected};
    const double n = m * expected, williams = 1 + (m / expected - 1 / n) / (6.0 * (m - 1)),
                 x = gsl_cdf_chisq_Qinv(level, m - 1) * williams;
    double s, u, ss, uu, sum = 0;
    c.x = x / m;
    for (int k = 0; k < COUNTS; k++) {
        c.log_chance[k] = k * log(expected) - expected - lgamma(k + 1.0);
        c.g[k] = 2 * (k > 0 ? k * log(k / expected) - k + expected : expected);
    }
    find_saddle(&s, &u, &ss, &uu, &c);
    assert_true(s > 0);
    const double wide_s = 8 * sqrt(ss / m), wide_u = 8 * sqrt(uu / m), step_s = wide_s / points,
                 step_u = wide_u / points;
    for (int i = -points; i <= points; i++)
        for (int j = 0; j <= points; j++) { /* the other half is its conjugate, at -i */
            const double complex at_s = s + I * (i * step_s), at_u = u + I * (j * step_u);
            const double complex value =
                cexp(m * transform(&c, at_s, at_u) - at_s * x - at_u * n) / at_s;
            sum += (j == 0 ? 1 : 2) * creal(value);
        }
    const double joint = sum * step_s * step_u / (4 * M_PI * M_PI);
    return joint / exp(n * log(n) - n - lgamma(n + 1)) / level;
}

TEST(tables_of_many_cells_have_twice_the_tail_and_more_of_very_many)
{
    /* The terms are too small to matter: the sum has converged. */
    assert_within(many_cells(4096, 20, 1e-9, 24), many_cells(4096, 20, 1e-9, 40), 1e-6);
    /* For large expected counts the law is chi-square. */
    assert_within(many_cells(64, 90, 1e-5, 24), 1, 0.01);
    /* The largest table of a run with the default budget. */
    assert_within(many_cells(2785, 10, 1e-10, 24), 1.97, 0.01);
    assert_within(many_cells(4096, 10, 2.5e-9, 24), 2.03, 0.01);
    assert_within(many_cells(65536, 10, 1e-12, 24), 17.3, 0.1);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* With smoothing, by 100 values spread evenly over [-1/2,1/2); or with rare events, judged half an
 * event nearer, as validate does. */
static double events(int n, double chance, bool rare, double most)
{
    enum { SMOOTH = 100 };
    static outcome of[SMOOTH * OUTCOMES];
    const double mean = n * chance, variance = mean * (1 - chance),
                 third = variance * (1 - 2 * chance);
    const double reach = 14 * sqrt(variance) + 60;
    const int parts = rare ? 1 : SMOOTH;
    int size = 0;
    for (int k = (int)fmax(0, mean - reach); k <= n && k < mean + reach; k++)
        for (int j = 0; j < parts; j++) {
            const double off = k - mean, near = copysign(fmax(fabs(off) - 0.5, 0), off);
            assert_true(size < SMOOTH * OUTCOMES);
            of[size++] = (outcome){
                spec_goodness_sum_p(rare ? near : off + (j + 0.5) / SMOOTH - 0.5, variance, third),
                gsl_ran_binomial_pdf((unsigned)k, chance, (unsigned)n) / parts};
        }
    return largest_ratio(of, size, 1e-12, most);
}

TEST(events_have_no_larger_tails_than_their_p_values_say, SLOW)
{
    static const double chances[] = {1e-4, 0.01, 0.1, 0.37, 0.5, 0.9, 0.999};
    for (int i = 0; i < 7; i++) {
        const double c = chances[i], spread = c * (1 - c);
        for (double variance = 5; variance < 1000; variance *= 5)
            assert_true(events((int)ceil(variance / spread), c, false, 1e-3) < 1.01);
        for (double variance = 1e-6; variance < 5; variance *= 3)
            if (variance > spread)
                assert_true(events((int)ceil(variance / spread), c, true, 1) < 1.05);
    }
    /* If none of the rare events occurred, p is 1, so it arouses no suspicion. */
    assert_same(spec_goodness_sum_p(0, 1e-6, 1e-6), 1);
}
