/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the formulas for tail siblings against every draw, and the optimum against every set of
 * tokens. */
#include "analysis/rules/tail_drafts.h"

#include "analysis/rules/multi_draft.h"
#include "tests/support/order_value.h"
#include "tests/support/support.h"
#include "tests/support/tuples.h"

static double mass_on(const double *law, int V, const int *token, int n)
{
    double mass = 0;
    for (int x = 0; x < V; x++) {
        bool there = false;
        for (int k = 0; k < n; k++) there |= token[k] == x;
        if (there) mass += law[x];
    }
    return mass;
}

static double match_by_draws(const tuples *all, const double *target, int V)
{
    double sum = 0;
    for (int i = 0; i < all->size; i++)
        sum += all->chance[i] * mass_on(target, V, all->token[i], all->n);
    return sum;
}

/* The drawn token is the second one of each tuple, so its probability is that of the tuple. */
static double token_by_draws(const tuples *all, const double *target, int V)
{
    double tail[TUPLES_V] = {0}, residual[TUPLES_V], left = 0, sum = 0;
    for (int i = 0; i < all->size; i++) tail[all->token[i][1]] = all->chance[i];
    for (int x = 0; x < V; x++) left += residual[x] = fmax(0, target[x] - tail[x]);
    for (int i = 0; i < all->size; i++) {
        const double law = all->chance[i], passes = fmin(law, target[all->token[i][1]]);
        sum += passes;
        if (left > 0) sum += (law - passes) * mass_on(residual, V, all->token[i], all->n) / left;
    }
    return sum;
}

/* 1 + min over all sets of tokens of [target - chance that all siblings are in it]. */
static double optimum_by_sets(const tuples *all, const double *target, int V)
{
    double least = 0;
    for (int set = 0; set < 1 << V; set++) {
        double gap = 0;
        for (int x = 0; x < V; x++) gap += set >> x & 1 ? target[x] : 0;
        for (int i = 0; i < all->size; i++) {
            bool inside = true;
            for (int k = 0; k < all->n; k++) inside &= set >> all->token[i][k] & 1;
            gap -= inside ? all->chance[i] : 0;
        }
        least = fmin(least, gap);
    }
    return 1 + least;
}

TEST(formulas_are_the_sums_over_every_draw)
{
    static tuples all;
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    int below = 0;
    for (int i = 0; i < 4000; i++) {
        double target[TUPLES_V], draft[TUPLES_V];
        const int V = 2 + i % 4, n = 2 + i / 4 % 4;
        tuples_row(target, V, i / 20 % 4, rng);
        tuples_row(draft, V, i / 80 % 4, rng);
        if (n > V) {
            assert_same(value(spec_tail_drafts_token, target, draft, V, n), 1);
            continue;
        }
        tuples_tail(&all, draft, V, n);
        const double token = value(spec_tail_drafts_token, target, draft, V, n),
                     optimum = value(spec_tail_drafts_optimum, target, draft, V, n);
        assert_within(value(spec_tail_drafts_match, target, draft, V, n),
                      match_by_draws(&all, target, V), 1e-14);
        assert_within(token, token_by_draws(&all, target, V), 1e-14);
        assert_within(optimum, optimum_by_sets(&all, target, V), 1e-14);
        assert_true(token <= optimum + 1e-15);
        if (n == 2)
            assert_within(token, value(spec_multi_draft_greedy, target, draft, V, 2), 1e-14);
        if (n == 2) assert_within(token, optimum, 1e-14);
        below += token < optimum - 1e-9;
    }
    print_message("below the optimum on %d\n", below);
    assert_true(below > 50); /* beyond two siblings the token rule is not optimal */
}

/* By hand: B = {0, 1}, x_3 = 2, tail (0, .5, .3, .2), b = .5. Siblings are {0, 1, 2} with chance
 * .8 and {0, 1, 3} with .2. U = .4 is all of R = .5 but the .1 of token 3. */
TEST(known_vector)
{
    const double target[4] = {0.1, 0.1, 0.7, 0.1}, draft[4] = {0.5, 0.25, 0.15, 0.1};
    assert_within(value(spec_tail_drafts_match, target, draft, 4, 3), 0.2 + 0.8 * 0.7 + 0.2 * 0.1,
                  1e-15);
    assert_within(value(spec_tail_drafts_token, target, draft, 4, 3),
                  0.2 + 0.3 + 0.1 + 0.4 * 0.4 / 0.5, 1e-15);
    assert_within(value(spec_tail_drafts_optimum, target, draft, 4, 3), 0.2 + 0.7 + 0.1, 1e-15);
}

TEST(outside_the_domain_is_nan)
{
    assert_nan(value(spec_tail_drafts_match, target1, draft1, 3, 1));
    assert_nan(value(spec_tail_drafts_token, target1, draft1, 3, 1));
    assert_nan(value(spec_tail_drafts_optimum, target1, draft1, 3, SPEC_DRAFTS_MAX + 1));
}
