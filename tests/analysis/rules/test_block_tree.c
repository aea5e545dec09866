/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks rounds of a parallel drafter against sums over drafts, the vertices of all rows, and
 * fractions. */
#include "analysis/rules/block_tree.h"

#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/tuples.h"

#include <gsl/gsl_errno.h>
#include <string.h>

enum { ROWS_MAX = 64, V_MAX = 4, K_MAX = 4 };

typedef struct {
    double target[ROWS_MAX * V_MAX], draft[K_MAX * V_MAX];
    spec_block_tree tree;
    spec_block_tree_work work;
} tree_case;

static void begin_case(tree_case *c, int V, int K)
{
    c->tree = (spec_block_tree){c->target, V, K};
    assert_true(spec_block_tree_rows(V, K) <= ROWS_MAX);
    assert_int_equal(spec_block_tree_work_init(&c->work, V, K), GSL_SUCCESS);
}

static void draw_case(tree_case *c, int V, int K, int kind, gsl_rng *rng)
{
    begin_case(c, V, K);
    for (size_t v = 0; v < spec_block_tree_rows(V, K); v++)
        tuples_row(c->target + v * (size_t)V, V, kind, rng);
    for (int i = 0; i < K; i++) tuples_row(c->draft + i * V, V, kind, rng);
}

/* The first token is 0 with probability `first`. The rows after it are given as the probability of
 * token 0, level by level. */
static void two_tokens(tree_case *c, const double *chance, int K)
{
    begin_case(c, 2, K);
    for (size_t v = 0; v < spec_block_tree_rows(2, K); v++) {
        c->target[2 * v] = chance[v];
        c->target[2 * v + 1] = 1 - chance[v];
    }
}

static gsl_rng *seeded(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, spec_test_seed());
    return rng;
}

/* Returns the probability that the first i tokens of a drafted path are accepted, from the ratios,
 * summed over all drafts. */
static void add_drafts(double *tail, const tree_case *c, size_t v, int i, double drafted,
                       double accepted)
{
    const int V = c->tree.V;
    if (i == c->tree.K) return;
    for (int x = 0; x < V; x++) {
        const double d = c->draft[i * V + x], t = c->target[v * (size_t)V + (size_t)x];
        if (d == 0) continue;
        const double kept = accepted * fmin(1, t / d);
        tail[i] += drafted * d * kept;
        add_drafts(tail, c, v * (size_t)V + 1 + (size_t)x, i + 1, drafted * d, kept);
    }
}

TEST(tails_are_sums_over_drafts_and_ratios)
{
    OWNED_RNG *rng = seeded();
    tree_case c;
    for (int i = 0; i < 400; i++) {
        double tail[K_MAX], sums[K_MAX] = {0}, sum = 0;
        draw_case(&c, 1 + i % 3, 1 + i / 3 % 4, i % 4, rng);
        const double mean = spec_block_tree_tails(tail, &c.tree, c.draft, &c.work);
        add_drafts(sums, &c, 0, 0, 1, 1);
        for (int k = 0; k < c.tree.K; k++) {
            assert_within(tail[k], sums[k], 1e-14);
            sum += sums[k];
        }
        assert_within(mean, sum, 1e-14);
        spec_block_tree_work_free(&c.work);
    }
}

/* tests/oracle/block_draft.py */
TEST(offset_by_offset_misses_the_best_draft)
{
    static const double chance[7] = {.4, 1, .4, 1, 1, 1, 0};
    tree_case c;
    double tail[3], bound[3];
    two_tokens(&c, chance, 3);
    spec_block_tree_greedy(c.draft, &c.tree, &c.work);
    assert_within(spec_block_tree_tails(tail, &c.tree, c.draft, &c.work), 2.16, 1e-15);
    assert_within(tail[1], 0.76, 1e-15);
    assert_within(tail[2], 0.4, 1e-15);
    spec_block_tree_bounds(bound, &c.tree, 0, &c.work);
    assert_within(bound[1], 0.76, 1e-15);
    assert_within(bound[2], 0.64, 1e-15);
    const double start[6] = {.4, .6, 1, 0, 1, 0};
    memcpy(c.draft, start, sizeof start);
    assert_within(spec_block_tree_improve(c.draft, &c.tree, &c.work), 2.28, 1e-15);
    assert_within(spec_block_tree_tails(tail, &c.tree, c.draft, &c.work), 2.28, 1e-15);
    spec_block_tree_work_free(&c.work);
}

