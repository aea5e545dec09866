/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/acceptance/length_bounds.h"

#include <math.h>
#include <string.h>

enum { ROWS = SPEC_LENGTH_TERMS + 1, GRID = 200, FINE = 8, PIVOTS = 400 };

/* The linear program chooses a law on the grid. It may miss each moment, at a price:
 *
 *     maximise sum_i w_i f_i - most sum_j |s_j|   over w_i >= 0 and s_j
 *     with     sum_i w_i = 1,   sum_i w_i a_i^j + s_j = m_j
 *
 * Its dual prices are the coefficients of the polynomial, and the price of missing a moment ensures
 * |c_j| <= most. */
typedef struct {
    int rows;
    const int *depth;
    double m[ROWS], most, sign; /* sign: -1 for the lower bound */
    int K, K_other;
    double a[GRID + 1], f[GRID + 1], power[GRID + 1][ROWS];
} program;

/* Returns 1 + a + .. + a^K. */
static double geometric(double a, int K)
{
    double sum = 1.0;
    for (int j = 0; j < K; j++) sum = 1.0 + a * sum;
    return sum;
}

static double ratio(double a, int K, int K_other)
{
    return geometric(a, K) / geometric(a, K_other);
}

static void fill_powers(double *power, double a, const program *p)
{
    power[0] = 1.0;
    for (int j = 1; j < p->rows; j++) power[j] = pow(a, p->depth[j - 1]);
}

static double dot(const double *x, const double *y, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++) sum += x[i] * y[i];
    return sum;
}

/* Fills column k: 0..GRID are the atoms, then come a positive and a negative deviation from each
 * moment. */
static double column(double *ret, const program *p, int k)
{
    if (k <= GRID) {
        memcpy(ret, p->power[k], (size_t)p->rows * sizeof *ret);
        return p->f[k];
    }
    for (int j = 0; j < p->rows; j++) ret[j] = 0.0;
    ret[(k - GRID - 1) / 2 + 1] = (k - GRID - 1) % 2 == 0 ? 1.0 : -1.0;
    return -p->most;
}

/* Updates the inverse after one pivot, in which row `leaves` of the basis is replaced by a new
 * column. `move` is the inverse times this column. */
static void pivot(double inverse[ROWS][ROWS], const double *move, int rows, int leaves)
{
    for (int c = 0; c < rows; c++) inverse[leaves][c] /= move[leaves];
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < rows && r != leaves; c++) inverse[r][c] -= move[r] * inverse[leaves][c];
}

/* Runs the simplex method. The first basis is the atom nearest to the first moment, with its
 * deviation from each moment. */
static void solve(double *price, const program *p)
{
    double inverse[ROWS][ROWS] = {{0.0}}, weight[ROWS], cost[ROWS], entry[ROWS], move[ROWS];
    const int rows = p->rows, columns = GRID + 1 + 2 * (rows - 1);
    int start = 0;
    for (int i = 1; i <= GRID; i++)
        if (fabs(p->a[i] - p->m[1]) < fabs(p->a[start] - p->m[1])) start = i;
    inverse[0][0] = weight[0] = 1.0;
    cost[0] = p->f[start];
    for (int j = 1; j < rows; j++) {
        const double off = p->m[j] - p->power[start][j], side = off < 0.0 ? -1.0 : 1.0;
        inverse[j][j] = side;
        inverse[j][0] = -side * p->power[start][j];
        weight[j] = fabs(off);
        cost[j] = -p->most;
    }
    for (int turn = 0;; turn++) {
        double best = 1e-12;
        int enters = -1, leaves = -1;
        for (int j = 0; j < rows; j++) {
            price[j] = 0.0;
            for (int r = 0; r < rows; r++) price[j] += cost[r] * inverse[r][j];
        }
        for (int k = 0; k < columns && turn < PIVOTS; k++) {
            const double own = column(entry, p, k), gain = own - dot(price, entry, rows);
            if (gain > best) best = gain, enters = k;
        }
        if (enters < 0) return;
        const double own = column(entry, p, enters);
        for (int r = 0; r < rows; r++) {
            move[r] = dot(inverse[r], entry, rows);
            if (move[r] > 1e-11 &&
                (leaves < 0 || weight[r] * move[leaves] < weight[leaves] * move[r]))
                leaves = r;
        }
        /* this happens only by rounding; the last prices are checked like any others */
        if (leaves < 0) return;
        const double step = weight[leaves] / move[leaves];
        for (int r = 0; r < rows; r++) weight[r] = fmax(0.0, weight[r] - step * move[r]);
        weight[leaves] = step;
        cost[leaves] = own;
        pivot(inverse, move, rows, leaves);
    }
}

