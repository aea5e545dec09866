/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the expected tokens of trees against a walk over every outcome, and the best trees against
 * all trees of a few nodes. */
#include "analysis/tree_plan.h"

#include "analysis/capped_geometric.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_rng.h>
#include <stdbool.h>
#include <string.h>

enum { MOST = 64 };

/* Chances of n siblings that sum to less than 1, descending on request. */
static void sibling_chances(double *ret_chance, int n, bool falling, gsl_rng *rng)
{
    double sum = gsl_rng_uniform_pos(rng);
    for (int r = 0; r < n; r++) sum += ret_chance[r] = pow(gsl_rng_uniform_pos(rng), 3);
    for (int r = 0; r < n; r++) ret_chance[r] /= sum;
    for (int i = 1; falling && i < n; i++) {
        for (int j = i; j > 0 && ret_chance[j] > ret_chance[j - 1]; j--) {
            double swap = ret_chance[j];
            ret_chance[j] = ret_chance[j - 1];
            ret_chance[j - 1] = swap;
        }
    }
}

/* ---- expected tokens ------------------------------------------------------------------------- */

/* Returns the expected tokens from a node on: the correction or bonus, or a child and what follows
 * it. */
static double walk(const int *parent, const double *accept, int n, int node)
{
    double stops = 1, emitted = 0;
    for (int v = node + 1; v < n; v++) {
        if (parent[v] != node) continue;
        emitted += accept[v] * (1 + walk(parent, accept, n, v));
        stops -= accept[v];
    }
    return emitted + stops; /* one token if no child is accepted */
}

TEST(emitted_is_the_mean_over_every_outcome)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int i = 0; i < 200; i++) {
        int parent[MOST], n = i % 40, used[MOST + 1] = {0};
        double accept[MOST], chance[MOST + 1][MOST], work[2 * MOST + 1];
        for (int v = 0; v <= n; v++) sibling_chances(chance[v], MOST, false, rng);
        for (int v = 0; v < n; v++) {
            parent[v] = (int)gsl_rng_uniform_int(rng, (unsigned long)v + 1) - 1;
            accept[v] = chance[parent[v] + 1][used[parent[v] + 1]++];
        }
        /* in a row of 64 probabilities are small, so those of the first children are made large */
        for (int v = 0; v < n; v++)
            accept[v] = accept[v] / 2 + (used[parent[v] + 1] == 1 ? 0.42 : 0);
        assert_near(spec_tree_emitted(parent, accept, n, work), walk(parent, accept, n, -1), 1e-14);
    }
}

TEST(a_chain_emits_the_capped_geometric_mean)
{
    int parent[MOST];
    double accept[MOST], work[2 * MOST + 1], alphas[] = {0, 0.27, 0.8, 0.999, 1};
    for (int i = 0; i < 5; i++) {
        for (int v = 0; v < MOST; v++) {
            parent[v] = v - 1;
            accept[v] = alphas[i];
        }
        for (int K = 0; K <= MOST; K++) {
            assert_near(spec_tree_emitted(parent, accept, K, work),
                        spec_capped_geometric_mean(alphas[i], K), 1e-14);
            assert_near(spec_tree_plan_parallel_chains(alphas[i], K, 1),
                        spec_capped_geometric_mean(alphas[i], K), 1e-14);
        }
    }
}

TEST(trees_that_are_none_give_nan)
{
    double work[7], fine[3] = {0.5, 0.5, 0.27}, sums[3] = {0.5, 0.5 + 2e-9, 0.27},
                    below[3] = {0.5, -1e-9, 0}, above[3] = {1.1, 0, 0};
    double nan_chance[3] = {0.5, NAN, 0};
    int parent[3] = {-1, -1, 1}, itself[3] = {-1, 1, 0}, later[3] = {-1, 2, 0},
        before_root[3] = {-1, -2, 0};
    assert_within(spec_tree_emitted(parent, fine, 3, work), 2 + 0.135, 1e-15);
    assert_nan(spec_tree_emitted(parent, sums, 3, work));
    assert_within(spec_tree_emitted((int[3]){-1, 0, 1}, sums, 3, work), 1 + 0.5 + 0.25 * 1.27,
                  1e-8);
    assert_nan(spec_tree_emitted(parent, below, 3, work));
    assert_nan(spec_tree_emitted(parent, above, 3, work));
    assert_nan(spec_tree_emitted(parent, nan_chance, 3, work));
    assert_nan(spec_tree_emitted(itself, fine, 3, work));
    assert_nan(spec_tree_emitted(later, fine, 3, work));
    assert_nan(spec_tree_emitted(before_root, fine, 3, work));
    assert_nan(spec_tree_emitted(parent, fine, -1, work));
    assert_same(spec_tree_emitted(NULL, NULL, 0, work), 1);
    assert_nan(spec_tree_emitted(parent, (double[1]){1 + 5e-10}, 1,
                                 work)); /* the slack is for the sum alone */
    double most = 1 + 1e-9;
    assert_same(spec_tree_emitted(parent, (double[2]){0.5, most - 0.5}, 2, work), 1 + most);
}

