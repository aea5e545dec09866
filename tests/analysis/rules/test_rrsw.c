/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks recursive rejection without replacement: the closed form against the rule, applied to
 * every tuple of drafts, and to whole rows. */
#include "analysis/rules/rrsw.h"

#include "tests/support/order_value.h"
#include "tests/support/support.h"
#include "tests/support/tuples.h"

#include <string.h>

enum { V_MAX = TUPLES_V };

/* Printed by tests/oracle/vectors.py. */
TEST(known_vectors)
{
    assert_within(value(spec_rrsw_acceptance, target1, draft1, 3, 1), 0.7, 1e-15);
    assert_within(value(spec_rrsw_acceptance, target1, draft1, 3, 2), 283.0 / 350, 1e-15);
    assert_within(value(spec_rrsw_acceptance, target2, draft2, 3, 2), 0.875, 1e-15);
    assert_within(value(spec_rrsw_acceptance, target1, draft1, 3, 3), 1, 1e-15);
}

TEST(without_replacement_covers_all_with_as_many_drafts_as_tokens)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int i = 0; i < 60; i++) {
        double target[V_MAX], draft[V_MAX];
        int V = 1 + i % 5;
        tuples_row(target, V, i % 4, rng);
        tuples_row(draft, V, i / 4 % 4, rng);
        assert_same(value(spec_rrsw_acceptance, target, draft, V, V), 1);
        assert_same(value(spec_rrsw_acceptance, target, draft, V, V + 1), 1);
    }
}

/* The draft has nearly all probability on token 0, so the rest must not be computed by a
 * subtraction: 1 - draft(0) is 4e-13. By hand, it drafts token 0, then one of the others in the
 * proportions 1 to 3. */
TEST(without_replacement_keeps_the_digits_of_a_small_rest)
{
    double rest = 4e-13, draft[3] = {1 - rest, rest / 4, rest * 3 / 4}, target[3] = {0, 0.5, 0.5};
    /* round 1 accepts `rest`; up to terms of that size the residual is then (1/2, 1/2), the draft
     * (1/4, 3/4), and their overlap 3/4 */
    assert_within(value(spec_rrsw_acceptance, target, draft, 3, 2), 0.75, 1e-12);
    double draft4[4] = {1 - rest, rest * 0.27, rest * 0.33, rest * 0.4},
           target4[4] = {0, 0.5, 0.25, 0.25};
    /* then 1/2, 1/4, 1/4 against .27, .33, .4: .77; without token 2 (.08) the residual is token 1
     * alone, draft .27/.67; without 3 (.15), .27/.6 */
    double third = 0.08 * 0.27 / 0.67 + 0.15 * 0.27 / 0.6;
    assert_within(value(spec_rrsw_acceptance, target4, draft4, 4, 3), 0.77 + third, 1e-12);
}

/* Sums over tuples of distinct tokens with the rule's own quantities, for a vocabulary too large
 * for the enumeration of tuples.h. */
static double rrsw_by_rows(const double *target, const double *draft, int V, int n)
{
    double next[64], law[64], left = 0, sum = 0, accepted = 0;
    for (int x = 0; x < V; x++) left += draft[x];
    for (int x = 0; x < V; x++) law[x] = draft[x] / left;
    for (int x = 0; x < V; x++) accepted += fmin(target[x], law[x]);
    if (n == 1) return accepted;
    for (int x = 0; x < V; x++) sum += next[x] = fmax(0, target[x] - law[x]);
    for (int x = 0; x < V; x++) next[x] /= sum;
    for (int x = 0; x < V; x++) {
        if (law[x] <= target[x]) continue;
        double without[64];
        memcpy(without, draft, (size_t)V * sizeof(double));
        without[x] = 0;
        accepted += (law[x] - target[x]) * rrsw_by_rows(next, without, V, n - 1);
    }
    return accepted;
}

TEST(without_replacement_is_the_recursion_over_rows)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    const struct {
        int V, n;
    } sizes[] = {{40, 2}, {40, 3}, {12, 4}, {9, 5}, {60, 2}};
    for (int i = 0; i < 20; i++) {
        double target[64], draft[64];
        int V = sizes[i % 5].V, n = sizes[i % 5].n;
        tuples_row(target, V, i / 5 % 2, rng);
        tuples_row(draft, V, i / 10 % 2, rng);
        assert_within(value(spec_rrsw_acceptance, target, draft, V, n),
                      rrsw_by_rows(target, draft, V, n), 1e-13);
    }
}

