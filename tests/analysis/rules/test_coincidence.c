/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the probability that an independent token is among the drafts: the formulas against every
 * tuple of drafts. */
#include "analysis/rules/coincidence.h"

#include "tests/support/order_value.h"
#include "tests/support/support.h"
#include "tests/support/tuples.h"

#include <gsl/gsl_rng.h>

/* A probability is never above 1, even after rounding. */
static double at_most_one(acceptance *of, const double *target, const double *draft, int V, int n)
{
    const double accepted = value(of, target, draft, V, n);
    assert_false(accepted > 1);
    return accepted;
}

static double overlap(const spec_ratio_order *order, int n)
{
    return spec_ratio_order_common(order, n);
}

/* Returns the mass of a law (V) on tokens from..n-1 of a tuple, counting each token once. */
static double mass_on(const double *law, int V, const int *token, int from, int n)
{
    double mass = 0;
    for (int x = 0; x < V; x++) {
        bool there = false;
        for (int k = from; k < n; k++) there |= token[k] == x;
        if (there) mass += law[x];
    }
    return mass;
}

static double match_by_tuples(const tuples *all, const double *target, int V)
{
    double sum = 0;
    for (int i = 0; i < all->size; i++)
        sum += all->chance[i] * mass_on(target, V, all->token[i], 0, all->n);
    return sum;
}

static double naive_tree_by_tuples(const tuples *all, const double *target, const double *draft,
                                   int V)
{
    double residual[TUPLES_V], left = 0, sum = 0;
    for (int x = 0; x < V; x++) left += residual[x] = fmax(0, target[x] - draft[x]);
    for (int i = 0; i < all->size; i++) {
        const int first = all->token[i][0];
        const double passes = fmin(1, target[first] / draft[first]);
        const double kept =
            left > 0 ? mass_on(residual, V, all->token[i], 1, all->n) / left : 0;
        sum += all->chance[i] * (passes + (1 - passes) * kept);
    }
    return sum;
}

/* Both models have rows with peaks, ties, zeros and a single token. */
TEST(formulas_are_the_sums_over_every_tuple)
{
    static tuples all;
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int i = 0; i < 1600; i++) {
        double target[TUPLES_V], draft[TUPLES_V];
        const int V = 2 + i % 4, n = 1 + i / 4 % 5;
        tuples_row(target, V, i / 20 % 4, rng);
        tuples_row(draft, V, i / 80 % 4, rng);
        tuples_without_replacement(&all, draft, V, n);
        assert_within(at_most_one(spec_coincidence_match_without, target, draft, V, n),
                      match_by_tuples(&all, target, V), 1e-13);
        if (n <= 2 || n >= V)
            assert_within(at_most_one(spec_coincidence_naive_tree_without, target, draft, V, n),
                          naive_tree_by_tuples(&all, target, draft, V), 1e-13);
        else assert_nan(at_most_one(spec_coincidence_naive_tree_without, target, draft, V, n));
        if (n <= V) {
            tuples_greedy(&all, draft, V, n);
            assert_within(at_most_one(spec_coincidence_match_greedy, target, draft, V, n),
                          match_by_tuples(&all, target, V), 1e-13);
        }
        assert_within(at_most_one(spec_coincidence_naive_tree_hub, target, draft, V, 1),
                      at_most_one(overlap, target, draft, V, 1), 0);
        tuples_hub(&all, draft, V);
        assert_within(at_most_one(spec_coincidence_match_greedy, target, draft, V, 2),
                      match_by_tuples(&all, target, V), 1e-13);
        assert_within(at_most_one(spec_coincidence_naive_tree_hub, target, draft, V, 2),
                      naive_tree_by_tuples(&all, target, draft, V), 1e-13);
    }
}

/* If there are too many tuples: two drafts, by the sum and by the race, for rows over many orders
 * of magnitude; and a uniform draft, in which each token is among n of V with probability n/V. */