/* Returns how far f rises above the polynomial. Looks on a finer grid, and at the vertex of the
 * parabola through three neighbouring points. */
static double above(const double *price, const program *p)
{
    double most = -INFINITY, power[ROWS], y[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i <= GRID * FINE; i++) {
        const double a = 0.5 - 0.5 * cos(M_PI * i / (GRID * FINE));
        fill_powers(power, a, p);
        y[0] = y[1], y[1] = y[2];
        y[2] = p->sign * ratio(a, p->K, p->K_other) - dot(price, power, p->rows);
        most = fmax(most, y[2]);
        const double bend = 2.0 * y[1] - y[0] - y[2];
        if (i >= 2 && y[1] >= y[0] && y[1] >= y[2] && bend > 0.0)
            most = fmax(most, y[1] + (y[2] - y[0]) * (y[2] - y[0]) / (8.0 * bend));
    }
    return most;
}

spec_length_bound spec_length_bound_of(const double *m, int K, int K_other, bool high, double most)
{
    spec_length_bound bound = {.n = K < SPEC_LENGTH_TERMS ? K : SPEC_LENGTH_TERMS};
    program p = {.rows = bound.n + 1,
                 .depth = bound.depth,
                 .most = most,
                 .sign = high ? 1.0 : -1.0,
                 .K = K,
                 .K_other = K_other};
    double price[ROWS];
    for (int j = 0; j < bound.n; j++) {
        bound.depth[j] = K <= SPEC_LENGTH_TERMS ? j + 1 : 1 + j * (K - 1) / (SPEC_LENGTH_TERMS - 1);
        p.m[j + 1] = m[bound.depth[j] - 1];
    }
    p.m[0] = 1.0;
    for (int i = 0; i <= GRID; i++) {
        p.a[i] = 0.5 - 0.5 * cos(M_PI * i / GRID);
        p.f[i] = p.sign * ratio(p.a[i], K, K_other);
        fill_powers(p.power[i], p.a[i], &p);
    }
    solve(price, &p);
    bound.c0 = p.sign * (price[0] + above(price, &p));
    for (int j = 0; j < bound.n; j++) bound.c[j] = p.sign * price[j + 1];
    return bound;
}

double spec_length_bound_at(const spec_length_bound *bound, const double *m)
{
    double sum = bound->c0;
    for (int j = 0; j < bound->n; j++) sum += bound->c[j] * m[bound->depth[j] - 1];
    return sum;
}

spec_bounds spec_length_bounds(const double *m, int K, int K_other)
{
    double tokens = 1.0;
    if (K < 1 || K > 64 || K_other < 0 || K_other > 64) return (spec_bounds){NAN, NAN};
    for (int j = 0; j < K; j++) {
        if (!(m[j] >= 0.0 && m[j] <= 1.0)) return (spec_bounds){NAN, NAN};
        tokens += m[j];
    }
    const spec_length_bound low = spec_length_bound_of(m, K, K_other, false, 8.0),
                            high = spec_length_bound_of(m, K, K_other, true, 8.0);
    return (spec_bounds){tokens / spec_length_bound_at(&high, m),
                         tokens / spec_length_bound_at(&low, m)};
}
