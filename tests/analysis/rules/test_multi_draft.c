/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Acceptance of rules with several drafts: closed forms against the rules themselves, applied to
 * every tuple of drafts, and known answers. */
#include "analysis/rules/multi_draft.h"

#include "analysis/rules/overlap.h"
#include "analysis/rules/rrsw.h"
#include "tests/support/order_value.h"
#include "tests/support/support.h"
#include "tests/support/tuples.h"

#include <string.h>

enum { V_MAX = TUPLES_V };

/* tests/oracle/vectors.py prints these numbers, as exact fractions except for K-SEQ. */
TEST(known_vectors)
{
    const struct {
        acceptance *of;
        int n;
        double first, second; /* NaN: not printed */
    } known[] = {
        {spec_multi_draft_match, 1, 0.31, NAN},
        {spec_multi_draft_match, 2, 0.507, NAN},
        {spec_multi_draft_match, 3, 0.6379, NAN},
        {spec_multi_draft_naive_tree, 1, 0.7, 0.7},
        {spec_multi_draft_naive_tree, 2, 0.76, NAN},
        {spec_multi_draft_naive_tree, 3, 0.808, NAN},
        {spec_multi_draft_rrs, 1, 0.7, 0.7},
        {spec_multi_draft_rrs, 2, 0.76, 0.82},
        {spec_multi_draft_rrs, 3, 0.808, NAN},
        {spec_multi_draft_kseq, 1, 0.7, 0.7},
        {spec_multi_draft_kseq, 2, 0.791355287257, NAN},
        {spec_multi_draft_kseq, 3, 0.858518605654, NAN},
        {spec_multi_draft_kseq_rho, 1, 1, 1},
        {spec_multi_draft_kseq_rho, 2, 1.456776436283, NAN},
        {spec_multi_draft_kseq_rho, 3, 1.792593028269, NAN},
        {spec_multi_draft_spechub, 2, 0.9, NAN},
        {spec_multi_draft_greedy, 2, 0.9, NAN},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double tolerance =
            known[i].of == spec_multi_draft_kseq || known[i].of == spec_multi_draft_kseq_rho
                ? 6e-13
                : 1e-15;
        assert_within(value(known[i].of, target1, draft1, 3, known[i].n), known[i].first,
                      tolerance);
        if (isnan(known[i].second)) continue;
        assert_within(value(known[i].of, target2, draft2, 3, known[i].n), known[i].second,
                      tolerance);
    }
}

/* ---- the rules, as their papers have them, on whole rows ------------------------------------- */

/* Adds the law of the token that a rule emits for one tuple of drafts. */
typedef void played_rule(double *ret_law, const double *target, const double *draft, int V,
                         const int *token, int n, double rho);

static void residual_of(double *row, const double *draft, int V)
{
    double sum = 0;
    for (int x = 0; x < V; x++) sum += row[x] = fmax(0, row[x] - draft[x]);
    for (int x = 0; x < V; x++) row[x] = sum > 0 ? row[x] / sum : 0;
}

static void play_match(double *ret_law, const double *target, const double *draft, int V,
                       const int *token, int n, double rho)
{
    (void)draft, (void)token, (void)n, (void)rho;
    memcpy(ret_law, target, (size_t)V * sizeof(double));
}

static void play_recursive(double *ret_law, const double *target, const double *draft, int V,
                           const int *token, int n)
{
    double left[V_MAX], rest = 1;
    memcpy(left, target, (size_t)V * sizeof(double));
    memset(ret_law, 0, (size_t)V * sizeof(double));
    for (int k = 0; k < n && rest > 0; k++) {
        int x = token[k];
        double accepted = fmin(1, left[x] / draft[x]);
        ret_law[x] += rest * accepted;
        rest *= 1 - accepted;
        residual_of(left, draft, V);
    }
    for (int x = 0; x < V; x++) ret_law[x] += rest * left[x];
}

static void play_rrs(double *ret_law, const double *target, const double *draft, int V,
                     const int *token, int n, double rho)
{
    (void)rho;
    play_recursive(ret_law, target, draft, V, token, n);
}

