/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/request_life.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

enum { LENGTH = 6, STEPS = LENGTH + 1, M = 3 };

/* Second route: enumerates all lives, and adds up their moments. */
typedef struct {
    const double *round, *tail;
    spec_request_costs costs;
    double alive[STEPS], added[STEPS], pair[STEPS][STEPS], still[STEPS][STEPS], total2;
} enumeration;

static void count_life(enumeration *e, const double *added, int steps, double chance)
{
    double total = 0.0;
    for (int j = 0; j < steps; j++) {
        total += added[j];
        e->alive[j] += chance;
        e->added[j] += chance * added[j];
        for (int i = 0; i <= j; i++) {
            e->pair[i][j] += chance * added[i] * added[j];
            e->still[i][j] += chance * added[i];
        }
    }
    e->total2 += chance * total * total;
}

/* Continues with another round if the length exceeds `sum`; `chance` is the probability of the
 * rounds alone. */
static void walk(enumeration *e, double *added, int steps, int prompt, int sum, double chance)
{
    const double tail = sum < LENGTH ? e->tail[sum] : 0.0;
    if (tail == 0.0) return;
    added[steps] = e->costs.round + e->costs.context * (prompt + sum);
    for (int i = 1; i <= M; i++) {
        const double here = chance * e->round[i - 1];
        const double on = sum + i < LENGTH ? e->tail[sum + i] : 0.0;
        count_life(e, added, steps + 1, here * (tail - on));
        walk(e, added, steps + 1, prompt, sum + i, here);
    }
}

static double pair_of(const spec_request_life *life, int i, int j)
{
    if (i == j) return life->square[j];
    return i == 0 ? life->first[j] : life->pair[j] + i * life->slope[j];
}

static double still_of(const spec_request_life *life, int i, int j)
{
    if (i == j) return life->added[j];
    return i == 0 ? life->early[j] : life->level[j] + i * life->rise[j];
}

/* With the square of the mean prompt instead of its mean square, pairs are off by 1e-3. */
TEST(moments_are_those_of_all_lives)
{
    static const double round[M] = {0.27, 0.385, 0.345};
    static const double tail[2][LENGTH] = {{1, 1, 1, 1, 1, 1}, {1.0, 0.9, 0.7, 0.41, 0.2, 0.06}};
    static const int prompts[2] = {11, 4};
    const spec_affine_step cost = {.step = 0.9,
                                   .token = 0.05,
                                   .kv = 0.013,
                                   .draft_round = 0.2,
                                   .draft_pass = 0.07,
                                   .draft_token = 0.021};
    for (int varied = 0; varied < 2; varied++)
        for (int prefill = 0; prefill < 2; prefill++)
            for (int alone = 0; alone < 2; alone++) {
                double shifted[LENGTH] = {0};
                for (int s = 0; s + prefill < LENGTH; s++) shifted[s] = tail[varied][s + prefill];
                enumeration e = {.round = round, .tail = shifted};
                e.costs = alone ? spec_request_costs_alone(&cost, M - 1)
                                : spec_request_costs_shared(&cost, M - 1);
                double added[STEPS] = {0};
                for (int p = 0; p < 2; p++) {
                    if (prefill) {
                        added[0] = e.costs.prefill + e.costs.prompt_token * prompts[p];
                        count_life(&e, added, 1, 0.5 * (1.0 - shifted[0]));
                    }
                    walk(&e, added, prefill, prefill ? prompts[p] : 0, 0, 0.5);
                }

                OWNED(spec_rounds_law) rounds;
                OWNED(spec_request_life) life;
                assert_int_equal(spec_rounds_law_init(&rounds, LENGTH - prefill), GSL_SUCCESS);
                assert_int_equal(spec_request_life_init(&life, LENGTH, prefill), GSL_SUCCESS);
                assert_int_equal(
                    spec_rounds_law_add(&rounds, 1.0, round, M, 0.0, shifted, LENGTH - prefill),
                    GSL_SUCCESS);
                const double mean = prefill ? 7.5 : 0.0, square = prefill ? 68.5 : 0.0;
                assert_int_equal(
                    spec_request_life_add(&life, 0.25, &e.costs, &rounds, mean, square),
                    GSL_SUCCESS);
                assert_int_equal(
                    spec_request_life_add(&life, 0.75, &e.costs, &rounds, mean, square),
                    GSL_SUCCESS);
                double steps = 0.0, total = 0.0;
                for (int j = 0; j < life.n; j++) {
                    assert_within(life.alive[j], e.alive[j], 1e-15);
                    assert_within(life.added[j], e.added[j], 1e-14);
                    for (int i = 0; i <= j; i++) {
                        assert_within(pair_of(&life, i, j), e.pair[i][j], 1e-14);
                        assert_within(still_of(&life, i, j), e.still[i][j], 1e-14);
                    }
                    steps += e.alive[j];
                    total += e.added[j];
                }
                assert_near(spec_request_life_steps(&life), steps, 1e-14);
                assert_near(spec_request_life_total(&life), total, 1e-14);
                assert_near(spec_request_life_total_square(&life), e.total2, 1e-14);
            }
}

