/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The target copies its first token, and rows of offsets draft the copies. Computes the most that
 * any lossless rule keeps of whole blocks, over all sets of tokens, and compares it with the best
 * rows, block verification and the token rule. docs/formulas/block-drafts.md#copies. */
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/tuples.h"

#include <string.h>

enum { V_MAX = 8, K_MAX = 4 };

/* The most that sum_x min(first, product of the rows) can be: some tokens in full, one in part.
 * Fills a row that attains it at every offset. */
static double most(double *ret_row, const double *first, int V, int K)
{
    double best = -1;
    for (int set = 0; set < 1 << V; set++)
        for (int part = 0; part < V; part++) {
            double row[V_MAX] = {0}, left = 1, sum = 0;
            for (int x = 0; x < V; x++)
                if (set >> x & 1) left -= row[x] = pow(first[x], 1.0 / K);
            if ((set >> part & 1) || left < 0) continue;
            row[part] = left;
            for (int x = 0; x < V; x++) sum += fmin(first[x], pow(row[x], K));
            if (sum <= best) continue;
            best = sum;
            memcpy(ret_row, row, sizeof row);
        }
    return best;
}

typedef double rows_of[K_MAX][V_MAX];

/* Returns the probability that the first n offsets are all drafted as x. */
static double drafted(double (*rows)[V_MAX], int x, int n)
{
    double product = 1;
    for (int j = 0; j < n; j++) product *= rows[j][x];
    return product;
}

static double overlap(const double *first, double (*rows)[V_MAX], int V, int n)
{
    double sum = 0;
    for (int x = 0; x < V; x++) sum += fmin(first[x], drafted(rows, x, n));
    return sum;
}

/* Computes what the rules keep of drafts that are copies, from their own products of ratios. */
static double kept(const double *first, double (*rows)[V_MAX], int V, int n, bool block)
{
    double sum = 0;
    for (int x = 0; x < V; x++) {
        double reach = 1;
        for (int j = 0; j < n && rows[j][x] > 0; j++) {
            const double ratio = (j == 0 ? first[x] : 1) / rows[j][x];
            reach = block ? fmin(1, reach * ratio) : reach * fmin(1, ratio);
        }
        sum += drafted(rows, x, n) * reach;
    }
    return sum;
}

static double largest(const double *row, int V)
{
    double most = 0;
    for (int x = 0; x < V; x++) most = fmax(most, row[x]);
    return most;
}

static void same_rows(rows_of ret, const double *row)
{
    for (int j = 0; j < K_MAX; j++) memcpy(ret[j], row, V_MAX * sizeof(double));
}

static double most_of_even(int V, int K)
{
    double first[V_MAX], row[V_MAX];
    for (int x = 0; x < V; x++) first[x] = 1.0 / V;
    return most(row, first, V, K);
}

TEST(known_values)
{
    assert_within(most_of_even(2, 1), 1, 1e-15);
    assert_within(most_of_even(2, 2), 2 - sqrt(2), 1e-15);
    assert_within(most_of_even(2, 3), 0.5 + pow(1 - pow(0.5, 1.0 / 3), 3), 1e-15);
    assert_within(most_of_even(4, 2), 0.5, 1e-15); /* two of four tokens; token keeps one */
    assert_within(most_of_even(8, 3), 0.25, 1e-15);
}

TEST(block_attains_the_most_and_token_keeps_one_token)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int i = 0; i < 2000; i++) {
        double first[V_MAX] = {0}, row[V_MAX] = {0};
        rows_of rows;
        const int V = 2 + i % 4, K = 1 + i / 4 % K_MAX;
        tuples_row(first, V, i / 16 % 4, rng);
        const double bound = most(row, first, V, K);
        same_rows(rows, row);
        assert_within(kept(first, rows, V, K, true), bound, 1e-14);
        memset(row, 0, sizeof row);
        for (int x = 0; x < V && largest(row, V) == 0; x++) row[x] = first[x] == largest(first, V);
        same_rows(rows, row);
        assert_within(kept(first, rows, V, K, false), largest(first, V), 1e-15);
    }
}

/* With a separate row at each offset, improved at random, no draft overlaps more, and most come
 near. */