static void play_naive(double *ret_law, const double *target, const double *draft, int V,
                       const int *token, int n, double rho)
{
    (void)n, (void)rho;
    play_recursive(ret_law, target, draft, V, token, 1);
}

static void play_kseq(double *ret_law, const double *target, const double *draft, int V,
                      const int *token, int n, double rho)
{
    double beta = 0, left[V_MAX], sum = 0, rest = 1;
    for (int x = 0; x < V; x++) beta += fmin(target[x] / rho, draft[x]);
    double gamma = (1 - pow(1 - beta, n)) / beta;
    for (int x = 0; x < V; x++)
        sum += left[x] = fmax(0, target[x] - gamma * fmin(target[x] / rho, draft[x]));
    memset(ret_law, 0, (size_t)V * sizeof(double));
    for (int k = 0; k < n; k++) {
        double accepted = fmin(1, target[token[k]] / (rho * draft[token[k]]));
        ret_law[token[k]] += rest * accepted;
        rest *= 1 - accepted;
    }
    for (int x = 0; x < V && sum > 0; x++) ret_law[x] += rest * left[x] / sum;
}

/* Computes the law (V) of the emitted token over all tuples, and the probability that it is one of
 * the drafts. */
static double play(double *ret_law, played_rule *rule, const double *target, const double *draft,
                   int V, const tuples *all, double rho)
{
    double accepted = 0, law[V_MAX];
    memset(ret_law, 0, (size_t)V * sizeof(double));
    for (int i = 0; i < all->size; i++) {
        rule(law, target, draft, V, all->token[i], all->n, rho);
        for (int x = 0; x < V; x++) {
            bool drafted = false;
            for (int k = 0; k < all->n; k++) drafted |= all->token[i][k] == x;
            ret_law[x] += all->chance[i] * law[x];
            if (drafted) accepted += all->chance[i] * law[x];
        }
    }
    return accepted;
}

TEST(closed_forms_are_what_the_rules_accept_of_every_tuple, STATISTICS)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    static tuples iid;
    uint64_t cases = spec_test_samples(400);
    for (uint64_t i = 0; i < cases; i++) {
        int V = 1 + (int)(i % 5), n = 1 + (int)(i / 5 % 4), kind = (int)(i / 20 % 5);
        double target[V_MAX], draft[V_MAX], law[V_MAX];
        tuples_row(target, V, kind < 4 ? kind : 0, rng);
        tuples_row(draft, V, kind < 4 ? kind : 3, rng);
        if (i % 17 == 0) memcpy(draft, target, sizeof draft);
        tuples_iid(&iid, draft, V, n);
        double rho = value(spec_multi_draft_kseq_rho, target, draft, V, n);
        const struct {
            played_rule *rule;
            acceptance *of;
            const tuples *all;
        } rules[] = {
            {play_match, spec_multi_draft_match, &iid},
            {play_naive, spec_multi_draft_naive_tree, &iid},
            {play_rrs, spec_multi_draft_rrs, &iid},
            {play_kseq, spec_multi_draft_kseq, &iid},
        };
        for (int r = 0; r < 4; r++) {
            if (rules[r].rule == play_kseq &&
                value(spec_multi_draft_naive_tree, target, draft, V, 1) == 0)
                continue; /* beta = 0 */
            double accepted = play(law, rules[r].rule, target, draft, V, rules[r].all, rho);
            for (int x = 0; x < V; x++) assert_within(law[x], target[x], 1e-12);
            assert_within(value(rules[r].of, target, draft, V, n), accepted, 2e-13);
        }
    }
}

