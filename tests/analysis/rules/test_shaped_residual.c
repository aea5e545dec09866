/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks what could be gained without loss if the residual depended on the rejected token: nothing
 * over rrs with two iid drafts, something with three. docs/formulas/newer-rules.md#resispec. */
#include "analysis/rules/multi_draft.h"
#include "analysis/rules/optimal.h"
#include "tests/support/order_value.h"
#include "tests/support/support.h"
#include "tests/support/tuples.h"

/* Splits the residual among the rejected tokens at random: ret[x] (V) sums to (draft - target)+ at
 * x, and the sum over x is (target - draft)+. Each x in turn takes from what is left, in a random
 * order of tokens. */
static void split(double ret[][TUPLES_V], const double *target, const double *draft, int V,
                  gsl_rng *rng)
{
    double left[TUPLES_V];
    int order[TUPLES_V];
    for (int i = 0; i < V; i++) left[i] = fmax(0, target[i] - draft[i]);
    for (int x = 0; x < V; x++) {
        double wants = fmax(0, draft[x] - target[x]);
        for (int i = 0; i < V; i++) order[i] = i;
        gsl_ran_shuffle(rng, order, (size_t)V, sizeof *order);
        for (int k = 0; k < V; k++) {
            const int i = order[k];
            ret[x][i] = fmin(left[i], wants);
            left[i] -= ret[x][i];
            wants -= ret[x][i];
        }
    }
}

/* Returns the acceptance of n iid drafts if rrs continues from the split residual after the first
 * rejection. */
static double split_acceptance(double given[][TUPLES_V], const double *target, const double *draft,
                               int V, int n)
{
    double sum = 0;
    for (int x = 0; x < V; x++) {
        double mass = 0, residual[TUPLES_V];
        sum += fmin(target[x], draft[x]);
        for (int i = 0; i < V; i++) mass += given[x][i];
        if (!(mass > 1e-12)) continue;
        for (int i = 0; i < V; i++) residual[i] = given[x][i] / mass;
        sum += mass * value(spec_multi_draft_rrs, residual, draft, V, n - 1);
    }
    return sum;
}

TEST(no_split_of_the_residual_beats_rrs_with_two_drafts)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    int less = 0;
    for (int i = 0; i < 4000; i++) {
        double target[TUPLES_V], draft[TUPLES_V], given[TUPLES_V][TUPLES_V];
        const int V = 2 + i % 4;
        tuples_row(target, V, i / 20 % 4, rng);
        tuples_row(draft, V, i / 80 % 4, rng);
        split(given, target, draft, V, rng);
        const double rrs = value(spec_multi_draft_rrs, target, draft, V, 2),
                     other = split_acceptance(given, target, draft, V, 2);
        assert_true(other <= rrs + 1e-11);
        less += other < rrs - 1e-6;
    }
    assert_true(less > 200);
}

/* The part of rejected token 0 has all of token 1's residual and .6 of token 2's; that of token 3
 * has only token 2. Exact fractions. */
TEST(a_split_beats_rrs_with_three_drafts)
{
    const double target[4] = {0, 0.4, 0.6, 0}, draft[4] = {2. / 7, 2. / 7, 2. / 7, 1. / 7};
    double given[TUPLES_V][TUPLES_V] = {{0, 4. / 35, 6. / 35, 0}, {0}, {0}, {0, 0, 5. / 35, 0}};
    assert_within(value(spec_multi_draft_rrs, target, draft, 4, 2), 198. / 245, 1e-15);
    assert_within(split_acceptance(given, target, draft, 4, 2), 38. / 49, 1e-15);
    assert_within(value(spec_multi_draft_rrs, target, draft, 4, 3), 296. / 343, 1e-15);
    assert_within(split_acceptance(given, target, draft, 4, 3), 1496. / 1715, 1e-15);
    assert_within(value(spec_optimal_iid, target, draft, 4, 3), 316. / 343, 1e-15);
}
