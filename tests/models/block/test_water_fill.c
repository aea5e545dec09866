/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/block/water_fill.h"

#include "base/noise.h"
#include "models/row.h"
#include "models/synthetic/cases.h"
#include "tests/support/support.h"
#include "tests/support/table_model.h"

#include <math.h>
#include <string.h>

enum { ROWS_MAX = 8, V_MAX = 8 };

typedef struct {
    int n, V;
    double store[ROWS_MAX][V_MAX], weight[ROWS_MAX];
    const double *row[ROWS_MAX];
} mixture;

/* Draws random rows of one family of hard rows, with random weights. */
static void randomize(mixture *m, int family, uint64_t *noise)
{
    double other[V_MAX];
    gsl_rng rng = {.type = spec_noise_rng_type, .state = noise};
    m->n = 1 + (int)(ROWS_MAX * table_uniform(noise));
    m->V = 1 + (int)(V_MAX * table_uniform(noise));
    for (int s = 0; s < m->n; s++) {
        spec_cases_pair(m->store[s], other, m->V, (spec_cases_family)family, &rng);
        m->row[s] = m->store[s];
        m->weight[s] = table_uniform(noise);
    }
}

/* Computes the objective by its definition, in long double. */
static long double shared(const mixture *m, const double *row)
{
    long double sum = 0.0L;
    for (int s = 0; s < m->n; s++)
        for (int x = 0; x < m->V; x++)
            sum += (long double)m->weight[s] *
                   (m->row[s][x] < row[x] ? (long double)m->row[s][x] : (long double)row[x]);
    return sum;
}

static void fill(double *row, const mixture *m)
{
    spec_water_segment segment[ROWS_MAX * V_MAX];
    spec_water_fill(row, m->row, m->weight, m->n, m->V, segment);
}

TEST(no_other_row_shares_more, STATISTICS)
{
    uint64_t noise = spec_test_seed();
    const uint64_t times = spec_test_samples(100);
    for (int family = 0; family < SPEC_CASES_FAMILIES; family++)
        for (uint64_t t = 0; t < times; t++) {
            mixture m;
            double best[V_MAX], other[V_MAX] = {0};
            randomize(&m, family, &noise);
            fill(best, &m);
            assert_true(fabs(spec_row_sum(best, m.V) - 1.0) < 1e-12);
            const long double most = shared(&m, best);
            for (int s = 0; s < m.n; s++)
                for (int x = 0; x < m.V; x++) other[x] += m.weight[s] * m.row[s][x];
            spec_row_normalise(other, m.V);
            assert_true(shared(&m, other) <= most + 1e-14L);
            for (int again = 0; again < 1000; again++) {
                /* half of the changes are small, where a wrong order of segments would show */
                const double far = again % 2 == 0 ? 1.0 : 0.01;
                for (int x = 0; x < m.V; x++)
                    other[x] = (1.0 - far) * best[x] - far * log(table_uniform(&noise));
                spec_row_normalise(other, m.V);
                assert_true(shared(&m, other) <= most + 1e-14L);
            }
        }
}

/* Checks that P(target(x) > d(x)) <= lambda <= P(target(x) >= d(x)) with one lambda for all
 * tokens. */
TEST(every_token_is_filled_to_the_same_slope, STATISTICS)
{
    uint64_t noise = spec_test_seed();
    for (uint64_t t = 0; t < spec_test_samples(2000); t++) {
        mixture m;
        double best[V_MAX], least = 2.0, most = -1.0, all = 0.0;
        randomize(&m, (int)(t % SPEC_CASES_FAMILIES), &noise);
        fill(best, &m);
        for (int s = 0; s < m.n; s++) all += m.weight[s];
        for (int x = 0; x < m.V; x++) {
            double above = 0.0, from = 0.0;
            for (int s = 0; s < m.n; s++) {
                above += m.row[s][x] > best[x] + 1e-13 ? m.weight[s] / all : 0.0;
                from += m.row[s][x] >= best[x] - 1e-13 ? m.weight[s] / all : 0.0;
            }
            most = fmax(most, above);
            if (best[x] > 1e-13) least = fmin(least, from);
        }
        assert_true(most <= least + 1e-12);
    }
}

/* With V = 2 compares with the objective at every breakpoint; with V = 3, on a fine grid. */
TEST(small_rows_agree_with_brute_force, STATISTICS)
{
    enum { GRID = 200 };
    uint64_t noise = spec_test_seed();
    for (uint64_t t = 0; t < spec_test_samples(200); t++) {
        mixture m;
        double best[V_MAX];
        do randomize(&m, (int)(t % SPEC_CASES_FAMILIES), &noise);
        while (m.V != 2 && m.V != 3);
        fill(best, &m);
        long double most = 0.0L;
        if (m.V == 2)
            for (int s = 0; s < m.n; s++) {
                const long double here = shared(&m, m.row[s]);
                most = here > most ? here : most;
            }
        else
            for (int i = 0; i <= GRID; i++)
                for (int j = 0; i + j <= GRID; j++) {
                    const double row[] = {(double)i / GRID, (double)j / GRID,
                                          (double)(GRID - i - j) / GRID};
                    const long double here = shared(&m, row);
                    most = here > most ? here : most;
                }
        const long double found = shared(&m, best);
        assert_true(found >= most - 1e-14L);
        /* the grid is at most 1 / GRID away in each of the three tokens */
        assert_true(found <= most + (m.V == 2 ? 1e-14L : 3.0L * ROWS_MAX / GRID));
    }
}

TEST(known_rows)
{
    /* Two rows have weights 2 and 1: slope 1 fills the common part, .2 + .3, and slope 2/3 the rest
     * of the heavier row. */
    mixture m = {.n = 2, .V = 3, .weight = {0.2, 0.1}};
    const double rows[2][3] = {{0.7, 0.3, 0.0}, {0.2, 0.35, 0.45}};
    for (int s = 0; s < 2; s++) m.row[s] = rows[s];
    double best[V_MAX];
    fill(best, &m);
    assert_true(fabs(best[0] - 0.7) < 1e-15 && fabs(best[1] - 0.3) < 1e-15 && best[2] == 0.0);
    /* Equal weights tie beyond the common part, so the lowest token comes first. */
    m.weight[1] = 0.2;
    fill(best, &m);
    assert_true(fabs(best[0] - 0.7) < 1e-15 && fabs(best[1] - 0.3) < 1e-15);
    m.n = 1;
    fill(best, &m);
    assert_memory_equal(best, rows[0], sizeof rows[0]);
}
