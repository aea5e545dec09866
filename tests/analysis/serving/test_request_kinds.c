/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/serving/request_kinds.h"

#include "analysis/capped_geometric.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

enum { LENGTH = 7, K = 2 };

/* Second route: enumerates the lives of all requests. */
typedef struct {
    const spec_request_kinds *kinds;
    const spec_request_costs *costs;
    double alive[LENGTH], added[LENGTH], total2;
    double longer[LENGTH], tokens[LENGTH], tokens2[LENGTH];
} enumeration;

/* Follows a request of `output` tokens that has `sum` of them so far, and whose last round accepted
 * `last` draft tokens. */
static void walk(enumeration *e, const spec_request_kind *kind, int output, int rounds, int sum,
                 int last, double total, double chance)
{
    const int first = e->kinds->prefill ? 1 : 0;
    if (sum >= output) {
        e->total2 += chance * total * total;
        return;
    }
    const double context = kind->prompt + sum - first;
    const double added = e->costs->round + e->costs->context * context;
    e->alive[first + rounds] += chance;
    e->added[first + rounds] += chance * added;
    e->longer[rounds] += chance;
    e->tokens[rounds] += chance * (sum - first);
    e->tokens2[rounds] += chance * (sum - first) * (sum - first);
    const double stay = rounds > 0 ? e->kinds->stay : 0.0;
    for (int k = 0; k <= K; k++) {
        const double drawn = pow(kind->alpha, k) * (k < K ? 1.0 - kind->alpha : 1.0);
        const double next = (1.0 - stay) * drawn + (k == last ? stay : 0.0);
        walk(e, kind, output, rounds + 1, sum + k + 1, k, total + added, chance * next);
    }
}

static void count_kind(enumeration *e, const spec_request_kind *kind)
{
    const bool prefill = e->kinds->prefill;
    for (int output = 1; output <= kind->L; output++) {
        double chance = output == kind->L ? kind->share : 0.0;
        if (kind->opt_tail != NULL)
            chance = kind->share * (kind->opt_tail[output - 1] -
                                    (output < kind->L ? kind->opt_tail[output] : 0.0));
        const double added =
            prefill ? e->costs->prefill + e->costs->prompt_token * kind->prompt : 0.0;
        if (prefill) e->alive[0] += chance;
        e->added[0] += chance * added;
        walk(e, kind, output, 0, prefill ? 1 : 0, -1, added, chance);
    }
}

/* Two kinds differ in alpha, lengths and prompts, and one may end in its prefill. Rounds may
 * repeat, but contexts cost nothing, because they would make the mean square approximate. */
TEST(a_life_is_the_mean_over_all_requests)
{
    static const double tail[LENGTH] = {1.0, 0.9, 0.7, 0.41, 0.2, 0.2, 0.06};
    for (int prefill = 0; prefill < 2; prefill++)
        for (int repeats = 0; repeats < 2; repeats++) {
            const double prompt[2] = {prefill ? 11.0 : 0.0, prefill ? 4.0 : 0.0};
            const spec_request_kind kind[2] = {
                {0.27, 0.385, tail, LENGTH, prompt[0], prompt[0] * prompt[0]},
                {0.73, 0.81, NULL, 4, prompt[1], prompt[1] * prompt[1]}};
            const spec_request_kinds kinds = {kind, 2, prefill, K, repeats ? 0.43 : 0.0, NULL};
            const spec_request_costs costs = {
                .prefill = 0.9, .prompt_token = 0.05, .round = 0.6, .context = repeats ? 0 : 0.013};
            enumeration e = {.kinds = &kinds, .costs = &costs};
            for (int i = 0; i < 2; i++) count_kind(&e, &kind[i]);
            spec_request_life life;
            OWNED(spec_rounds_law) rounds;
            assert_int_equal(spec_request_kinds_life(&life, &rounds, &kinds, &costs), GSL_SUCCESS);
            assert_int_equal(life.n, LENGTH);
            assert_int_equal(rounds.n, LENGTH - prefill);
            for (int j = 0; j < life.n; j++) {
                assert_within(life.alive[j], e.alive[j], 1e-15);
                assert_within(life.added[j], e.added[j], 1e-14);
            }
            for (int j = 0; j < rounds.n; j++) {
                assert_within(rounds.longer[j], e.longer[j], 1e-15);
                assert_within(rounds.tokens[j], e.tokens[j], 1e-14);
                assert_within(rounds.tokens2[j], e.tokens2[j], 1e-13);
            }
            assert_near(spec_request_life_total_square(&life), e.total2, 1e-14);
            spec_request_life_free(&life);
        }
}