TEST(a_best_row_for_each_offset_can_be_a_bad_draft)
{
    static const double chance[7] = {.4, 1, 0, 1, 1, 0, 0}; /* copies of the first token */
    static const double start[2][6] = {{.4, .6, 1, 0, 1, 0}, {.4, .6, 0, 1, 0, 1}};
    static const double stays_at[2] = {1.8, 2.2};
    tree_case c;
    two_tokens(&c, chance, 3);
    for (int i = 0; i < 2; i++) {
        memcpy(c.draft, start[i], sizeof start[i]);
        for (int sweep = 0; sweep < 3; sweep++)
            assert_within(spec_block_tree_improve(c.draft, &c.tree, &c.work), stays_at[i], 1e-15);
    }
    spec_block_tree_work_free(&c.work);
}

/* Returns the most that any draft of three rows over two tokens keeps; it suffices to try rows at
 * values of the target's rows. */
static double best_of_vertices(tree_case *c)
{
    double most = 0, tail[3];
    memcpy(c->draft, c->target, 2 * sizeof(double));
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 8; j++) {
            c->draft[2] = c->target[2 + i];
            c->draft[3] = 1 - c->draft[2];
            c->draft[4] = c->target[6 + j];
            c->draft[5] = 1 - c->draft[4];
            most = fmax(most, spec_block_tree_tails(tail, &c->tree, c->draft, &c->work));
        }
    return most;
}

/* Tries all targets of two tokens whose rows are multiples of 1/n, which is exact if n is a power
 * of two. Returns how many have a better draft than the one that is chosen offset by offset, and
 * the largest loss. */
static int targets_missed_by_greedy(double *ret_loss, int n)
{
    const int share = n + 1, targets = (int)pow(share, 7);
    int missed = 0;
    *ret_loss = 0;
    for (int i = 0; i < targets; i++) {
        double chance[7], tail[3];
        tree_case c;
        for (int v = 0, rest = i; v < 7; v++, rest /= share) chance[v] = (double)(rest % share) / n;
        two_tokens(&c, chance, 3);
        spec_block_tree_greedy(c.draft, &c.tree, &c.work);
        const double greedy = spec_block_tree_tails(tail, &c.tree, c.draft, &c.work),
                     loss = best_of_vertices(&c) - greedy;
        assert_true(loss >= 0);
        missed += loss > 0;
        *ret_loss = fmax(*ret_loss, loss);
        spec_block_tree_work_free(&c.work);
    }
    return missed;
}

/* tests/oracle/block_draft.py finds the same counts in whole numbers. */
TEST(offset_by_offset_takes_a_tie_without_a_look_ahead)
{
    static const double chance[7] = {.5, 0, .5, 0, 0, 1, 0};
    tree_case c;
    double tail[3], loss;
    two_tokens(&c, chance, 3);
    spec_block_tree_greedy(c.draft, &c.tree, &c.work);
    assert_same(spec_block_tree_tails(tail, &c.tree, c.draft, &c.work), 2.25);
    assert_same(best_of_vertices(&c), 2.5);
    spec_block_tree_work_free(&c.work);
    assert_int_equal(targets_missed_by_greedy(&loss, 1), 0);
    assert_int_equal(targets_missed_by_greedy(&loss, 2), 60);
    assert_same(loss, 0.25);
    assert_int_equal(targets_missed_by_greedy(&loss, 4), 2940);
    assert_same(loss, 0.25);
}

/* Returns what rows chosen offset by offset lose of E[n_accepted], for two tokens and K = 3. */
static double loss_of_greedy(const double *chance)
{
    tree_case c;
    double tail[3];
    two_tokens(&c, chance, 3);
    spec_block_tree_greedy(c.draft, &c.tree, &c.work);
    const double greedy = spec_block_tree_tails(tail, &c.tree, c.draft, &c.work),
                 loss = best_of_vertices(&c) - greedy;
    spec_block_tree_work_free(&c.work);
    return loss;
}