TEST(parallel_chains_emit_the_mean_of_the_largest)
{
    assert_within(spec_tree_plan_parallel_chains(0.7, 5, 4), 4.925468100522836,
                  1e-14); /* tests/oracle/closed.py, "lookahead" */
    for (int b = 1; b < 40; b += 3) {
        for (double alpha = 0.05; alpha < 1; alpha += 0.1) {
            enum { K = 6 };
            double law[K + 1], at_most = 0, mean = 1; /* the largest is at most k: all b are */
            for (int k = 0; k <= K; k++) {
                law[k] = k == K ? 1 : pow(1 - pow(alpha, k + 1), b);
                mean += k * (law[k] - at_most);
                at_most = law[k];
            }
            assert_near(spec_tree_plan_parallel_chains(alpha, K, b), mean, 1e-14);
        }
    }
    assert_same(spec_tree_plan_parallel_chains(1, 7, 3), 8);
    assert_same(spec_tree_plan_parallel_chains(0, 7, 3), 1);
    assert_same(spec_tree_plan_parallel_chains(0.7, 0, 3), 1);
    assert_same(spec_tree_plan_parallel_chains(0.7, 7, 0), 1);
    assert_same(spec_tree_plan_parallel_chains(1, 7, 0), 1);
    assert_same(spec_tree_plan_parallel_chains(1e-20, 3, 5), 1);
    assert_near(spec_tree_plan_parallel_chains(1e-10, 3, 5), 1 + 5e-10, 1e-16);
    assert_nan(spec_tree_plan_parallel_chains(-0.1, 7, 3));
    assert_nan(spec_tree_plan_parallel_chains(1.1, 7, 3));
    assert_nan(spec_tree_plan_parallel_chains(1.1, 0, 3));
    assert_nan(spec_tree_plan_parallel_chains(NAN, 7, 3));
    assert_nan(spec_tree_plan_parallel_chains(0.7, -1, 3));
    assert_nan(spec_tree_plan_parallel_chains(0.7, 7, -1));
}

/* ---- the best of all trees ------------------------------------------------------------------- */

/* Every tree of n nodes and at most `depth` levels, each generated once, in the order of a walk
 * along it. A node with rank r at level l has accept[l*ranks+r]. With in_order, a child of rank r
 * comes only after those of lower rank. Returns the largest E. */
typedef struct {
    const double *accept;
    int ranks, depth, n;
    bool in_order;
    double best;
} search;

static void grow(search *all, const int *rank, const double *product, int level, int nodes,
                 double sum)
{
    /* rank[l] is the rank of the node at level l on the path to the last node, and product[l+1] the
     * product of probabilities down to it. The next node becomes a child of any node on that path,
     * after the child that is on it. */
    if (nodes == all->n) {
        all->best = fmax(all->best, sum);
        return;
    }
    for (int l = 0; l <= level && l < all->depth; l++) {
        for (int r = l < level ? rank[l] + 1 : 0; r < all->ranks; r++) {
            int next_rank[16];
            double next_product[17];
            memcpy(next_rank, rank, sizeof next_rank);
            memcpy(next_product, product, sizeof next_product);
            next_rank[l] = r;
            next_product[l + 1] = product[l] * all->accept[l * all->ranks + r];
            grow(all, next_rank, next_product, l + 1, nodes + 1, sum + next_product[l + 1]);
            if (all->in_order) break;
        }
    }
}

static double best_of_all(const double *accept, int ranks, int depth, int n, bool in_order)
{
    search all = {accept, ranks, depth, n, in_order, 0};
    int rank[16] = {0};
    double product[17] = {1};
    grow(&all, rank, product, 0, 0, 1);
    return all.best;
}

