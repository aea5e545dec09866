/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/statistics/goodness.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { EXACT_N = 20, EXACT_SIDE = 2 * EXACT_N - 1 }; /* up to this n we compute Kolmogorov's law
                                                      * exactly, with a matrix */

static const double sum_tolerance = 1e-9;

static double pearson_term(double observed, double expected)
{
    return (observed - expected) * (observed - expected) / expected;
}

/* Returns 2 (o log(o/e) - o + e): the last two terms sum to zero over the cells, and make the
 * result nonnegative. */
static double g_term(double observed, double expected)
{
    double information = observed > 0 ? observed * log(observed / expected) : 0;
    return 2 * (information - observed + expected);
}

/* The pool of cells below min_expected, and the smallest of the other cells. */
typedef struct {
    uint64_t observed;
    double expected, probability;
    int cells;
    size_t next; /* n if every cell is in the pool */
} pool;

static pool gather_pool(const uint64_t *opt_counts, const double *probability, size_t n,
                        double total, double min_expected)
{
    pool small = {.next = n};
    for (size_t i = 0; i < n; i++) {
        double expected = total * probability[i];
        if (expected < min_expected) {
            if (probability[i] == 0) continue;
            if (opt_counts != NULL) small.observed += opt_counts[i];
            small.expected += expected;
            small.probability += probability[i];
            small.cells += 1;
        } else if (small.next == n || probability[i] < probability[small.next]) {
            small.next = i;
        }
    }
    return small;
}

static bool takes_in_next(const pool *small, size_t n, double min_expected)
{
    return small->cells > 0 && small->expected < min_expected && small->next < n;
}

static int goodness(spec_goodness *ret, const uint64_t *counts, const double *probability, size_t n,
                    double min_expected, int fitted,
                    double (*term)(double observed, double expected))
{
    *ret = (spec_goodness){0};
    double total = 0, sum = 0;
    bool impossible = false;
    for (size_t i = 0; i < n; i++) {
        if (!(probability[i] >= 0)) return GSL_EDOM;
        total += (double)counts[i];
        sum += probability[i];
        if (probability[i] == 0 && counts[i] > 0) impossible = true;
    }
    if (!(fabs(sum - 1) <= sum_tolerance) || !(min_expected >= 0) || fitted < 0) return GSL_EDOM;

    ret->p = 1;
    if (total == 0) return GSL_SUCCESS;
    pool small = gather_pool(counts, probability, n, total, min_expected);
    bool joins = takes_in_next(&small, n, min_expected);
    int cells = 0;
    for (size_t i = 0; i < n; i++) {
        double expected = total * probability[i];
        if (probability[i] == 0 || expected < min_expected || (joins && i == small.next)) continue;
        ret->statistic += term((double)counts[i], expected);
        ret->inverse += 1 / expected;
        cells += 1;
    }
    if (joins) {
        small.observed += counts[small.next];
        small.expected += total * probability[small.next];
        small.cells += 1;
    }
    if (small.cells > 0) {
        ret->statistic += term((double)small.observed, small.expected);
        ret->inverse += 1 / small.expected;
        cells += 1;
    }
    ret->inverse -= 1 / total;
    ret->pooled = small.cells;
    if (cells - 1 - fitted > 0) {
        ret->df = cells - 1 - fitted;
        ret->p = gsl_cdf_chisq_Q(ret->statistic, ret->df);
    }
    if (impossible) {
        ret->statistic = INFINITY;
        ret->p = 0;
    }
    return GSL_SUCCESS;
}

int spec_goodness_chi_square(spec_goodness *ret, const uint64_t *counts, const double *probability,
                             size_t n, double min_expected, int fitted)
{
    return goodness(ret, counts, probability, n, min_expected, fitted, pearson_term);
}

int spec_goodness_g(spec_goodness *ret, const uint64_t *counts, const double *probability, size_t n,
                    double min_expected, int fitted)
{
    return goodness(ret, counts, probability, n, min_expected, fitted, g_term);
}

int spec_goodness_cells(double *ret_pooled, const double *probability, size_t n, double draws,
                        double min_expected)
{
    pool small = gather_pool(NULL, probability, n, draws, min_expected);
    int cells = small.cells > 0;
    for (size_t i = 0; i < n; i++)
        cells += probability[i] > 0 && draws * probability[i] >= min_expected;
    if (takes_in_next(&small, n, min_expected)) {
        small.probability += probability[small.next];
        small.cells += 1;
        cells -= 1;
    }
    *ret_pooled = small.cells > 1 ? small.probability : 0;
    return cells;
}