TEST(no_rows_overlap_more, STATISTICS)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    int near = 0;
    for (int i = 0; i < 160; i++) {
        double first[V_MAX] = {0}, row[V_MAX], best = 0;
        rows_of rows;
        const int V = 2 + i % 4, K = 2 + i / 4 % (K_MAX - 1);
        tuples_row(first, V, i / 16 % 2, rng);
        const double bound = most(row, first, V, K);
        for (int start = 0; start < 6; start++) {
            memset(rows, 0, sizeof rows);
            for (int j = 0; j < K; j++) tuples_row(rows[j], V, 0, rng);
            double now = overlap(first, rows, V, K);
            for (int step = 0; step < 1500; step++) {
                const int j = (int)gsl_rng_uniform_int(rng, (unsigned long)K),
                          x = (int)gsl_rng_uniform_int(rng, (unsigned long)V),
                          y = (int)gsl_rng_uniform_int(rng, (unsigned long)V);
                const double moved = rows[j][x] * pow(gsl_rng_uniform(rng), 3);
                rows[j][x] -= moved;
                rows[j][y] += moved;
                const double then = overlap(first, rows, V, K);
                if (then >= now)
                    now = then;
                else
                    rows[j][x] += moved, rows[j][y] -= moved;
                assert_true(now <= bound + 1e-12);
                assert_true(kept(first, rows, V, K, true) <= now + 1e-12);
                assert_true(kept(first, rows, V, K, false) <= largest(first, V) + 1e-12);
            }
            best = fmax(best, now);
        }
        near += best > bound - 1e-3;
    }
    print_message("reached on %d of 160\n", near);
    assert_true(near > 100);
}

/* K = 2: both sums together are at most 1 + max first, which the token rule attains. */
TEST(over_both_lengths_nothing_is_gained)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int i = 0; i < 20000; i++) {
        double first[V_MAX] = {0};
        rows_of rows = {{0}};
        const int V = 2 + i % 4;
        tuples_row(first, V, i / 4 % 4, rng);
        for (int j = 0; j < 2; j++) tuples_row(rows[j], V, i / 16 % 4, rng);
        const double most_kept = 1 + largest(first, V);
        assert_true(overlap(first, rows, V, 1) + overlap(first, rows, V, 2) <= most_kept + 1e-12);
        memcpy(rows[0], first, sizeof first);
        memset(rows[1], 0, sizeof rows[1]);
        for (int x = 0; x < V && largest(rows[1], V) == 0; x++)
            rows[1][x] = first[x] == largest(first, V);
        assert_within(kept(first, rows, V, 1, false) + kept(first, rows, V, 2, false), most_kept,
                      1e-14);
    }
}

/* ---- a category drawn first ------------------------------------------------------------------ */

/* Returns the probability that the first n offsets are all drafted as x, if the category z of the
 * rows has chance weight[z]. */
static double drafted_mixed(const double *weight, rows_of *rows, int Z, int x, int n)
{
    double sum = 0;
    for (int z = 0; z < Z; z++) sum += weight[z] * drafted(rows[z], x, n);
    return sum;
}

/* Computes the overlap of the whole block, and what block verification keeps of it if the rows are
 * those given the drafted tokens. */
static double overlap_mixed(double *ret_kept, const double *first, const double *weight,
                            rows_of *rows, int Z, int V, int K)
{
    double sum = 0;
    *ret_kept = 0;
    for (int x = 0; x < V; x++) {
        const double whole = drafted_mixed(weight, rows, Z, x, K);
        double reach = 1, before = first[x];
        for (int j = 1; j <= K && whole > 0; j++) {
            const double now = drafted_mixed(weight, rows, Z, x, j);
            reach = fmin(1, reach * before / now);
            before = now;
        }
        sum += fmin(first[x], whole);
        *ret_kept += whole * reach;
    }
    return sum;
}

TEST(categories_keep_at_most_their_power)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int i = 0; i < 20000; i++) {
        double first[V_MAX] = {0}, weight[4] = {0}, by_block;
        rows_of rows[4] = {{{0}}};
        const int V = 2 + i % 7, Z = 1 + i / 7 % 4, K = 1 + i / 28 % K_MAX;
        tuples_row(first, V, i / 112 % 4, rng);
        tuples_row(weight, Z, i / 448 % 4, rng);
        for (int z = 0; z < Z; z++)
            for (int j = 0; j < K; j++) tuples_row(rows[z][j], V, i / 1792 % 4, rng);
        const double bound = pow(Z * largest(first, V), 1 - 1.0 / K),
                     overlap = overlap_mixed(&by_block, first, weight, rows, Z, V, K);
        assert_true(overlap <= bound + 1e-12);
        assert_within(by_block, overlap, 1e-13);
    }
    /* Z groups of m tokens with rows 1/m, for V = Z m^K equally likely tokens */
    static const int attained[][3] = {{8, 2, 2}, {8, 1, 3}, {4, 1, 2}, {3, 3, 2}};
    for (size_t i = 0; i < sizeof attained / sizeof *attained; i++) {
        const int V = attained[i][0], Z = attained[i][1], K = attained[i][2];
        const int m = (int)lround(pow((double)V / Z, 1.0 / K));
        double first[V_MAX], weight[4], by_block;
        rows_of rows[4] = {{{0}}};
        for (int x = 0; x < V; x++) first[x] = 1.0 / V;
        for (int z = 0; z < Z; z++) {
            weight[z] = 1.0 / Z;
            for (int j = 0; j < K; j++)
                for (int x = z * m; x < (z + 1) * m; x++) rows[z][j][x] = 1.0 / m;
        }
        overlap_mixed(&by_block, first, weight, rows, Z, V, K);
        assert_within(by_block, pow((double)Z / V, 1 - 1.0 / K), 1e-14);
    }
}