TEST(medusas_tree_is_the_best_of_all_trees)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    enum { HEADS = 3, RANKS = 3 };
    for (int i = 0; i < 60; i++) {
        double accuracy[HEADS * RANKS], product[MOST], accept[MOST], work_tree[2 * MOST + 1];
        int parent[MOST], rank[MOST], work[MOST + 2 + HEADS * RANKS], n = 1 + i % 7, depth[MOST];
        for (int k = 0; k < HEADS; k++)
            sibling_chances(accuracy + k * RANKS, RANKS, i % 2 == 0, rng);
        enum { UNTOUCHED = 4242 };
        int used = n + 1 + HEADS * RANKS;
        parent[n] = rank[n] = work[used] = UNTOUCHED;
        assert_int_equal(
            spec_tree_plan_medusa(parent, rank, product, n, accuracy, HEADS, RANKS, work), n);
        assert_true(parent[n] == UNTOUCHED && rank[n] == UNTOUCHED && work[used] == UNTOUCHED);
        for (int v = 0; v < n; v++) {
            depth[v] = parent[v] < 0 ? 0 : depth[parent[v]] + 1;
            accept[v] = accuracy[depth[v] * RANKS + rank[v]];
            assert_near(product[v], accept[v] * (parent[v] < 0 ? 1 : product[parent[v]]), 1e-15);
            if (v > 0) assert_true(product[v] <= product[v - 1]);
            for (int u = 0; u < v; u++) assert_false(parent[u] == parent[v] && rank[u] == rank[v]);
        }
        assert_near(spec_tree_emitted(parent, accept, n, work_tree),
                    best_of_all(accuracy, RANKS, HEADS, n, false), 1e-14);
    }
}

TEST(medusas_tree_breaks_ties_by_order_and_stops_where_nothing_is_gained)
{
    int parent[MOST], rank[MOST], work[MOST + 1 + 6];
    double product[MOST], even[4] = {0.25, 0.25, 0.25, 0.25}, zeros[6] = {0.27, 0, 0.13, 0, 1, 0};
    /* two heads with two ranks, all with 1/4: first both children of the root, then their children
     * by parent and rank */
    int parents[6] = {-1, -1, 0, 0, 1, 1}, ranks[6] = {0, 1, 0, 1, 0, 1};
    assert_int_equal(spec_tree_plan_medusa(parent, rank, product, 40, even, 2, 2, work), 6);
    for (int v = 0; v < 6; v++) {
        assert_int_equal(parent[v], parents[v]);
        assert_int_equal(rank[v], ranks[v]);
        assert_same(product[v], v < 2 ? 0.25 : 0.0625);
    }
    /* head 0: .27, 0, .13; head 1: 0, 1, 0 */
    assert_int_equal(spec_tree_plan_medusa(parent, rank, product, 40, zeros, 2, 3, work), 4);
    int parents2[4] = {-1, 0, -1, 2}, ranks2[4] = {0, 1, 2, 1};
    for (int v = 0; v < 4; v++) {
        assert_int_equal(parent[v], parents2[v]);
        assert_int_equal(rank[v], ranks2[v]);
    }
    assert_int_equal(spec_tree_plan_medusa(parent, rank, product, 0, even, 2, 2, work), 0);
    assert_int_equal(spec_tree_plan_medusa(parent, rank, product, -1, even, 2, 2, work), -1);
    assert_int_equal(spec_tree_plan_medusa(parent, rank, product, 3, even, 0, 2, work), -1);
    assert_int_equal(spec_tree_plan_medusa(parent, rank, product, 3, even, 2, 0, work), -1);
    double bad[4] = {0.25, 0.25, NAN, 0.25}, above[4] = {0.25, 0.25, 0.6, 0.4 + 2e-9},
           below[4] = {0.25, 0.25, 0.5, -0.1}, one[2] = {1.1, 0};
    assert_int_equal(spec_tree_plan_medusa(parent, rank, product, 3, bad, 2, 2, work), -1);
    assert_int_equal(spec_tree_plan_medusa(parent, rank, product, 3, above, 2, 2, work), -1);
    assert_int_equal(spec_tree_plan_medusa(parent, rank, product, 3, below, 2, 2, work), -1);
    assert_int_equal(spec_tree_plan_medusa(parent, rank, product, 3, one, 1, 2, work), -1);
    double slightly[2] = {1 + 5e-10, 0},
           most[2] = {0.5, (1 + 1e-9) - 0.5}; /* the slack is for the sum alone */
    assert_int_equal(spec_tree_plan_medusa(parent, rank, product, 3, slightly, 1, 2, work), -1);
    assert_int_equal(spec_tree_plan_medusa(parent, rank, product, 3, most, 1, 2, work), 2);
    assert_int_equal(
        spec_tree_plan_medusa(parent, rank, product, 3, (double[2]){0.8, 0.27}, 2, 1, work), 2);
    assert_near(product[1], 0.8 * 0.27, 1e-15);
}

