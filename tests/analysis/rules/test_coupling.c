/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks how often coupled draws agree, by sums over pairs of tokens and by simulated races and
 * darts. */
#include "analysis/rules/coupling.h"

#include "analysis/rules/multi_draft.h"
#include "analysis/rules/optimal.h"
#include "analysis/rules/overlap.h"
#include "tests/support/order_value.h"
#include "tests/support/support.h"
#include "tests/support/tuples.h"

typedef double coupling(const spec_ratio_order *order);

static double agreement(coupling *of, const double *target, const double *draft, int V)
{
    OWNED(spec_ratio_order) order;
    assert_int_equal(spec_ratio_order_init(&order, V), GSL_SUCCESS);
    spec_ratio_order_sort(&order, target, draft);
    const double agrees = of(&order);
    return agrees;
}

static coupling *const all_forms[] = {spec_coupling_gumbel, spec_coupling_minhash,
                                      spec_coupling_bound};

TEST(known_vectors)
{
    static const double target[3] = {0.5, 0.3, 0.2}, draft[3] = {0.2, 0.5, 0.3};
    assert_within(agreement(spec_coupling_minhash, target, draft, 3), 42.0 / 65,
                  1e-15); /* (.7 + .06 + .06 + .02)/1.3 */
    assert_within(agreement(spec_coupling_bound, target, draft, 3), 7.0 / 13, 1e-15);
    assert_within(agreement(spec_coupling_gumbel, target, draft, 3), 43.0 / 62,
                  1e-15); /* tests/oracle/misc.py, part (f) */
}

/* The chain bound <= MinHash <= Gumbel <= overlap; MinHash is above its bound wherever two rows
 * share a token without agreeing on it. */
TEST(gumbel_is_between_minhash_and_the_overlap)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    enum { MOST = 40 };
    for (int i = 0; i < 1000; i++) {
        double target[MOST], draft[MOST], direct = 0, darts = 0;
        bool above = false;
        int V = 1 + i % MOST;
        tuples_row(target, V, i / MOST % 4, rng);
        tuples_row(draft, V, i % 4, rng);
        for (int x = 0; x < V; x++) {
            double sum = 0;
            /* one dart falls below only one row, and a later one below only the other row, at the
             same token */
            darts += fmin(target[x], draft[x]) + fmax(draft[x] - target[x], 0) * target[x] +
                     fmax(target[x] - draft[x], 0) * draft[x];
            if (target[x] == 0 || draft[x] == 0) continue;
            above |= fmin(target[x], draft[x]) > 1e-3 && fabs(target[x] - draft[x]) > 1e-3;
            for (int y = 0; y < V; y++) sum += fmax(target[y] / target[x], draft[y] / draft[x]);
            direct += 1 / sum;
        }
        double gumbel = agreement(spec_coupling_gumbel, target, draft, V),
               tv = spec_overlap_total_variation(target, draft, (size_t)V);
        double minhash = agreement(spec_coupling_minhash, target, draft, V),
               bound = agreement(spec_coupling_bound, target, draft, V);
        assert_within(gumbel, direct, 1e-14);
        assert_within(minhash, darts / (1 + tv), 1e-14);
        assert_within(bound, (1 - tv) / (1 + tv), 1e-15);
        assert_true(bound <= minhash + 1e-15 && minhash <= gumbel + 1e-15 &&
                    gumbel <= 1 - tv + 1e-15);
        if (above) assert_true(minhash > bound + 1e-7);
    }
}

/* 100,000 races of shared exponential clocks have a standard error of .0015. For these rows the
 * overlap, MinHash and Gumbel differ by at least 27 standard errors. */
TEST(gumbel_is_a_race_of_shared_clocks, STATISTICS)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    double target[4] = {0.27, 0.33, 0.15, 0.25}, draft[4] = {0.4, 0.05, 0.35, 0.2};
    uint64_t rounds = spec_test_samples(100000), agree = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        int first = 0, second = 0;
        double clock[4];
        for (int x = 0; x < 4; x++) {
            clock[x] = gsl_ran_exponential(rng, 1);
            if (clock[x] / target[x] < clock[first] / target[first]) first = x;
            if (clock[x] / draft[x] < clock[second] / draft[second]) second = x;
        }
        agree += first == second;
    }
    double expected = agreement(spec_coupling_gumbel, target, draft, 4),
           share = (double)agree / (double)rounds;
    assert_within(share, expected,
                  4.9 * sqrt(expected * (1 - expected) / (double)rounds)); /* p = 1e-6 */
    double overlap = spec_overlap(target, draft, 4),
           minhash = agreement(spec_coupling_minhash, target, draft, 4);
    assert_true(overlap - expected > 0.015 && expected - minhash > 0.015);
}

/* Takes the first dart below either row 100,000 times, where both share the darts: the standard
 * error is again .0015. (1-TV)/(1+TV), the probability that one dart decides for both, is off by 43
 * standard errors, and Gumbel by 27. */