TEST(kseq_with_a_larger_rho_counts_coincidences_of_residual_and_drafts)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    static tuples iid;
    int fewer = 0, more = 0;
    for (int i = 0; i < 120; i++) {
        int V = 2 + i % 4, n = 1 + i / 4 % 3;
        double target[V_MAX], draft[V_MAX], law[V_MAX];
        tuples_row(target, V, i % 3, rng);
        tuples_row(draft, V, i % 2, rng);
        tuples_iid(&iid, draft, V, n);
        OWNED(spec_ratio_order) order;
        assert_int_equal(spec_ratio_order_init(&order, V), GSL_SUCCESS);
        assert_int_equal(spec_ratio_order_sort(&order, target, draft), GSL_SUCCESS);
        double best = spec_multi_draft_kseq_rho(&order, n), most = spec_multi_draft_kseq(&order, n);
        assert_within(spec_multi_draft_kseq_at(&order, n, best), most, 1e-14);
        for (double rho = best * 1.05; rho < 4; rho *= 1.27) {
            double accepted = play(law, play_kseq, target, draft, V, &iid, rho);
            for (int x = 0; x < V; x++) assert_within(law[x], target[x], 1e-13);
            assert_within(spec_multi_draft_kseq_at(&order, n, rho), accepted, 1e-14);
            double tested = 1 - pow(1 - spec_ratio_order_common(&order, rho) / rho, n);
            assert_true(tested <= most + 1e-14); /* the best rho accepts most by its tests */
            fewer += accepted < most - 1e-6;
            /* but drafted tokens from the residual can compensate */
            more += accepted > most + 1e-6;
        }
        if (best > 1 + 1e-6) assert_nan(spec_multi_draft_kseq_at(&order, n, best * (1 - 1e-6)));
    }
    assert_true(fewer > 100 && more > 10);
}

/* Computes SpecHub by its own four steps, from the mass of each kind of pair. */
static double play_spechub(double *ret_law, const double *target, const double *draft, int V)
{
    int hub = tuples_top(draft, V, NULL, 0);
    double law[V_MAX], first[V_MAX], second[V_MAX], left[V_MAX], first_left = 0, second_left = 0,
                                                                 accepted = 0, sum = 0;
    tuples_next(law, draft, V, &hub, 1);
    memcpy(left, target, (size_t)V * sizeof(double));
    for (int x = 0; x < V; x++) {
        first[x] = x == hub ? 0 : draft[x];
        second[x] = draft[hub] * law[x];
        double a = x == hub ? 0 : fmin(left[x], first[x]),
               b = x == hub ? 0 : fmin(left[x] - a, second[x]);
        left[x] -= a + b;
        first_left += first[x] - a;
        second_left += second[x] - b;
        accepted += a + b;
        ret_law[x] = a + b;
    }
    double c = fmin(left[hub], second_left), d = fmin(left[hub] - c, first_left);
    left[hub] -= c + d;
    ret_law[hub] += c + d;
    accepted += c + d;
    for (int x = 0; x < V; x++) sum += left[x];
    for (int x = 0; x < V && sum > 0; x++) ret_law[x] += (1 - accepted) * left[x] / sum;
    return accepted;
}

TEST(spechub_uses_up_its_hub)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int i = 0; i < 400; i++) {
        int V = 2 + i % 4;
        double target[V_MAX], draft[V_MAX], law[V_MAX];
        tuples_row(target, V, i / 4 % 4, rng);
        tuples_row(draft, V, i / 16 % 4, rng);
        double accepted = play_spechub(law, target, draft, V);
        for (int x = 0; x < V; x++) assert_within(law[x], target[x], 1e-14);
        assert_within(value(spec_multi_draft_spechub, target, draft, V, 2), accepted, 1e-14);
    }
}