/* Checks that the arrays are a tree within the budget, in the documented order, and returns E. */
static double emitted_of_plan(const spec_tree_plan *plan, int nodes, int depth)
{
    int parent[MOST], rank[MOST], level[MOST], next[MOST + 1] = {0};
    double accept[MOST], work[2 * MOST + 1];
    int n = spec_tree_plan_build(parent, rank, plan, nodes, depth);
    assert_true(n >= 0 && n <= nodes);
    for (int v = 0; v < n; v++) {
        assert_true(parent[v] >= -1 && parent[v] < v);
        level[v] = parent[v] < 0 ? 1 : level[parent[v]] + 1;
        assert_true(level[v] <= depth);
        assert_int_equal(rank[v],
                         next[parent[v] + 1]++); /* children are tried in order, none left out */
        accept[v] = plan->accept[rank[v]];
    }
    return spec_tree_emitted(parent, accept, n, work);
}

TEST(planned_trees_are_the_best_of_all_trees)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    enum { WIDTH = 3, NODES = 7, DEPTH = 4 };
    for (int i = 0; i < 20; i++) {
        double accept[WIDTH], levels[DEPTH * WIDTH];
        int width = 1 + i % WIDTH;
        sibling_chances(accept, width, i % 4 < 2,
                        rng); /* a later child may be more likely than an earlier one */
        if (i % 5 == 4) accept[0] = 0;
        for (int l = 0; l < DEPTH; l++)
            memcpy(levels + l * width, accept, (size_t)width * sizeof(double));
        OWNED(spec_tree_plan) plan;
        assert_int_equal(spec_tree_plan_init(&plan, accept, width, NODES, DEPTH), GSL_SUCCESS);
        for (int depth = 0; depth <= DEPTH; depth++) {
            double best = 1;
            for (int n = 0; n <= NODES; n++) {
                if (n > 0 && depth > 0)
                    best =
                        fmax(best, best_of_all(levels, width, depth, n, true)); /* up to n nodes */
                assert_near(spec_tree_plan_emitted(&plan, n, depth), best, 1e-14);
                assert_near(emitted_of_plan(&plan, n, depth), best, 1e-14);
            }
        }
    }
}

TEST(one_child_plans_a_chain_and_depth_one_a_star)
{
    double one[1] = {0.8}, falling[4] = {0.5, 0.2, 0.1, 0.05};
    spec_tree_plan chain, star;
    assert_int_equal(spec_tree_plan_init(&chain, one, 1, 12, 8), GSL_SUCCESS);
    for (int m = 0; m <= 12; m++) {
        for (int l = 0; l <= 8; l++)
            assert_near(spec_tree_plan_emitted(&chain, m, l),
                        spec_capped_geometric_mean(0.8, m < l ? m : l), 1e-14);
    }
    int parent[12], rank[12];
    assert_int_equal(spec_tree_plan_build(parent, rank, &chain, 12, 8),
                     8); /* no nodes that do not help */
    double verify[13];
    int nodes, levels;
    for (int m = 0; m <= 12; m++) verify[m] = 1;
    assert_near(spec_tree_plan_fastest(&nodes, &levels, &chain, 0, verify),
                spec_capped_geometric_mean(0.8, 8), 1e-14);
    assert_true(nodes == 8 && levels == 8);
    assert_int_equal(spec_tree_plan_init(&star, falling, 4, 6, 1), GSL_SUCCESS);
    double emitted[7] = {1, 1.5, 1.7, 1.8, 1.85, 1.85, 1.85};
    for (int m = 0; m <= 6; m++)
        assert_near(spec_tree_plan_emitted(&star, m, 1), emitted[m], 1e-15);
    spec_tree_plan_free(&chain);
    spec_tree_plan_free(&star);
    assert_int_equal(spec_tree_plan_init(&star, falling, 4, 1, 40),
                     GSL_SUCCESS); /* far more levels than nodes */
    for (int l = 1; l <= 40; l++) assert_same(spec_tree_plan_emitted(&star, 1, l), 1.5);
    spec_tree_plan_free(&star);
}