TEST(the_race_agrees_with_the_sum_for_two_and_with_an_even_draft)
{
    enum { V = 300 };
    double target[V], draft[V], even[V];
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int x = 0; x < V; x++) even[x] = 1.0 / V;
    for (int kind = 0; kind < 3; kind++) {
        tuples_row(target, V, 0, rng);
        tuples_row(draft, V, kind, rng);
        assert_within(at_most_one(spec_coincidence_match_race, target, draft, V, 2),
                      at_most_one(spec_coincidence_match_without, target, draft, V, 2), 1e-13);
        assert_within(at_most_one(spec_coincidence_match_race, target, draft, V, 1),
                      at_most_one(spec_multi_draft_match, target, draft, V, 1), 1e-13);
        const int n[] = {3, 6, 7, 24, 25, 64};
        for (size_t i = 0; i < sizeof n / sizeof n[0]; i++)
            assert_within(at_most_one(spec_coincidence_match_without, target, even, V, n[i]),
                          n[i] / (double)V, 1e-13);
    }
}

/* Draft probabilities so small that adding them to 1 changes nothing, and that the race never
 * reaches. */
TEST(the_least_draft_probabilities_do_no_harm)
{
    const double target[] = {0.5, 0.3, 0.2}, two[] = {0.27, 0.73, 0x1p-1074},
                 one[] = {1, 0x1p-1074, 0};
    assert_within(at_most_one(spec_coincidence_match_race, target, two, 3, 2), 0.8, 1e-14);
    assert_within(at_most_one(spec_coincidence_match_without, target, two, 3, 2), 0.8, 1e-15);
    assert_within(at_most_one(spec_coincidence_naive_tree_hub, target, one, 3, 2), 0.8,
                  1e-15); /* .5 + .5 .3/.5 */
}

/* What one function leaves in the order's workspace does not affect the next one. */
TEST(one_order_serves_all)
{
    const double target[] = {0.25, 0.25, 0.5}, drafts[][3] = {{0.5, 0.25, 0.25}, {1, 0, 0}};
    OWNED(spec_ratio_order) order;
    assert_int_equal(spec_ratio_order_init(&order, 3), GSL_SUCCESS);
    for (int i = 0; i < 2; i++) {
        static acceptance *const all[] = {spec_coincidence_match_without,
                                          spec_coincidence_naive_tree_without,
                                          spec_coincidence_naive_tree_hub};
        assert_int_equal(spec_ratio_order_sort(&order, target, drafts[i]), GSL_SUCCESS);
        for (size_t k = 0; k < sizeof all / sizeof all[0]; k++) {
            assert_within(spec_coincidence_match_greedy(&order, 2),
                          at_most_one(spec_coincidence_match_greedy, target, drafts[i], 3, 2), 0);
            assert_within(all[k](&order, 2), at_most_one(all[k], target, drafts[i], 3, 2), 0);
        }
    }
}

TEST(outside_of_the_domain_there_is_no_number)
{
    static acceptance *const all[] = {
        spec_coincidence_match_without, spec_coincidence_match_race, spec_coincidence_match_greedy,
        spec_coincidence_naive_tree_without, spec_coincidence_naive_tree_hub};
    const double target[] = {0.5, 0.3, 0.2}, draft[] = {0.27, 0.73, 0};
    spec_ratio_order order;
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        assert_nan(at_most_one(all[i], target, draft, 3, 0));
        assert_nan(at_most_one(all[i], target, draft, 3, SPEC_DRAFTS_MAX + 1));
        assert_int_equal(spec_ratio_order_init(&order, 3), GSL_SUCCESS);
        assert_int_equal(spec_ratio_order_sort(&order, target, (double[]){0.5, 0.6, 0}), GSL_EDOM);
        assert_nan(all[i](&order, 1));
        spec_ratio_order_free(&order);
    }
    assert_nan(at_most_one(spec_coincidence_match_race, target, draft, 3,
                           2)); /* the race has only two clocks */
    assert_nan(at_most_one(spec_coincidence_naive_tree_hub, target, draft, 3, 3));
    const double one[] = {1};
    for (int n = 1; n < 3; n++) {
        assert_within(at_most_one(spec_coincidence_match_without, one, one, 1, n), 1, 0);
        assert_within(at_most_one(spec_coincidence_match_greedy, one, one, 1, n), 1, 0);
        assert_within(at_most_one(spec_coincidence_naive_tree_without, one, one, 1, n), 1, 0);
        assert_within(at_most_one(spec_coincidence_naive_tree_hub, one, one, 1, n), 1, 0);
    }
}