TEST(without_replacement_from_an_even_draft_needs_no_paths)
{
    double target[9] = {0.27, 0.03, 0.11, 0.19, 0.07, 0.13, 0.02, 0.1, 0.08}, even[9],
           one[9] = {0, 0, 0, 0, 0, 0, 1, 0, 0};
    for (int x = 0; x < 9; x++) even[x] = 1. / 9;
    /* it does not matter which tokens were drawn: c_{k+1} = c_k + sum / (1 - k/9) */
    double scale = 1;
    for (int n = 1; n <= 6; n++) {
        double sum = 0;
        for (int x = 0; x < 9; x++) sum += fmax(0, target[x] - scale / 9);
        assert_within(value(spec_rrsw_acceptance, target, even, 9, n), 1 - sum, 1e-14);
        scale += sum / (1 - n / 9.);
    }
    /* the draft has a single token, which is accepted or not; the next ones are uniform */
    double others[8] = {0.27, 0.03, 0.11, 0.19, 0.07, 0.13, 0.1, 0.08}, even8[8];
    for (int x = 0; x < 8; x++) {
        others[x] /= 0.98;
        even8[x] = 0.125;
    }
    assert_within(value(spec_rrsw_acceptance, target, one, 9, 1), 0.02, 1e-16);
    for (int n = 2; n <= 6; n++) {
        double after = value(spec_rrsw_acceptance, others, even8, 8, n - 1);
        assert_within(value(spec_rrsw_acceptance, target, one, 9, n), 0.02 + 0.98 * after, 1e-14);
    }
}

/* If the target equals the draft without one token, the rule never accepts that token, and then
 * accepts all others. */
TEST(a_residual_that_is_what_is_left_of_the_draft_is_accepted)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    enum { V = 64 };
    for (int i = 0; i < 200; i++) {
        double target[V], draft[V], rest = 0;
        int n = 2 + i % 2;
        tuples_row(draft, 8, 0, rng);
        for (int x = 1; x < 8; x++) rest += draft[x];
        for (int x = 0; x < 8; x++) target[x] = x > 0 ? draft[x] / rest : 0;
        assert_within(value(spec_rrsw_acceptance, target, draft, 8, n), 1, 1e-14);
        /* after a draft with a single token the next ones are uniform */
        int size = 3 + i % (V - 2);
        for (int x = 0; x < size; x++) {
            target[x] = x > 0 ? 0.73 / (size - 1) : 0.27;
            draft[x] = x == 0;
        }
        assert_within(value(spec_rrsw_acceptance, target, draft, size, 2), 1, 1e-14);
        /* tokens that the target excludes are never accepted */
        tuples_row(target, 8, 0, rng);
        tuples_row(draft + 8, 8, 0, rng);
        for (int x = 0; x < 8; x++) draft[x] = target[x + 8] = 0;
        assert_within(value(spec_rrsw_acceptance, target, draft, 16, n), 0, 1e-14);
        assert_false(value(spec_rrsw_acceptance, target, draft, 16, n) < 0);
    }
}

TEST(too_many_paths_are_refused)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    static double large[44722];
    tuples_row(large, 44722, 0, rng);
    assert_nan(value(spec_rrsw_acceptance, large, large, 44722, 3));
    assert_within(value(spec_rrsw_acceptance, large, large, 44722, 2), 1, 1e-15);
    tuples_row(large, 1260, 0, rng);
    assert_nan(value(spec_rrsw_acceptance, large, large, 1260, 4));
    tuples_row(large, 1259, 0, rng);
    assert_within(value(spec_rrsw_acceptance, large, large, 1259, 4), 1,
                  1e-15); /* equal rows: the first token is accepted, so no paths are walked */
}

TEST(it_is_what_the_rule_accepts_of_every_tuple)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    static tuples all;
    for (int i = 0; i < 200; i++) {
        const int V = 1 + i % 5, n = 1 + i / 5 % 3;
        double target[V_MAX], draft[V_MAX], law[V_MAX], accepted = 0;
        tuples_row(target, V, i % 4, rng);
        tuples_row(draft, V, i / 4 % 4, rng);
        tuples_without_replacement(&all, draft, V, n);
        for (int a = 0; a < all.size; a++) {
            double left[V_MAX], rest = 1;
            memcpy(left, target, sizeof left);
            for (int k = 0; k < all.n && rest > 0; k++) {
                const int x = all.token[a][k];
                double sum = 0;
                tuples_next(law, draft, V, all.token[a], k);
                const double kept = fmin(1, left[x] / law[x]);
                accepted += all.chance[a] * rest * kept;
                rest *= 1 - kept;
                for (int y = 0; y < V; y++) sum += left[y] = fmax(0, left[y] - law[y]);
                for (int y = 0; y < V && sum > 0; y++) left[y] /= sum;
            }
        }
        assert_within(value(spec_rrsw_acceptance, target, draft, V, n), accepted, 2e-13);
    }
}

TEST(outside_the_domain_there_is_no_number)
{
    static const double bad[3] = {0.5, NAN, 0.5};
    for (int n = -1; n <= 0; n++) assert_nan(value(spec_rrsw_acceptance, target1, draft1, 3, n));
    assert_nan(value(spec_rrsw_acceptance, target1, draft1, 3, SPEC_DRAFTS_MAX + 1));
    assert_same(value(spec_rrsw_acceptance, target1, draft1, 3, SPEC_DRAFTS_MAX), 1);
    assert_nan(value(spec_rrsw_acceptance, bad, draft1, 3, 1));
}