/* If the acceptance of the r-th child is a power law, tokens grow with the logarithm of the budget.
 * A wide tree gains a little more with every doubling of it, never less. */
TEST(tokens_grow_slowly_with_the_tree)
{
    double accept[16], sum = 0;
    for (int r = 0; r < 16; r++) sum += accept[r] = pow(r + 1, -1.7);
    for (int r = 0; r < 16; r++) accept[r] *= 0.9 / sum;
    OWNED(spec_tree_plan) plan;
    assert_int_equal(spec_tree_plan_init(&plan, accept, 16, 256, 16), GSL_SUCCESS);
    double before = 1, gain = 10;
    for (int m = 1; m <= 256; m++) {
        double now = spec_tree_plan_emitted(&plan, m, 16);
        assert_true(now > before &&
                    now - before <=
                        gain + 1e-13); /* the m-th node gains no more than the one before */
        gain = now - before;
        before = now;
    }
    assert_true(before > 3 && before < 10);
    for (int l = 1; l <= 16; l++)
        assert_true(spec_tree_plan_emitted(&plan, 256, l) >=
                    spec_tree_plan_emitted(&plan, 256, l - 1));
}

/* The table of docs/formulas/trees.md#trees, which an independent program in Python also
 * computes. */
TEST(tokens_grow_by_half_a_token_for_each_doubling)
{
    static const struct {
        int nodes, levels;
        const char *emitted;
    } rows[] = {{1, 1, "1.70"},   {4, 4, "2.77"},    {16, 8, "3.78"},
                {64, 12, "4.81"}, {256, 16, "5.83"}, {512, 18, "6.34"}};
    double accept[16], rejected = 1;
    for (int r = 0; r < 16; r++) {
        const double next = 0.3 * pow(r + 1, -0.8);
        accept[r] = rejected - next;
        rejected = next;
    }
    OWNED(spec_tree_plan) plan;
    assert_int_equal(spec_tree_plan_init(&plan, accept, 16, 512, 20), GSL_SUCCESS);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double most = spec_tree_plan_emitted(&plan, rows[i].nodes, 20);
        int levels = 0;
        while (spec_tree_plan_emitted(&plan, rows[i].nodes, levels) < most - 1e-12) levels++;
        assert_prints(most, 2, rows[i].emitted);
        assert_int_equal(levels, rows[i].levels);
    }
}

TEST(the_fastest_tree_is_the_largest_ratio)
{
    double accept[3] = {0.55, 0.2, 0.1}, verify[21], free_verify[21];
    for (int m = 0; m <= 20; m++) {
        verify[m] = 1 + (m > 8 ? 0.27 * (m - 8) : 0); /* flat up to a ridge, then linear */
        free_verify[m] = 1;
    }
    spec_tree_plan plan;
    assert_int_equal(spec_tree_plan_init(&plan, accept, 3, 20, 6), GSL_SUCCESS);
    int nodes, depth;
    for (double c = 0; c < 0.7; c += 0.045) {
        double best = 0;
        int best_nodes = 0, best_depth = 0;
        for (int m = 0; m <= 20; m++) {
            for (int l = 0; l <= 6; l++) {
                double speedup = spec_tree_plan_emitted(&plan, m, l) / (l * c + verify[m]);
                if (speedup > best) best = speedup, best_nodes = m, best_depth = l;
            }
        }
        assert_same(spec_tree_plan_fastest(&nodes, &depth, &plan, c, verify), best);
        assert_int_equal(nodes, best_nodes);
        assert_int_equal(depth, best_depth);
    }
    assert_true(nodes == 0 || depth >= 1);
    assert_same(spec_tree_plan_fastest(&nodes, &depth, &plan, 0, free_verify),
                spec_tree_plan_emitted(&plan, 20, 6));
    assert_true(nodes == 20 && depth < 6); /* no levels that do not help */
    assert_same(spec_tree_plan_emitted(&plan, 20, depth), spec_tree_plan_emitted(&plan, 20, 6));
    assert_true(spec_tree_plan_emitted(&plan, 20, depth - 1) <
                spec_tree_plan_emitted(&plan, 20, 6));
    assert_same(spec_tree_plan_fastest(&nodes, &depth, &plan, 5, verify),
                1); /* nothing gains: plain decoding */
    assert_true(nodes == 0 && depth == 0);
    for (int m = 0; m <= 20; m++) free_verify[m] = 4;
    assert_same(spec_tree_plan_fastest(&nodes, &depth, &plan, 5, free_verify),
                0.25); /* all slower than plain decoding */
    assert_true(nodes == 0 && depth == 0);
    double bad[] = {0, -1, NAN, INFINITY};
    for (int i = 0; i < 8; i++) {
        int at = i < 4 ? 20 : 0;
        double kept = verify[at];
        verify[at] = bad[i % 4];
        nodes = depth = 7;
        assert_nan(spec_tree_plan_fastest(&nodes, &depth, &plan, 0.1, verify));
        assert_true(nodes == 0 && depth == 0);
        verify[at] = kept;
    }
    assert_nan(spec_tree_plan_fastest(&nodes, &depth, &plan, -0.1, verify));
    assert_nan(spec_tree_plan_fastest(&nodes, &depth, &plan, NAN, verify));
    assert_nan(spec_tree_plan_fastest(&nodes, &depth, &plan, INFINITY, verify));
    spec_tree_plan_free(&plan);
    assert_nan(spec_tree_plan_fastest(&nodes, &depth, &plan, 0.1, verify));
}

