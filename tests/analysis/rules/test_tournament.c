/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the closed form of khisti's acceptance against the tournament played on every tuple of
 * drafts. */
#include "analysis/rules/tournament.h"

#include "analysis/rules/optimal.h"
#include "analysis/rules/overlap.h"
#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/support/tuples.h"

enum { V_MAX = TUPLES_V };

static bool beats(const double *target, const double *law, int challenger, int incumbent)
{
    if (law[challenger] <= 0) return false;
    return target[challenger] / law[challenger] > target[incumbent] / law[incumbent] * (1 + 1e-9);
}

static double common(const double *target, const double *law, const double *prevailed, double share,
                     int V)
{
    double sum = 0;
    for (int x = 0; x < V; x++) sum += fmin(target[x], (1 - share) * law[x] + share * prevailed[x]);
    return sum;
}

/* Returns the smallest of the best shares: the sum is linear between the shares at which some token
 * has exactly its target probability. */
static double best_share(const double *target, const double *law, const double *prevailed, int V)
{
    double best = 0, most = common(target, law, prevailed, 0, V);
    for (int x = -1; x < V; x++) {
        double share = x < 0 ? 1 : (target[x] - law[x]) / (prevailed[x] - law[x]);
        if (!(share > 0 && share <= 1)) continue;
        double sum = common(target, law, prevailed, share, V);
        if (sum < most - 1e-14 || (sum < most + 1e-14 && share > best)) continue;
        best = share;
        most = sum;
    }
    return best;
}

/* Fills win[i][x], the probability that x wins on tuple i. Returns the probability that the emitted
 * token is drafted, and the probability that the judgement alone accepts. */
static double play(double *ret_judged, const double *target, const double *draft, int V,
                   const tuples *all)
{
    static double win[TUPLES_MAX][V_MAX];
    double law[V_MAX] = {0}, lack = 0, accepted = 0;
    for (int i = 0; i < all->size; i++)
        for (int x = 0; x < V; x++) win[i][x] = x == all->token[i][0];
    for (int x = 0; x < V; x++) law[x] = draft[x];
    for (int round = 1; round < all->n; round++) {
        double prevailed[V_MAX] = {0};
        for (int x = 0; x < V; x++)
            for (int y = 0; y < V; y++)
                prevailed[law[x] > 0 && beats(target, law, y, x) ? y : x] += law[x] * draft[y];
        double share = best_share(target, law, prevailed, V), next[V_MAX] = {0};
        for (int i = 0; i < all->size; i++) {
            int y = all->token[i][round];
            for (int x = 0; x < V; x++) {
                if (x == y || law[x] <= 0 || !beats(target, law, y, x)) continue;
                win[i][y] += share * win[i][x];
                win[i][x] *= 1 - share;
            }
            for (int x = 0; x < V; x++) next[x] += all->chance[i] * win[i][x];
        }
        for (int x = 0; x < V; x++) law[x] = next[x];
    }
    *ret_judged = 0;
    for (int x = 0; x < V; x++) {
        *ret_judged += fmin(target[x], law[x]);
        lack += fmax(0, target[x] - law[x]);
    }
    for (int i = 0; i < all->size; i++) {
        double rejected = 0;
        bool drafted[V_MAX] = {false};
        for (int k = 0; k < all->n; k++) drafted[all->token[i][k]] = true;
        for (int x = 0; x < V; x++)
            rejected += win[i][x] * (law[x] > target[x] ? 1 - target[x] / law[x] : 0);
        for (int x = 0; x < V; x++)
            if (drafted[x] && lack > 0)
                accepted += all->chance[i] * rejected * fmax(0, target[x] - law[x]) / lack;
    }
    return *ret_judged + accepted;
}

TEST(the_closed_form_is_the_game_on_every_tuple, STATISTICS)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_rng_set(rng, (unsigned long)spec_test_seed());
    const uint64_t cases = spec_test_samples(2000);
    uint64_t by_chance = 0;
    for (uint64_t c = 0; c < cases; c++) {
        int V = 1 + (int)(c % 5), n = 1 + (int)(c / 5 % 4);
        double target[V_MAX], draft[V_MAX], judged;
        tuples all = {.n = n};
        OWNED(spec_ratio_order) order;
        tuples_row(target, V, (int)(c / 20 % 4), rng);
        tuples_row(draft, V, (int)(c / 80 % 4), rng);
        tuples_iid(&all, draft, V, n);
        double accepted = play(&judged, target, draft, V, &all);
        assert_int_equal(spec_ratio_order_init(&order, V), GSL_SUCCESS);
        spec_ratio_order_sort(&order, target, draft);
        assert_within(spec_tournament_khisti_judged(&order, n), judged, 1e-12);
        assert_within(spec_tournament_khisti(&order, n), accepted, 1e-12);
        assert_true(judged > spec_ratio_order_common(&order, 1) - 1e-12);
        assert_true(accepted < spec_optimal_iid(&order, n) + 1e-12);
        assert_true(spec_tournament_khisti(&order, n) <= 1 &&
                    spec_tournament_khisti_judged(&order, n) <= 1);
        by_chance += accepted > judged + 1e-6;
    }
    gsl_rng_free(rng);
    print_message("%llu of %llu with coincidences\n", (unsigned long long)by_chance,
                  (unsigned long long)cases);
    assert_true(by_chance > cases / 100);
}

