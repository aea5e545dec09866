/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the best row of a parallel drafter against its dual, sorted columns, grids and random
 changes. */
#include "analysis/rules/block_row.h"

#include "analysis/rules/overlap.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/tuples.h"

#include <gsl/gsl_sort.h>
#include <string.h>

enum { S_MAX = 7, V_MAX = 40 };

typedef struct {
    double target[S_MAX * V_MAX], weight[S_MAX], gain[S_MAX * V_MAX], best[V_MAX], level, worth;
    spec_block_step work[S_MAX * V_MAX];
    spec_block_row_set rows;
} row_case;

static void draw_case(row_case *c, size_t S, size_t V, int kind, bool gains, gsl_rng *rng)
{
    for (size_t s = 0; s < S; s++) tuples_row(c->target + s * V, (int)V, kind, rng);
    tuples_row(c->weight, (int)S, kind, rng);
    for (size_t i = 0; i < S * V; i++) c->gain[i] = 1 + 3 * gsl_rng_uniform(rng);
    c->rows = (spec_block_row_set){c->target, c->weight, gains ? c->gain : NULL, S, V};
}

static void solve(row_case *c)
{
    c->worth = spec_block_row_best(c->best, &c->level, &c->rows, c->work);
}

/* For every level this is an upper bound: level + sum_x integral over y of (weight of target(s, x)
 * > y, less level)+. The integrand is constant between values of the rows. */
static double dual(const row_case *c, double level)
{
    const spec_block_row_set *rows = &c->rows;
    double total = level;
    for (size_t x = 0; x < rows->V; x++) {
        double value[S_MAX + 1] = {0};
        for (size_t s = 0; s < rows->S; s++) value[s + 1] = rows->target[s * rows->V + x];
        gsl_sort(value, 1, rows->S + 1);
        for (size_t i = 0; i < rows->S; i++) {
            double above = 0;
            for (size_t s = 0; s < rows->S; s++)
                if (rows->target[s * rows->V + x] > value[i])
                    above += rows->weight[s] *
                             (rows->opt_gain == NULL ? 1 : rows->opt_gain[s * rows->V + x]);
            if (above > level) total += (value[i + 1] - value[i]) * (above - level);
        }
    }
    return total;
}

TEST(one_context_has_its_own_row)
{
    const double target[4] = {0.27, 0, 0.4, 0.33}, weight[1] = {0.7};
    const spec_block_row_set rows = {target, weight, NULL, 1, 4};
    double row[4], level;
    spec_block_step work[4];
    assert_within(spec_block_row_best(row, &level, &rows, work), 0.7, 1e-16);
    for (int x = 0; x < 4; x++) assert_same(row[x], target[x]);
    assert_same(level, 0.7);
    spec_block_row_mean(row, &rows);
    for (int x = 0; x < 4; x++) assert_within(row[x], target[x], 1e-16);
    assert_int_equal(spec_block_row_one_hot(&rows), 2);
}

/* The numbers of docs/formulas/block-drafts.md, which tests/oracle/block_draft.py also prints. */
TEST(the_mean_loses_an_eighth_for_two_certain_rows)
{
    const double target[4] = {1, 0, 0, 1}, weight[2] = {0.75, 0.25};
    const spec_block_row_set rows = {target, weight, NULL, 2, 2};
    double row[2], level;
    spec_block_step work[4];
    assert_same(spec_block_row_best(row, &level, &rows, work), 0.75);
    assert_true(row[0] == 1 && row[1] == 0 && level == 0.75);
    assert_same(spec_block_row_excess(&rows, row, level), 0.0);
    spec_block_row_mean(row, &rows);
    assert_same(spec_block_row_worth(&rows, row), 0.625);
    assert_same(spec_block_row_excess(&rows, row, 0.75), 0.5);
}

TEST(mean_of_two_equal_weights_is_best)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    row_case c;
    for (int i = 0; i < 400; i++) {
        double mean[V_MAX];
        draw_case(&c, 2, 9, i % 4, false, rng);
        c.weight[0] = c.weight[1] = 0.5;
        solve(&c);
        spec_block_row_mean(mean, &c.rows);
        assert_within(spec_block_row_worth(&c.rows, mean), c.worth, 1e-14);
        assert_within(c.worth, 1 - spec_overlap_total_variation(c.target, c.target + 9, 9) / 2,
                      1e-14);
    }
}

TEST(best_row_is_a_distribution_of_the_dual_worth)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    row_case c;
    for (int i = 0; i < 4000; i++) {
        const size_t S = 1 + gsl_rng_uniform_int(rng, S_MAX), V = 1 + gsl_rng_uniform_int(rng, 12);
        double sum = 0;
        draw_case(&c, S, V, i % 4, i % 3 == 0, rng);
        solve(&c);
        for (size_t x = 0; x < V; x++) {
            assert_true(c.best[x] >= 0);
            sum += c.best[x];
        }
        assert_within(sum, 1, 1e-14);
        assert_within(spec_block_row_worth(&c.rows, c.best), c.worth, 1e-14);
        assert_within(dual(&c, c.level), c.worth, 1e-14);
        assert_within(spec_block_row_excess(&c.rows, c.best, c.level), 0, 1e-14);
        assert_true(dual(&c, c.level * 0.9) >= c.worth - 1e-14 &&
                    dual(&c, c.level * 1.1) >= c.worth - 1e-14);
    }
}