TEST(plans_outside_the_domain_are_refused)
{
    double fine[2] = {0.5, 0.27}, above[2] = {0.5, 0.5 + 2e-9}, below[2] = {0.5, -0.1},
           bad[2] = {NAN, 0.1}, one[2] = {1.5, 0};
    OWNED(spec_tree_plan) plan;
    int parent[4], rank[4];
    assert_int_equal(spec_tree_plan_init(&plan, above, 2, 4, 2), GSL_EDOM);
    assert_int_equal(spec_tree_plan_init(&plan, below, 2, 4, 2), GSL_EDOM);
    assert_int_equal(spec_tree_plan_init(&plan, bad, 2, 4, 2), GSL_EDOM);
    assert_int_equal(spec_tree_plan_init(&plan, one, 2, 4, 2), GSL_EDOM);
    assert_int_equal(spec_tree_plan_init(&plan, fine, 0, 4, 2), GSL_EDOM);
    assert_int_equal(spec_tree_plan_init(&plan, fine, 2, -1, 2), GSL_EDOM);
    assert_int_equal(spec_tree_plan_init(&plan, fine, 2, 4, -1), GSL_EDOM);
    assert_nan(spec_tree_plan_emitted(&plan, 0, 0)); /* the plan is zeroed after a failure */
    assert_int_equal(spec_tree_plan_build(parent, rank, &plan, 0, 0), -1);
    spec_tree_plan_free(&plan);
    assert_int_equal(spec_tree_plan_init(&plan, fine, 2, 4, 2), GSL_SUCCESS);
    assert_nan(spec_tree_plan_emitted(&plan, 5, 2));
    assert_nan(spec_tree_plan_emitted(&plan, 4, 3));
    assert_nan(spec_tree_plan_emitted(&plan, -1, 2));
    assert_nan(spec_tree_plan_emitted(&plan, 4, -1));
    assert_int_equal(spec_tree_plan_build(parent, rank, &plan, 5, 2), -1);
    assert_int_equal(spec_tree_plan_build(parent, rank, &plan, 4, 3), -1);
    assert_same(spec_tree_plan_emitted(&plan, 0, 2), 1);
    assert_same(spec_tree_plan_emitted(&plan, 4, 0), 1);
    assert_int_equal(spec_tree_plan_build(parent, rank, &plan, 4, 0), 0);
    assert_int_equal(spec_tree_plan_build(parent, rank, &plan, 0, 2), 0);
    assert_near(spec_tree_plan_emitted(&plan, 4, 2), 1.77 + 0.5 * 0.77, 1e-15);
    spec_tree_plan_free(&plan);
    spec_tree_plan_free(&plan);
    assert_int_equal(spec_tree_plan_init(&plan, fine, 2, 0, 0), GSL_SUCCESS);
    assert_same(spec_tree_plan_emitted(&plan, 0, 0), 1);
}

/* ---- the limit by entropy -------------------------------------------------------------------- */