/* Changes targets at random as long as the loss does not fall. */
TEST(a_climb_over_targets_of_two_tokens_ends_below_a_third)
{
    OWNED_RNG *rng = seeded();
    double most = 0;
    for (int start = 0; start < 12; start++) {
        double chance[7], loss = -1;
        for (int v = 0; v < 7; v++) chance[v] = gsl_rng_uniform(rng);
        for (int step = 0; step < 4000; step++) {
            double now[7];
            for (int v = 0; v < 7; v++) {
                const double move = pow(2 * gsl_rng_uniform(rng) - 1, 7);
                now[v] = fmax(0, fmin(1, chance[v] + (gsl_rng_uniform(rng) < 0.4 ? move : 0)));
            }
            const double then = loss_of_greedy(now);
            assert_true(then <= 1.0 / 3 + 1e-14);
            if (then < loss) continue;
            loss = then;
            memcpy(chance, now, sizeof now);
        }
        most = fmax(most, loss);
    }
    print_message("largest loss %.6f\n", most);
    assert_true(most > 0.33);
}

/* The first token is 0 or one of the others. After 0 the second is 0, else sometimes 1; the third
 * copies the first after a 1 and is 0 otherwise. */
TEST(offset_by_offset_loses_up_to_its_bound)
{
    for (int V = 2; V <= V_MAX; V++) {
        const double tau = (2.0 * V - 2) / (2.0 * V - 1), tilt = 1e-9;
        tree_case c;
        double tail[3];
        begin_case(&c, V, 3);
        memset(c.target, 0, sizeof c.target);
        for (int x = 0; x < V; x++) {
            double *second = c.target + (1 + x) * V;
            c.target[x] = x == 0 ? 0.5 - tilt : (0.5 + tilt) / (V - 1);
            second[0] = x == 0 ? 1 : 1 - tau;
            if (x > 0) second[1] = tau;
            for (int y = 0; y < V; y++) c.target[(V * (1 + x) + 1 + y) * V + (y == 1 ? x : 0)] = 1;
        }
        spec_block_tree_greedy(c.draft, &c.tree, &c.work);
        assert_within(c.draft[V + 1], tau, 1e-15);
        const double greedy = spec_block_tree_tails(tail, &c.tree, c.draft, &c.work);
        memset(c.draft + V, 0, 2 * (size_t)V * sizeof(double));
        c.draft[V] = c.draft[2 * V] = 1;
        const double loss = spec_block_tree_tails(tail, &c.tree, c.draft, &c.work) - greedy;
        assert_within(loss, (V - 1) / (2.0 * V - 1), 1e-8);
        spec_block_tree_work_free(&c.work);
    }
}

TEST(improving_ends_at_the_best_from_some_start)
{
    OWNED_RNG *rng = seeded();
    tree_case c;
    for (int i = 0; i < 200; i++) {
        draw_case(&c, 2, 3, i % 4, rng);
        double most = 0, tail[3], before = 0;
        const double best = best_of_vertices(&c);
        for (int start = 0; start < 16; start++) {
            for (int k = 0; k < 3; k++) tuples_row(c.draft + 2 * k, 2, 0, rng);
            before = spec_block_tree_tails(tail, &c.tree, c.draft, &c.work);
            for (int sweep = 0; sweep < 20; sweep++) {
                const double now = spec_block_tree_improve(c.draft, &c.tree, &c.work);
                assert_true(now >= before - 1e-14 && now <= best + 1e-14);
                assert_within(spec_block_tree_tails(tail, &c.tree, c.draft, &c.work), now, 1e-14);
                before = now;
            }
            most = fmax(most, before);
        }
        assert_within(most, best, 1e-13);
        spec_block_tree_work_free(&c.work);
    }
}