TEST(deterministic_and_greedy_drafts_take_the_top_and_of_equals_the_first)
{
    double target[5] = {0.05, 0.27, 0.13, 0.32, 0.23}, draft[5] = {0.3, 0.15, 0.3, 0.1, 0.15};
    assert_within(value(spec_multi_draft_match_top, target, draft, 5, 1), 0.05, 1e-16);
    assert_within(value(spec_multi_draft_match_top, target, draft, 5, 2), 0.18, 1e-16);
    assert_within(value(spec_multi_draft_match_top, target, draft, 5, 3), 0.45, 1e-15);
    assert_within(value(spec_multi_draft_match_top, target, draft, 5, 4), 0.68, 1e-15);
    assert_same(value(spec_multi_draft_match_top, target, draft, 5, 5), 1);
    assert_same(value(spec_multi_draft_match_top, target, draft, 5, 6), 1);
    assert_within(value(spec_multi_draft_greedy, target, draft, 5, 1),
                  0.05 + 0.15 + 0.13 + 0.1 + 0.15, 1e-15);
    /* after token 0: 15, 30, 10, 15 of 70 */
    assert_within(value(spec_multi_draft_greedy, target, draft, 5, 2),
                  0.05 + 15 / 70. + 0.13 + 10 / 70. + 15 / 70., 1e-15);
    /* after 0 and 2: 15, 10, 15 of 40 */
    assert_within(value(spec_multi_draft_greedy, target, draft, 5, 3),
                  0.18 + 0.27 + 0.25 + 0.23, 1e-15);
    assert_same(value(spec_multi_draft_greedy, target, draft, 5, 5), 1);
    assert_same(value(spec_multi_draft_greedy, target, draft, 5, 6), 1);
    /* also of tokens without draft probability */
    assert_within(value(spec_multi_draft_match_top, target, (double[5]){1}, 5, 2), 0.32, 1e-15);
    /* a rest of 0 is drawn from uniformly */
    double certain[5] = {0, 0, 1, 0, 0};
    assert_within(value(spec_multi_draft_greedy, target, certain, 5, 2),
                  0.13 + 0.05 + 0.25 + 0.25 + 0.23, 1e-15);
    assert_within(value(spec_multi_draft_spechub, target, certain, 5, 2), 0.91, 1e-15);
    assert_within(value(spec_multi_draft_greedy, target, certain, 5, 3),
                  0.18 + 0.27 + 1 / 3. - 1 / 3. + 0.32 + 0.23, 1e-15);
}

TEST(large_vocabularies_are_served)
{
    enum { V = 32000 };
    static double target[V], draft[V];
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    tuples_row(target, V, 1, rng);
    tuples_row(draft, V, 1, rng);
    double overlap = spec_overlap(target, draft, V);
    assert_near(value(spec_multi_draft_match, target, draft, V, 1),
                spec_overlap_match_probability(target, draft, V), 1e-13);
    assert_near(value(spec_multi_draft_naive_tree, target, draft, V, 1), overlap, 1e-14);
    assert_near(value(spec_multi_draft_rrs, target, draft, V, 1), overlap, 1e-14);
    assert_near(value(spec_rrsw_acceptance, target, draft, V, 1), overlap, 1e-14);
    assert_near(value(spec_multi_draft_kseq, target, draft, V, 1), overlap, 1e-14);
    assert_near(value(spec_multi_draft_greedy, target, draft, V, 1), overlap, 1e-14);
    /* so a uniform draft loses only 1/V by replacement */
    double with = value(spec_multi_draft_rrs, target, draft, V, 2),
           without = value(spec_rrsw_acceptance, target, draft, V, 2);
    assert_true(without > with && without < with + 1e-3);
}

/* ---- edges ----------------------------------------------------------------------------------- */

static acceptance *const all_forms[] = {
    spec_multi_draft_match,
    spec_multi_draft_match_top,
    spec_multi_draft_naive_tree,
    spec_multi_draft_rrs,
    spec_multi_draft_kseq,
    spec_multi_draft_greedy,
    spec_multi_draft_spechub,
    spec_multi_draft_kseq_rho,
};
enum { FORMS = sizeof all_forms / sizeof *all_forms };

static bool serves(acceptance *of, int n)
{
    if (of == spec_multi_draft_spechub) return n == 2;
    return n >= 1 && n <= SPEC_DRAFTS_MAX;
}