TEST(costs_alone_have_the_steps_own_time)
{
    const spec_affine_step cost = {.step = 0.01,
                                   .token = 0.001,
                                   .kv = 1e-5,
                                   .draft_round = 0.2,
                                   .draft_pass = 0.002,
                                   .draft_token = 0.03};
    const spec_request_costs plain = spec_request_costs_alone(&cost, 0),
                             drafts = spec_request_costs_alone(&cost, 4),
                             one = spec_request_costs_alone(&cost, 1),
                             shared = spec_request_costs_shared(&cost, 4);
    assert_near(plain.round, 0.011, 1e-15);
    assert_near(one.round, 0.01 + 0.002 + 0.2 + 0.002 + 0.03, 1e-15);
    assert_near(plain.prefill, 0.01, 1e-15);
    assert_near(drafts.round, 0.01 + 0.005 + 0.2 + 0.008 + 0.12, 1e-15);
    assert_near(shared.round, 0.005 + 0.12, 1e-15);
    assert_same(shared.prefill, 0.0);
    assert_same(shared.prompt_token, 0.001);
    assert_same(shared.context, 1e-5);
}

TEST(outside_the_domain_is_an_error)
{
    spec_rounds_law rounds;
    spec_request_life life;
    assert_int_equal(spec_request_life_init(&life, 0, false), GSL_EDOM);
    assert_null(life.alive);
    assert_int_equal(spec_rounds_law_init(&rounds, 5), GSL_SUCCESS);
    assert_int_equal(spec_request_life_init(&life, 5, true), GSL_SUCCESS);
    spec_request_costs costs = {.round = 1.0};
    assert_int_equal(spec_request_life_add(&life, 1.0, &costs, &rounds, 0, 0), GSL_EDOM);
    spec_rounds_law_free(&rounds);
    assert_int_equal(spec_rounds_law_init(&rounds, 4), GSL_SUCCESS);
    assert_int_equal(spec_request_life_add(&life, 1.0, &costs, &rounds, 3, 8.9), GSL_EDOM);
    assert_int_equal(spec_request_life_add(&life, -0.1, &costs, &rounds, 3, 9), GSL_EDOM);
    assert_int_equal(spec_request_life_add(&life, 1.0, &costs, &rounds, NAN, 9), GSL_EDOM);
    assert_int_equal(spec_request_life_add(&life, 1.1, &costs, &rounds, 3, 9), GSL_EDOM);
    for (int i = 0; i < 8; i++) {
        double *const part[] = {&costs.prefill, &costs.prompt_token, &costs.round, &costs.context};
        costs = (spec_request_costs){0};
        *part[i % 4] = i < 4 ? INFINITY : -1.0;
        assert_int_equal(spec_request_life_add(&life, 1.0, &costs, &rounds, 3, 9), GSL_EDOM);
    }
    assert_same(spec_request_life_steps(&life), 0.0);
    spec_rounds_law_free(&rounds);
    spec_request_life_free(&life);
    spec_request_life_free(&life);
}