static double entropy_of(const double *row, int V, double *ret_second)
{
    double entropy = 0.0;
    *ret_second = 0.0;
    for (int x = 0; x < V; x++) {
        entropy -= row[x] * log(row[x]);
        *ret_second += row[x] * pow(log(row[x]), 2.0);
    }
    return entropy;
}

/* The best tree has the n nodes with the largest products. It is between both bounds of
 * docs/formulas/trees.md#entropy. */
TEST(the_best_tree_grows_with_log_nodes_over_entropy)
{
    enum { V = 5, HEADS = MOST };
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    static double accuracy[HEADS * V];
    static int parent[MOST], rank[MOST], work[MOST + 1 + HEADS * V];
    double product[MOST], nearest = INFINITY;
    for (int again = 0; again < 40; again++) {
        double row[V], sum = 0.0, second;
        for (int x = 0; x < V; x++) sum += row[x] = pow(gsl_rng_uniform_pos(rng), 1 + again % 4);
        for (int x = 0; x < V; x++) row[x] /= sum;
        for (int i = 0; i < HEADS * V; i++) accuracy[i] = row[i % V];
        const double entropy = entropy_of(row, V, &second), moment = second / (entropy * entropy),
                     crowd = log((1.0 / entropy + moment) / (1.0 - exp(-1.0)));
        const int n = spec_tree_plan_medusa(parent, rank, product, MOST, accuracy, HEADS, V, work);
        assert_int_equal(n, MOST);
        double best = 1.0;
        for (int nodes = 1; nodes <= n; nodes++) {
            best += product[nodes - 1];
            const double limit = spec_tree_plan_limit(row, V, nodes);
            assert_near(limit, 1.0 + fmin(nodes, log(nodes) / entropy + moment), 1e-13);
            assert_true(best <= limit);
            assert_true(best >= (log(nodes) - crowd) / entropy);
            if (nodes == n) nearest = fmin(nearest, limit - best);
        }
    }
    print_message("the limit comes within %.2f tokens of the best tree\n", nearest);
    assert_true(nearest < 1.5);
}

/* Rows drawn anew at every prefix, and a tree that is chosen knowing all of them: the mean of the
 * best trees is within the limit of the mean moments. */
TEST(rows_that_are_drawn_at_every_prefix_obey_it_too, STATISTICS)
{
    enum { LEVELS = 13, NODES = 32, TREES = 400 };
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    static const double rows[2][2] = {{0.97, 0.03}, {0.6, 0.4}};
    static double chance[2 << LEVELS];
    double mean = 0.0, entropy = 0.0, second = 0.0;
    for (int k = 0; k < 2; k++) {
        double own;
        entropy += entropy_of(rows[k], 2, &own) / 2.0;
        second += own / 2.0;
    }
    for (int t = 0; t < TREES; t++) {
        double taken = 1.0;
        bool used[2 << LEVELS] = {false};
        chance[1] = 1.0; /* node i has the children 2i and 2i + 1 */
        for (int i = 1; i < 1 << LEVELS; i++) {
            const double *row = rows[gsl_rng_uniform_int(rng, 2)];
            chance[2 * i] = chance[i] * row[0];
            chance[2 * i + 1] = chance[i] * row[1];
        }
        for (int n = 0; n < NODES; n++) {
            int best = 0;
            for (int i = 2; i < 2 << LEVELS; i++)
                if (!used[i] && (best == 0 || chance[i] > chance[best])) best = i;
            used[best] = true;
            taken += chance[best];
        }
        mean += taken / TREES;
    }
    const double limit = 1.0 + log(NODES) / entropy + second / (entropy * entropy);
    print_message("mean %.3f, limit %.3f\n", mean, limit);
    assert_true(mean < limit && mean > log(NODES) / entropy - 2.0);
}

TEST(the_limit_has_edges)
{
    static const double sure[] = {0.0, 1.0}, even[] = {0.5, 0.5};
    assert_same(spec_tree_plan_limit(sure, 2, 7), 8.0);
    assert_same(spec_tree_plan_limit(even, 2, 0), 1.0);
    assert_near(spec_tree_plan_limit(even, 2, 1), 2.0, 1e-15);
    assert_near(spec_tree_plan_limit(even, 2, 4), 4.0, 1e-15); /* log 4 / log 2 = 2, and 1 */
    assert_true(isnan(spec_tree_plan_limit(even, 2, -1)));
}