double spec_goodness_williams(const spec_goodness *g)
{
    return g->df > 0 ? g->statistic / (1 + g->inverse / (6 * g->df)) : NAN;
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Returns the upper or lower tail of a gamma distribution beyond `at`. GSL's function fails for
 * large shapes, where we use that the cube root is nearly normal [Wilson31], and far out in the
 * tail, where Chernoff's bound is below the smallest double. */
static double gamma_tail(double at, double shape, bool upper)
{
    const double large = 1e4, smallest = -745;
    if (!(at > 0)) return upper ? 1 : 0;
    if (shape * (log(at / shape) + 1) - at < smallest) return upper == (at > shape) ? 0 : 1;
    if (shape <= large)
        return upper ? gsl_cdf_gamma_Q(at, shape, 1) : gsl_cdf_gamma_P(at, shape, 1);
    const double z = (cbrt(at / shape) - (1 - 1 / (9 * shape))) * 3 * sqrt(shape);
    return gsl_cdf_ugaussian_Q(upper ? z : -z);
}

/* Returns P(Z >= z) for a gamma distribution with mean 0, variance 1 and this skewness, mirrored if
 * the skewness is negative. */
static double upper_tail(double z, double skewness)
{
    if (fabs(skewness) < 1e-5) return gsl_cdf_ugaussian_Q(z);
    const double shape = 4 / (skewness * skewness);
    return gamma_tail(shape + z * 2 / skewness, shape, skewness > 0);
}

double spec_goodness_sum_p(double deviation, double variance, double third)
{
    if (!(variance > 0)) return variance == 0 ? 1 : NAN;
    if (deviation == 0) return 1;
    const double spread = sqrt(variance), skewness = third / (variance * spread);
    const double above = upper_tail(deviation / spread, skewness);
    const double below = upper_tail(-deviation / spread, -skewness);
    return fmin(1, 2 * fmin(above, below));
}

/* ---- Kolmogorov-Smirnov ---------------------------------------------------------------------- */

static void multiply(double *product, const double *a, const double *b, int side)
{
    for (int i = 0; i < side; i++) {
        for (int j = 0; j < side; j++) {
            double sum = 0;
            for (int l = 0; l < side; l++) sum += a[i * side + l] * b[l * side + j];
            product[i * side + j] = sum;
        }
    }
}

/* Returns P(D < d) = n!/n^n times an entry of the n-th power of a matrix H [Marsaglia03], for 0 < d
 * < 1. Let n d = k - h, 0 <= h < 1. H is 1/(i-j+1)! on and below its first superdiagonal, with
 * corrections by h in the first column and the last row. */
static double kolmogorov_exact(double d, int n)
{
    double matrix[EXACT_SIDE * EXACT_SIDE], power[EXACT_SIDE * EXACT_SIDE],
        product[EXACT_SIDE * EXACT_SIDE];
    int k = (int)(n * d) + 1, side = 2 * k - 1;
    double h = k - n * d;
    for (int i = 0; i < side; i++) {
        for (int j = 0; j < side; j++) {
            int order = i - j + 1;
            double entry = order < 0 ? 0 : 1;
            if (j == 0) entry -= pow(h, order);
            if (i == side - 1) entry -= pow(h, side - j);
            if (j == 0 && i == side - 1 && h > 0.5) entry += pow(2 * h - 1, order);
            for (int l = 2; l <= order; l++) entry /= l;
            matrix[i * side + j] = entry;
            power[i * side + j] = i == j;
        }
    }
    size_t bytes = (size_t)(side * side) * sizeof *power;
    double scale = 1;
    for (int i = 1; i <= n; i++) {
        multiply(product, power, matrix, side);
        memcpy(power, product, bytes);
        scale *= (double)i / n;
    }
    return scale * power[(k - 1) * side + k - 1];
}

/* Returns P(sqrt(n) D >= t) as n goes to infinity: 2 sum_j (-1)^(j-1) exp(-2 j^2 t^2), which is 1
 * to 1e-12 below 0.2. */
static double kolmogorov_limit(double t)
{
    if (t < 0.2) return 1;
    double sum = 0;
    for (int j = 25; j >= 1; j--) sum = exp(-2.0 * j * j * t * t) - sum;
    return 2 * sum;
}

void spec_goodness_ks_uniform(double *ret_d, double *ret_p, const double *sorted, size_t n)
{
    double d = 0, size = (double)n;
    for (size_t i = 0; i < n; i++) {
        double above = (double)(i + 1) / size - sorted[i], below = sorted[i] - (double)i / size;
        if (isnan(above)) {
            *ret_d = *ret_p = NAN;
            return;
        }
        d = fmax(d, fmax(above, below));
    }
    *ret_d = d;
    if (n == 0) {
        *ret_p = 1;
    } else if (d >= 1) {
        *ret_p = 0;
    } else if (n <= EXACT_N) {
        *ret_p = fmax(0, 1 - kolmogorov_exact(d, (int)n));
    } else {
        double t = sqrt(size) * d;
        *ret_p = kolmogorov_limit(t + 1 / (6 * sqrt(size)) + (t - 1) / (4 * size));
    }
}

/* ---- families and normals -------------------------------------------------------------------- */

void spec_goodness_holm(double *ret_adjusted, const double *p, size_t n, size_t *order)
{
    bool unknown = false;
    for (size_t i = 0; i < n; i++) unknown = unknown || isnan(p[i]);
    if (unknown) {
        for (size_t i = 0; i < n; i++) ret_adjusted[i] = NAN;
        return;
    }
    gsl_sort_index(order, p, 1, n);
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        largest = fmax(largest, fmin(1, (double)(n - i) * p[order[i]]));
        ret_adjusted[order[i]] = largest;
    }
}

double spec_goodness_normal_p(double z)
{
    return 2 * gsl_cdf_ugaussian_Q(fabs(z));
}