TEST(minhash_is_a_throw_of_shared_darts, STATISTICS)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    double target[4] = {0.27, 0.33, 0.15, 0.25}, draft[4] = {0.4, 0.05, 0.35, 0.2};
    uint64_t rounds = spec_test_samples(100000), agree = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        int first = -1, second = -1;
        while (first < 0 || second < 0) {
            int x = (int)gsl_rng_uniform_int(rng, 4);
            double height = gsl_rng_uniform(rng);
            if (first < 0 && height < target[x]) first = x;
            if (second < 0 && height < draft[x]) second = x;
        }
        agree += first == second;
    }
    double expected = agreement(spec_coupling_minhash, target, draft, 4),
           share = (double)agree / (double)rounds;
    assert_within(share, expected,
                  4.9 * sqrt(expected * (1 - expected) / (double)rounds)); /* p = 1e-6 */
    double gumbel = agreement(spec_coupling_gumbel, target, draft, 4),
           bound = agreement(spec_coupling_bound, target, draft, 4);
    assert_true(gumbel - expected > 0.015 && expected - bound > 0.015);
}

TEST(disjoint_rows_never_agree_and_equal_ones_always)
{
    static const double left[4] = {0.27, 0.73, 0, 0}, right[4] = {0, 0, 0.4, 0.6};
    for (int f = 0; f < 3; f++) {
        assert_same(agreement(all_forms[f], left, right, 4), 0);
        assert_within(agreement(all_forms[f], left, left, 4), 1, 2e-16);
        assert_false(agreement(all_forms[f], left, left, 4) > 1);
    }
}

TEST(equal_rows_agree_no_more_than_always)
{
    enum { V = 64 };
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int i = 0; i < 100; i++) {
        double row[V];
        tuples_row(row, V, 0, rng);
        for (int f = 0; f < 3; f++) assert_false(agreement(all_forms[f], row, row, V) > 1);
    }
}

TEST(tiny_chances_keep_their_digits)
{
    static const double target[2] = {1 - 1e-30, 1e-30}, draft[2] = {0, 1};
    assert_near(agreement(spec_coupling_gumbel, target, draft, 2), 1e-30, 1e-15);
}

TEST(rows_that_are_none_give_no_number)
{
    static const double bad[3] = {0.5, NAN, 0.5}, short_row[3] = {0.5, 0.3, 0.1},
                        row[3] = {0.5, 0.3, 0.2};
    for (int f = 0; f < 3; f++) {
        assert_nan(agreement(all_forms[f], bad, row, 3));
        assert_nan(agreement(all_forms[f], row, short_row, 3));
    }
}

/* ---- several arrivals ------------------------------------------------------------------------ */

/* Races whose clocks ring again and again: the target's token is the first of its race, and the
 * draft's are those that arrive before its n-th. */
TEST(arrivals_are_a_race_of_clocks_that_go_on, STATISTICS)
{
    enum { N = 3 };
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    const double target[4] = {0.27, 0.33, 0.15, 0.25}, draft[4] = {0.4, 0.05, 0.35, 0.2};
    const uint64_t rounds = spec_test_samples(100000);
    uint64_t among[N] = {0};
    for (uint64_t i = 0; i < rounds; i++) {
        double clock[4];
        int first = 0, before = 0;
        for (int x = 0; x < 4; x++) {
            clock[x] = -log(gsl_rng_uniform_pos(rng));
            if (clock[x] / target[x] < clock[first] / target[first]) first = x;
        }
        const double until = clock[first] / draft[first];
        for (int x = 0; x < 4; x++)
            for (double time = clock[x]; x != first && time / draft[x] < until;
                 time -= log(gsl_rng_uniform_pos(rng)))
                before++;
        for (int n = before; n < N; n++) among[n]++;
    }
    for (int n = 1; n <= N; n++) {
        const double expected = value(spec_coupling_arrivals, target, draft, 4, n);
        assert_within((double)among[n - 1] / (double)rounds, expected,
                      4.9 * sqrt(expected * (1 - expected) / (double)rounds));
    }
}

/* Coupled draws agree at least as often as independent ones, and at most as often as n independent
 * tries or any rule allow. */
TEST(arrivals_lie_between_match_and_the_optimum)
{
    OWNED_RNG *rng = spec_test_rng(gsl_rng_mt19937, spec_test_seed());
    for (int i = 0; i < 4000; i++) {
        double target[TUPLES_V], draft[TUPLES_V];
        const int V = 2 + i % 4, n = 1 + i / 4 % 5;
        tuples_row(target, V, i / 20 % 4, rng);
        tuples_row(draft, V, i / 80 % 4, rng);
        const double one = value(spec_coupling_arrivals, target, draft, V, 1),
                     all = value(spec_coupling_arrivals, target, draft, V, n);
        assert_within(one, agreement(spec_coupling_gumbel, target, draft, V), 1e-15);
        assert_true(all >= value(spec_multi_draft_match, target, draft, V, n) - 1e-14);
        assert_true(all <= 1 - pow(1 - one, n) + 1e-14);
        assert_true(all <= value(spec_optimal_iid, target, draft, V, n) + 1e-14);
    }
    /* target1, draft1: 43/62 for one, more than rrs's .76 and K-SEQ's .791 for two */
    assert_within(value(spec_coupling_arrivals, target1, draft1, 3, 2), 0.81979188345473, 1e-13);
    const double t[3] = {0.4, 0.6, 0}, d[3] = {0, 0.6, 0.4}; /* less than rrs */
    assert_within(value(spec_coupling_arrivals, t, d, 3, 2), 27.0 / 49, 1e-15);
    assert_within(value(spec_multi_draft_rrs, t, d, 3, 2), 0.6, 1e-15);
    assert_nan(value(spec_coupling_arrivals, target1, draft1, 3, 0));
}
