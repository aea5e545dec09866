/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/cascade.h"

#include "analysis/capped_geometric.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>
#include <string.h>

enum { TOKENS = 400 };

/* The law of the tokens of a round, by convolution: law[t], t < TOKENS. */
static void law_of(double *ret_law, const spec_cascade *c, int level)
{
    memset(ret_law, 0, TOKENS * sizeof *ret_law);
    if (level == c->n - 1) {
        ret_law[1] = 1.0;
        return;
    }
    double inner[TOKENS], drafts[TOKENS] = {1.0}, sum[TOKENS];
    law_of(inner, c, level + 1);
    for (int r = 0; r < c->rounds[level]; r++) {
        memset(sum, 0, sizeof sum);
        for (int a = 0; a < TOKENS; a++)
            for (int b = 0; drafts[a] > 0.0 && a + b < TOKENS; b++)
                sum[a + b] += drafts[a] * inner[b];
        memcpy(drafts, sum, sizeof drafts);
    }
    for (int d = 0; d < TOKENS; d++)
        for (int t = 1; drafts[d] > 0.0 && t <= d + 1; t++)
            ret_law[t] += drafts[d] * spec_capped_geometric_probability(c->alpha[level], d, t - 1);
}

static const double alphas[][3] = {
    {0.7, 0.8, 0.55}, {0.95, 0.4, 0.9}, {1.0, 0.6, 0.0}, {0.35, 1.0, 0.8}, {0.0, 0.5, 0.5}};
static const double costs[] = {1.0, 0.3, 0.07, 0.01};
static const int lengths[][3] = {{1, 1, 1}, {3, 2, 4}, {2, 5, 1}, {4, 3, 3}, {0, 3, 2}};

TEST(the_recursion_agrees_with_the_distribution_of_the_tokens)
{
    for (int n = 1; n <= 4; n++)
        for (int a = 0; a < 5; a++)
            for (int l = 0; l < 5; l++) {
                const spec_cascade c = {n, alphas[a], costs, lengths[l]};
                double law[TOKENS], mean = 0.0, total = 0.0;
                law_of(law, &c, 0);
                for (int t = 0; t < TOKENS; t++) {
                    total += law[t];
                    mean += t * law[t];
                }
                assert_within(total, 1.0, 1e-12);
                assert_near(spec_cascade_emitted(&c), mean, 1e-12);
            }
}

TEST(two_models_are_eq_1_and_plain_decoding_is_one_token)
{
    const spec_cascade one = {.n = 1, .cost = costs};
    assert_true(spec_cascade_emitted(&one) == 1.0 && spec_cascade_cost(&one) == 1.0);
    for (int K = 0; K < 20; K++) {
        const spec_cascade two = {2, (const double[]){0.73}, costs, &K};
        assert_near(spec_cascade_emitted(&two), spec_capped_geometric_mean(0.73, K), 1e-14);
        assert_near(spec_cascade_cost(&two), 1.0 + 0.3 * K, 1e-15);
    }
}

/* Computed by the recursion of G with 60 digits. In doubles that recursion is wrong by 2e-8 at the
 * first alpha and by 4e-5 at the second. */
TEST(alpha_close_to_1_loses_no_digits)
{
    static const double given[][2] = {{1e-9, 8.31999996857920131}, {1e-12, 8.31999999996858024}};
    for (int i = 0; i < 2; i++) {
        const double alpha[] = {1.0 - given[i][0], 0.8};
        const spec_cascade c = {3, alpha, costs, lengths[1]};
        assert_near(spec_cascade_emitted(&c), given[i][1], 1e-15);
    }
}

/* The probability that the target rejects some token is then 1, and rounding makes it a little
 * more. */
TEST(a_probability_that_rounds_above_1_is_1)
{
    const double alpha[] = {0.51873943116515875, 1.0};
    const spec_cascade c = {3, alpha, costs, (const int[]){61, 62}};
    assert_near(spec_cascade_emitted(&c), 1.0 / (1.0 - alpha[0]), 1e-15);
}

/* The time of a round by hand: 1 + 3 (.3 + 2 (.07 + 4 .01)). */
TEST(costs_of_nested_rounds)
{
    const spec_cascade c = {4, alphas[0], costs, lengths[1]};
    assert_near(spec_cascade_cost(&c), 2.56, 1e-14);
}

TEST(the_best_rounds_are_no_worse_than_any_and_stay_within_the_limit)
{
    int best[2];
    const double speedup = spec_cascade_best(best, 3, alphas[0], costs, 9);
    double most = 0.0;
    for (int i = 1; i <= 9; i++)
        for (int j = 1; j <= 9; j++) {
            const spec_cascade c = {3, alphas[0], costs, (const int[]){i, j}};
            const double here = spec_cascade_emitted(&c) / spec_cascade_cost(&c);
            most = fmax(most, here);
            if (i == best[0] && j == best[1]) assert_true(here == speedup);
        }
    assert_true(most == speedup);
    assert_true(isnan(spec_cascade_best(best, 1, alphas[0], costs, 9)));
    assert_true(spec_cascade_best(best, 3, (const double[]){1.0, 1.0}, costs, 3) > 0.0 &&
                best[0] == 3 && best[1] == 3);
}