TEST(the_domain_has_edges)
{
    enum { MAX = SPEC_TOURNAMENT_VOCAB_MAX, V = MAX + 1 };
    static double row[V], skew[V];
    const double target[3] = {0.5, 0.3, 0.2}, draft[3] = {0.2, 0.5, 0.3};
    spec_ratio_order order;
    assert_int_equal(spec_ratio_order_init(&order, 3), GSL_SUCCESS);
    assert_nan(spec_tournament_khisti(&order, 2)); /* not sorted */
    assert_nan(spec_tournament_khisti_judged(&order, 2));
    spec_ratio_order_sort(&order, target, draft);
    assert_nan(spec_tournament_khisti(&order, 0));
    assert_nan(spec_tournament_khisti(&order, SPEC_DRAFTS_MAX + 1));
    assert_nan(spec_tournament_khisti_judged(&order, 0));
    assert_nan(spec_tournament_khisti_judged(&order, SPEC_DRAFTS_MAX + 1));
    assert_within(spec_tournament_khisti(&order, 1), 0.7, 1e-15);
    assert_within(spec_tournament_khisti_judged(&order, 1), 0.7, 1e-15);
    assert_within(spec_tournament_khisti(&order, SPEC_DRAFTS_MAX), 1, 1e-12);
    assert_within(spec_tournament_khisti_judged(&order, 2), 0.828,
                  1e-14); /* by hand: share .8, law (.328, .3, .372) */
    spec_ratio_order_free(&order);

    for (int vocab = MAX; vocab <= V; vocab++) {
        for (int x = 0; x < vocab; x++) row[x] = 1.0 / vocab;
        for (int x = 0; x < vocab; x++) skew[x] = 2.0 * (x + 1) / vocab / (vocab + 1);
        assert_int_equal(spec_ratio_order_init(&order, vocab), GSL_SUCCESS);
        spec_ratio_order_sort(&order, skew, row);
        const double judged = spec_tournament_khisti_judged(&order, 2),
                     optimal = spec_optimal_iid(&order, 2);
        assert_true(judged > 0.99 * optimal);
        if (vocab > MAX) assert_nan(spec_tournament_khisti(&order, 2));
        else
            assert_true(spec_tournament_khisti(&order, 2) >= judged &&
                        spec_tournament_khisti(&order, 2) <= optimal);
        spec_ratio_order_free(&order);
    }
}

/* Share 1 is best, and the winner's law is (4, 13, 32)/49. Token 1, which has the highest
 * target/draft, then wins more often than its target probability, and token 2, which comes before
 * it, less often. */
TEST(share_1_need_not_be_the_optimum)
{
    const double target[3] = {0, 0.25, 0.75}, draft[3] = {2.0 / 7, 1.0 / 7, 4.0 / 7};
    OWNED(spec_ratio_order) order;
    assert_int_equal(spec_ratio_order_init(&order, 3), GSL_SUCCESS);
    spec_ratio_order_sort(&order, target, draft);
    assert_within(spec_tournament_khisti_judged(&order, 2), 177.0 / 196, 1e-15);
    assert_within(spec_tournament_khisti(&order, 2), 2325.0 / 2548, 1e-15);
    assert_within(spec_optimal_iid(&order, 2), 45.0 / 49, 1e-15);
}

/* Token 1 ties with token 0, so its law falls below the least double: (.04, 0, .77, .19), then
 * (.008, 0, .721, .271). A draft of token 3 wins, so the correction, token 3, is never a draft that
 * lost. */
TEST(a_law_that_underflows_has_no_ratio)
{
    const double target[4] = {0, 0, 0.1, 0.9}, draft[4] = {0.2, 0x1p-1074, 0.7, 0.1};
    OWNED(spec_ratio_order) order;
    assert_int_equal(spec_ratio_order_init(&order, 4), GSL_SUCCESS);
    spec_ratio_order_sort(&order, target, draft);
    assert_within(spec_tournament_khisti(&order, 2), 0.29, 1e-15);
    assert_within(spec_tournament_khisti_judged(&order, 3), 0.371, 1e-15);
    assert_within(spec_tournament_khisti(&order, 3), 0.371, 1e-15);
}