TEST(numbers_of_drafts_outside_the_domain_and_bad_rows_give_nan)
{
    double bad[3] = {0.5, NAN, 0.5}, short_row[3] = {0.5, 0.3, 0.1};
    for (int f = 0; f < FORMS; f++) {
        int counts[] = {-1, 0, 1, 2, 3, SPEC_DRAFTS_MAX, SPEC_DRAFTS_MAX + 1};
        for (int i = 0; i < 7; i++)
            assert_int_equal(isnan(value(all_forms[f], target1, draft1, 3, counts[i])),
                             !serves(all_forms[f], counts[i]));
        for (int n = 1; n <= 2; n++) {
            assert_nan(value(all_forms[f], bad, draft1, 3, n));
            assert_nan(value(all_forms[f], target1, short_row, 3, n));
        }
    }
    OWNED(spec_ratio_order) order;
    assert_int_equal(spec_ratio_order_init(&order, 3), GSL_SUCCESS);
    assert_nan(spec_multi_draft_kseq_at(&order, 2, 2));
    assert_int_equal(spec_ratio_order_sort(&order, target1, draft1), GSL_SUCCESS);
    assert_nan(spec_multi_draft_kseq_at(&order, 2, NAN));
    assert_nan(spec_multi_draft_kseq_at(&order, 2, INFINITY));
    assert_nan(spec_multi_draft_kseq_at(&order, 0, 2));
    assert_nan(spec_multi_draft_kseq_at(&order, 1, 0.9999));
    assert_within(spec_multi_draft_kseq_at(&order, 1, 1), 0.7, 1e-15);
    double rho =
        spec_multi_draft_kseq_rho(&order, 2); /* exact to 1e-15: rho (1 - 5e-12) is outside */
    assert_within(spec_multi_draft_kseq_at(&order, 2, rho), spec_multi_draft_kseq(&order, 2),
                  1e-14);
    assert_nan(spec_multi_draft_kseq_at(&order, 2, rho * (1 - 5e-12)));
}

TEST(disjoint_rows_accept_nothing_and_equal_ones_all)
{
    double left[4] = {0.27, 0.73, 0, 0}, right[4] = {0, 0, 0.4, 0.6};
    for (int f = 0; f < FORMS - 1; f++) {
        for (int n = 1; n <= 2; n++) {
            if (!serves(all_forms[f], n)) continue;
            assert_same(value(all_forms[f], left, right, 4, n), 0);
            bool match = all_forms[f] == spec_multi_draft_match ||
                         all_forms[f] == spec_multi_draft_match_top;
            if (!match) assert_within(value(all_forms[f], left, left, 4, n), 1, 2e-16);
        }
    }
    assert_same(value(spec_multi_draft_kseq_rho, left, right, 4, 3), 1);
    assert_same(value(spec_multi_draft_kseq_rho, left, left, 4, 3), 1);
    spec_ratio_order order;
    assert_int_equal(spec_ratio_order_init(&order, 4), GSL_SUCCESS);
    assert_int_equal(spec_ratio_order_sort(&order, left, right), GSL_SUCCESS);
    assert_same(spec_multi_draft_kseq_at(&order, 3, 2), 0);
    assert_nan(spec_multi_draft_kseq_at(&order, 3, 0.9999));
    assert_int_equal(spec_ratio_order_sort(&order, left, left), GSL_SUCCESS);
    assert_same(spec_multi_draft_kseq_at(&order, 3, 1), 1);
    spec_ratio_order_free(&order);
    double certain[1] = {1};
    for (int f = 0; f < FORMS; f++) {
        for (int n = 1; n <= 3; n++) {
            if (serves(all_forms[f], n))
                assert_same(value(all_forms[f], certain, certain, 1, n), 1);
        }
    }
}

/* Sums of shares round to below 1 and to above 1. */
TEST(what_is_certain_is_one_and_nothing_is_more)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    enum { V = SPEC_DRAFTS_MAX };
    for (int i = 0; i < 100; i++) {
        double row[V], other[V];
        tuples_row(row, V, 0, rng);
        tuples_row(other, V, 0, rng);
        assert_same(value(spec_multi_draft_match_top, row, other, V, V), 1);
        for (int f = 0; f < FORMS - 1; f++) {
            for (int n = 1; n <= 2; n++) assert_false(value(all_forms[f], row, row, V, n) > 1);
        }
    }
}

TEST(tiny_chances_keep_their_digits)
{
    double target[2] = {1 - 1e-30, 1e-30}, draft[2] = {0, 1};
    assert_near(value(spec_multi_draft_match, target, draft, 2, 3), 1e-30, 1e-15);
    assert_near(value(spec_multi_draft_rrs, target, draft, 2, 2), 1e-30, 1e-15);
    assert_near(value(spec_multi_draft_kseq, target, draft, 2, 1), 1e-30, 1e-15);
    double rare[2] = {1, 1e-20}, other[2] = {0, 1};
    assert_near(value(spec_multi_draft_match, other, rare, 2, 5), 5e-20, 1e-15);
    assert_near(value(spec_multi_draft_naive_tree, other, rare, 2, 5), 5e-20, 1e-15);
}