/* Giving the probabilities of 1, 2, ... tokens of an iid round instead of its alpha changes
 * nothing. */
TEST(a_law_of_rounds_stands_in_for_alpha)
{
    const double alpha = 0.385, other = 0.9;
    double round[K + 1];
    for (int k = 0; k <= K; k++) round[k] = spec_capped_geometric_probability(alpha, K, k);
    for (int repeats = 0; repeats < 2; repeats++) {
        const spec_request_kind by_alpha = {1.0, alpha, NULL, LENGTH, 4.0, 16.0},
                                by_round = {1.0, other, NULL, LENGTH, 4.0, 16.0};
        const double stay = repeats ? 0.43 : 0.0;
        const spec_request_kinds a = {&by_alpha, 1, true, K, stay, NULL},
                                 b = {&by_round, 1, true, K, stay, round};
        const spec_request_costs costs = {.prefill = 0.9, .round = 0.6};
        OWNED(spec_request_life) life_a;
        OWNED(spec_request_life) life_b;
        assert_int_equal(spec_request_kinds_life(&life_a, NULL, &a, &costs), GSL_SUCCESS);
        assert_int_equal(spec_request_kinds_life(&life_b, NULL, &b, &costs), GSL_SUCCESS);
        for (int j = 0; j < life_a.n; j++) assert_within(life_b.alive[j], life_a.alive[j], 1e-15);
        assert_near(spec_request_life_total_square(&life_b),
                    spec_request_life_total_square(&life_a), 1e-14);
    }
}

/* A tail that is summed up from its end misses 1 by a rounding error. */
TEST(a_tail_may_miss_1_by_rounding)
{
    const double tail[2] = {1.0 - 3e-14, 0.27};
    const spec_request_kind kind = {1.0, 0.6, tail, 2, 0.0, 0.0};
    const spec_request_kinds kinds = {&kind, 1, false, 0, 0.0, NULL};
    const spec_request_costs costs = {.round = 0.6};
    OWNED(spec_request_life) life;
    assert_int_equal(spec_request_kinds_life(&life, NULL, &kinds, &costs), GSL_SUCCESS);
    assert_near(spec_request_life_steps(&life), 1.27, 1e-12);
}

TEST(outside_the_domain_both_are_zeroed)
{
    static const double from_below[3] = {1.0 - 2e-9, 0.4, 0.1}, rising[3] = {1.0, 0.4, 0.6};
    const spec_request_kind good = {0.6, 0.7, NULL, 3, 7.0, 49.0};
    const struct {
        spec_request_kind kind;
        int n, K;
        double stay;
    } rows[] = {{good, 2, -1, 0.0},
                {good, 2, 2, 1.1},
                {good, 1, 2, 0.0},
                {good, 0, 2, 0.0},
                {{0.4, 0.7, NULL, 0, 7.0, 49.0}, 2, 2, 0.0},
                {{0.4, 1.1, NULL, 3, 7.0, 49.0}, 2, 2, 0.0},
                {{0.4, 0.7, from_below, 3, 7.0, 49.0}, 2, 2, 0.0},
                {{0.4, 0.7, rising, 3, 7.0, 49.0}, 2, 2, 0.0},
                {{0.4, 0.7, NULL, 3, 7.0, 48.0}, 2, 2, 0.0},
                {{NAN, 0.7, NULL, 3, 7.0, 49.0}, 2, 2, 0.0}};
    const spec_request_costs costs = {.round = 0.6};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        spec_request_kind kind[2] = {good, rows[i].kind};
        if (i < 4) kind[1].share = 0.4;
        const spec_request_kinds kinds = {kind, rows[i].n, true, rows[i].K, rows[i].stay, NULL};
        spec_request_life life;
        spec_rounds_law rounds;
        assert_int_equal(spec_request_kinds_life(&life, &rounds, &kinds, &costs), GSL_EDOM);
        assert_null(life.alive);
        assert_null(rounds.longer);
    }
}