TEST(bounds_hold_for_every_draft_and_rise_with_memory)
{
    OWNED_RNG *rng = seeded();
    tree_case c;
    for (int i = 0; i < 300; i++) {
        double bound[K_MAX][K_MAX], tail[K_MAX], overlap[K_MAX], marginal[K_MAX * V_MAX];
        draw_case(&c, 2 + i % 2, 4, i % 4, rng);
        for (int m = 0; m < 4; m++) {
            spec_block_tree_bounds(bound[m], &c.tree, m, &c.work);
            for (int k = 0; k < 4; k++) {
                if (k <= m) assert_within(bound[m][k], 1, 1e-14);
                if (m > 0) assert_true(bound[m][k] >= bound[m - 1][k] - 1e-14);
            }
        }
        spec_block_tree_marginals(marginal, overlap, &c.tree, &c.work);
        for (int k = 0; k < 4; k++)
            assert_true(overlap[k] <= bound[0][k] + 1e-14 &&
                        overlap[k] >= bound[0][k] * bound[0][k] - 1e-14);
        for (int draft = 0; draft < 5; draft++) {
            if (draft == 1) spec_block_tree_greedy(c.draft, &c.tree, &c.work);
            if (draft == 2) memcpy(c.draft, marginal, sizeof c.draft);
            if (draft > 2) spec_block_tree_improve(c.draft, &c.tree, &c.work);
            spec_block_tree_tails(tail, &c.tree, c.draft, &c.work);
            double least = 1, missed = 0;
            for (int k = 0; k < 4; k++) {
                least = fmin(least, bound[0][k]);
                missed += 1 - overlap[k];
                assert_true(tail[k] <= least + 1e-14);
                if (draft == 2) assert_true(tail[k] >= 1 - missed - 1e-14);
            }
        }
        spec_block_tree_work_free(&c.work);
    }
}

/* The second token is free, the third a copy of it, the fourth 0. */
TEST(memory_is_of_the_last_tokens)
{
    static const double chance[15] = {.7, .4, .4, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1};
    tree_case c;
    double bound[4];
    two_tokens(&c, chance, 4);
    spec_block_tree_bounds(bound, &c.tree, 0, &c.work);
    assert_within(bound[1], 1, 1e-15);
    assert_within(bound[2], 0.6, 1e-15);
    assert_within(bound[3], 1, 1e-15);
    spec_block_tree_bounds(bound, &c.tree, 1, &c.work);
    for (int i = 0; i < 4; i++) assert_within(bound[i], 1, 1e-15);
    spec_block_tree_any_rule(bound, &c.tree, &c.work);
    assert_within(bound[1], 1, 1e-15);
    for (int i = 2; i < 4; i++) assert_within(bound[i], sqrt(0.6), 1e-15);
    spec_block_tree_work_free(&c.work);
}

/* Returns the overlap of the laws of the first `tokens` tokens. */
static double joint_overlap(const tree_case *c, size_t v, int i, int tokens, double target,
                            double draft)
{
    const int V = c->tree.V;
    if (i == tokens) return fmin(target, draft);
    double sum = 0;
    for (int x = 0; x < V; x++)
        sum += joint_overlap(c, v * (size_t)V + 1 + (size_t)x, i + 1, tokens,
                             target * c->target[v * (size_t)V + (size_t)x],
                             draft * c->draft[i * V + x]);
    return sum;
}