/* With equal weights: min over k of (k + sum over j > k of M_j)/S, M_j the sum over tokens of the
 * j-th largest value. */
TEST(equal_weights_need_only_sorted_columns)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    row_case c;
    for (int i = 0; i < 1000; i++) {
        const size_t S = 1 + gsl_rng_uniform_int(rng, S_MAX), V = 1 + gsl_rng_uniform_int(rng, 12);
        double sum[S_MAX] = {0}, least = INFINITY;
        draw_case(&c, S, V, i % 4, false, rng);
        for (size_t s = 0; s < S; s++) c.weight[s] = 1.0 / (double)S;
        for (size_t x = 0; x < V; x++) {
            double column[S_MAX];
            for (size_t s = 0; s < S; s++) column[s] = c.target[s * V + x];
            gsl_sort(column, 1, S);
            for (size_t j = 0; j < S; j++) sum[j] += column[S - 1 - j];
        }
        for (size_t k = 0; k <= S; k++) {
            double value = (double)k;
            for (size_t j = k; j < S; j++) value += sum[j];
            least = fmin(least, value / (double)S);
        }
        solve(&c);
        assert_within(c.worth, least, 1e-14);
    }
}

TEST(no_row_of_a_grid_and_no_change_is_better)
{
    enum { STEPS = 40 };
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    row_case c;
    for (int i = 0; i < 100; i++) {
        double nearest = 0;
        draw_case(&c, 1 + gsl_rng_uniform_int(rng, S_MAX), 3, i % 4, i % 2 == 0, rng);
        solve(&c);
        for (int a = 0; a <= STEPS; a++)
            for (int b = 0; a + b <= STEPS; b++) {
                const double row[3] = {a / (double)STEPS, b / (double)STEPS,
                                       (STEPS - a - b) / (double)STEPS};
                nearest = fmax(nearest, spec_block_row_worth(&c.rows, row));
            }
        assert_true(nearest <= c.worth + 1e-14);
        /* two coordinates of a grid row are within 1/STEPS of the best row, and slopes are at most
         * 4 */
        assert_true(nearest >= c.worth - 8.0 / STEPS);
        for (int change = 0; change < 300; change++) {
            double row[3];
            memcpy(row, c.best, sizeof row);
            const unsigned long from = gsl_rng_uniform_int(rng, 3),
                                to = gsl_rng_uniform_int(rng, 3);
            const double mass = row[from] * pow(gsl_rng_uniform(rng), 4);
            row[from] -= mass;
            row[to] += mass;
            assert_true(spec_block_row_worth(&c.rows, row) <= c.worth + 1e-14);
        }
    }
}

/* worth(mean) >= worth(best)^2 for weights that sum to 1, and nearly equal where one token has
 * weight w and the others are thin. */
TEST(mean_has_at_least_the_square_of_the_best)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    static row_case c;
    for (int i = 0; i < 4000; i++) {
        double mean[V_MAX];
        draw_case(&c, 1 + gsl_rng_uniform_int(rng, S_MAX), 1 + gsl_rng_uniform_int(rng, 12), i % 4,
                  false, rng);
        solve(&c);
        spec_block_row_mean(mean, &c.rows);
        const double worth = spec_block_row_worth(&c.rows, mean);
        assert_true(worth >= c.worth * c.worth - 1e-14 && worth <= c.worth + 1e-14);
    }
    enum { THIN = 300, N = THIN + 1 };
    static double target[N * N], weight[N], mean[N];
    static spec_block_step work[N * N];
    double level;
    for (int s = 0; s < N; s++) {
        target[s * N + s] = 1;
        weight[s] = s == 0 ? 0.6 : 0.4 / THIN;
    }
    const spec_block_row_set rows = {target, weight, NULL, N, N};
    assert_within(spec_block_row_best(mean, &level, &rows, work), 0.6, 1e-15);
    spec_block_row_mean(mean, &rows);
    assert_within(spec_block_row_worth(&rows, mean), 0.36 + 0.16 / THIN, 1e-14);
}

TEST(one_hot_is_the_best_chosen_token)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    row_case c;
    for (int i = 0; i < 300; i++) {
        double most = 0, mean[V_MAX];
        draw_case(&c, 3, 6, i % 4, false, rng);
        for (size_t x = 0; x < 6; x++) {
            double row[6] = {0};
            row[x] = 1;
            most = fmax(most, spec_block_row_worth(&c.rows, row));
        }
        spec_block_row_mean(mean, &c.rows);
        assert_within(mean[spec_block_row_one_hot(&c.rows)], most, 1e-15);
        solve(&c);
        assert_true(c.worth >= most - 1e-14);
    }
}

TEST(without_weight_any_row_will_do)
{
    const double target[6] = {0.2, 0.5, 0.3, 0, 0.1, 0.9}, weight[2] = {0, 0};
    const spec_block_row_set rows = {target, weight, NULL, 2, 3};
    double row[3], level;
    spec_block_step work[6];
    assert_same(spec_block_row_best(row, &level, &rows, work), 0.0);
    assert_within(row[0] + row[1] + row[2], 1, 1e-15);
    assert_same(level, 0.0);
    spec_block_row_mean(row, &rows);
    assert_true(row[0] == 0 && row[1] == 0 && row[2] == 0);
}