TEST(no_joint_law_of_rows_overlaps_more_than_any_rule)
{
    OWNED_RNG *rng = seeded();
    tree_case c;
    double bound[K_MAX], single[K_MAX];
    for (int i = 0; i < 300; i++) {
        draw_case(&c, 2 + i % 2, 3, i % 4, rng);
        spec_block_tree_any_rule(bound, &c.tree, &c.work);
        spec_block_tree_bounds(single, &c.tree, 0, &c.work);
        for (int k = 0; k < 3; k++)
            bound[k] = fmin(bound[k], fmin((1 + single[k]) / 2, sqrt(single[k] * (2 - single[k]))));
        assert_within(bound[0], 1, 1e-14);
        for (int draft = 0; draft < 20; draft++) {
            for (int k = 0; k < 3; k++) tuples_row(c.draft + k * c.tree.V, c.tree.V, i % 4, rng);
            for (int k = 0; k < 3; k++)
                assert_true(joint_overlap(&c, 0, 0, k + 1, 1, 1) <= bound[k] + 1e-14);
        }
        spec_block_tree_work_free(&c.work);
    }
    /* Two tokens, the second a copy of the first: .5 for the token rule, .586 for block. */
    static const double chance[3] = {.5, 1, 0};
    two_tokens(&c, chance, 2);
    spec_block_tree_bounds(bound, &c.tree, 0, &c.work);
    assert_same(bound[1], 0.5);
    spec_block_tree_any_rule(bound, &c.tree, &c.work);
    assert_within(bound[1], sqrt(0.5), 1e-15);
    for (int k = 0; k < 2; k++) {
        c.draft[2 * k] = sqrt(0.5);
        c.draft[2 * k + 1] = 1 - sqrt(0.5);
    }
    assert_within(joint_overlap(&c, 0, 0, 2, 1, 1), 2 - sqrt(2), 1e-15);
    /* No rows have a larger overlap, so block verification, which keeps all of it, keeps the
     * most. */
    for (int i = 0; i <= 200; i++)
        for (int j = 0; j <= 200; j++) {
            c.draft[0] = i / 200.0;
            c.draft[1] = 1 - c.draft[0];
            c.draft[2] = j / 200.0;
            c.draft[3] = 1 - c.draft[2];
            assert_true(joint_overlap(&c, 0, 0, 2, 1, 1) <= 2 - sqrt(2));
        }
    spec_block_tree_work_free(&c.work);
    /* Whole blocks repair half of a small loss. */
    static const double h = 1e-4, nearly[3] = {.5, 1 - 2 * h, 1};
    two_tokens(&c, nearly, 2);
    spec_block_tree_bounds(bound, &c.tree, 0, &c.work);
    assert_within(bound[1], 1 - h, 1e-15);
    const double rows[4] = {(1 - 2 * h) / (2 - 2 * h), 1 / (2 - 2 * h), 1 - h, h};
    memcpy(c.draft, rows, sizeof rows);
    assert_within(joint_overlap(&c, 0, 0, 2, 1, 1), 1 - h / (2 - 2 * h), 1e-15);
    spec_block_tree_work_free(&c.work);
}

TEST(whole_blocks_can_repair_three_fifths_of_what_three_rows_lose)
{
    for (int i = 0; i < 3; i++) {
        const double h = pow(10, -1 - i), chance[7] = {.6, h, 0, 1 / 3., 0, 0, 0};
        const double a = (3 - 3 * h) / (5 - 3 * h), rows[6] = {a, 1 - a, .6 * h, 1 - .6 * h, 0, 1};
        double most = 0, tail[3];
        tree_case c;
        two_tokens(&c, chance, 3);
        for (int v = 0; v < 4; v++) { /* rows at values of the target's rows */
            const double second = chance[1 + v % 2], third = chance[3 + v / 2];
            const double tried[6] = {.6, .4, second, 1 - second, third, 1 - third};
            spec_block_tree_tails(tail, &c.tree, tried, &c.work);
            most = fmax(most, tail[2]);
        }
        assert_within(most, 1 - .6 * h, 1e-15);
        memcpy(c.draft, rows, sizeof rows);
        assert_within(joint_overlap(&c, 0, 0, 3, 1, 1), 1 - 6 * h / (25 - 15 * h), 1e-15);
        spec_block_tree_work_free(&c.work);
    }
}

TEST(trees_have_limits)
{
    OWNED(spec_block_tree_work) work;
    assert_int_equal(spec_block_tree_rows(3, 4), 40);
    assert_int_equal(spec_block_tree_rows(1, 7), 7);
    assert_int_equal(spec_block_tree_rows(2, 22), (1 << 22) - 1);
    assert_int_equal(spec_block_tree_rows(2, 23), 0);
    assert_int_equal(spec_block_tree_rows(1 << 22, 2), 0);
    assert_int_equal(spec_block_tree_rows(0, 3), 0);
    assert_int_equal(spec_block_tree_rows(3, 0), 0);
    assert_int_equal(spec_block_tree_work_init(&work, 2, 23), GSL_EDOM);
}
