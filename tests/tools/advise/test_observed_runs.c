/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/observed_runs.h"

#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/tools/advise/known_window.h"

#include <stdlib.h>

static spec_observed_sums sums;
static spec_observed_runs runs;

static int end(void **state)
{
    (void)state;
    spec_observed_runs_free(&runs);
    spec_observed_sums_free(&sums);
    return 0;
}

enum { WINDOWS = 5 * SPEC_OBSERVED_STRETCHES };

/* An observation that can be recognised by its accepted tokens. */
static void put(spec_observation_kind kind, int K, double running, uint64_t label, double accepted)
{
    const spec_observer to = spec_observed_sums_observer(&sums);
    spec_observation o = window(100, NAN, accepted);
    o.kind = kind;
    o.K = K;
    o.running = running;
    o.label = label;
    if (K == 0) {
        o.rounds = o.rounds_low = o.rounds_high = NAN;
        o.passes = 100;
    }
    assert_int_equal(to.take(to.self, &o, NULL), GSL_SUCCESS);
}

static void make_runs(void)
{
    assert_works(spec_observed_runs_init(&runs, &sums, &error));
}

static double accepted(const spec_observed_run *run, size_t i)
{
    assert_true(i < run->n);
    return run->column[i * SPEC_SUM_COLUMNS + SPEC_SUM_ACCEPTED];
}

TEST(runs_ascend_by_length_and_batch)
{
    static const int K[] = {0, 0, 2, 2, 2, 2, 64, 64}, batch[] = {-1, 3, -1, 0, 1, 3, -1, 1};
    static const double passes[] = {100, 100, 400, 100, 200, 100, 100, 100};
    put(SPEC_OBSERVED_REQUEST, 2, 1, 0, 11);
    put(SPEC_OBSERVED_REQUEST, 64, 1, 0, 12);
    put(SPEC_OBSERVED_REQUEST, 0, 4, 0, NAN);
    put(SPEC_OBSERVED_REQUEST, 2, 4, 0, 13);
    put(SPEC_OBSERVED_REQUEST, 2, NAN, 0, 14);
    put(SPEC_OBSERVED_REQUEST, 2, 1, 5, 15); /* another source */
    put(SPEC_OBSERVED_REQUEST, -1, 1, 0, 16);
    make_runs();
    assert_int_equal(runs.n, 8);
    for (size_t i = 0; i < runs.n; i++) {
        assert_int_equal(runs.run[i].K, K[i]);
        assert_int_equal(runs.run[i].batch, batch[i]);
        assert_same(spec_observed_run_sum(&runs.run[i], SPEC_SUM_PASSES), passes[i]);
        assert_ptr_equal(spec_observed_runs_find(&runs, K[i], batch[i]), &runs.run[i]);
    }
    assert_null(spec_observed_runs_find(&runs, -1, -1)); /* K is not known */
    assert_null(spec_observed_runs_find(&runs, 2, 2));
    assert_null(spec_observed_runs_find(&runs, 3, -1));
}

/* Two sources take turns, with 30 requests or windows each. */
static void put_in_turn(spec_observation_kind kind)
{
    for (int i = 0; i < WINDOWS; i++)
        put(kind, 3, i % 3 == 0 ? 1 : 8, 1 + (uint64_t)(i % 2), 100 + 0.125 * i);
}

TEST(requests_are_clusters_in_order_of_time)
{
    put_in_turn(SPEC_OBSERVED_REQUEST);
    make_runs();
    const spec_observed_run *all = spec_observed_runs_find(&runs, 3, -1);
    const spec_observed_run *one = spec_observed_runs_find(&runs, 3, 1);
    assert_true(all->requests && all->n == WINDOWS && one->n == WINDOWS / 3);
    for (size_t i = 0; i < WINDOWS; i++) assert_same(accepted(all, i), 100.0 + 0.125 * (double)i);
    for (size_t i = 0; i < WINDOWS / 3; i++)
        assert_same(accepted(one, i), 100.0 + 0.375 * (double)i);
}

/* 1,200 windows of 100 passes become 240 stretches of 5. */
TEST(windows_are_joined_along_time)
{
    put_in_turn(SPEC_OBSERVED_WINDOW);
    make_runs();
    const spec_observed_run *all = spec_observed_runs_find(&runs, 3, -1);
    assert_false(all->requests);
    assert_int_equal(all->n, SPEC_OBSERVED_STRETCHES);
    for (size_t i = 0; i < all->n; i++)
        assert_same(accepted(all, i), 5.0 * (100.25 + 0.625 * (double)i));
    assert_int_equal(spec_observed_runs_find(&runs, 3, 1)->n, SPEC_OBSERVED_STRETCHES);
    spec_observed_run in_time;
    assert_int_equal(spec_observed_run_gather(&in_time, &sums, 3, -1), GSL_SUCCESS);
    assert_int_equal(in_time.n, WINDOWS);
    for (size_t i = 0; i < WINDOWS; i++)
        assert_same(accepted(&in_time, i), 100.0 + 0.125 * (double)i);
    free(in_time.column);
}

/* If there is one window among the requests, the run counts as one of windows. */
TEST(a_run_of_both_kinds_is_joined)
{
    put_in_turn(SPEC_OBSERVED_REQUEST);
    put(SPEC_OBSERVED_WINDOW, 3, 1, 0, 260);
    make_runs();
    assert_false(spec_observed_runs_find(&runs, 3, -1)->requests);
    assert_int_equal(spec_observed_runs_find(&runs, 3, -1)->n, SPEC_OBSERVED_STRETCHES);
    assert_true(spec_observed_runs_find(&runs, 3, 4)->requests);
}

TEST(nothing_has_no_runs)
{
    make_runs();
    assert_true(runs.n == 0 && spec_observed_runs_find(&runs, 1, -1) == NULL);
}

/* 59 rounds with 58 56 54 52 42 accepted by depth. */
TEST(clusters_have_these_numbers)
{
    const spec_observation o = known_line();
    const spec_observer to = spec_observed_sums_observer(&sums);
    for (int i = 0; i < 2; i++) assert_int_equal(to.take(to.self, &o, NULL), GSL_SUCCESS);
    make_runs();
    const spec_observed_run *run = spec_observed_runs_find(&runs, 5, -1);
    assert_int_equal(run->depths, 5);
    const double *cluster = run->column;
    assert_same(spec_cluster_column(cluster, SPEC_SUM_DRAFTED), 295);
    assert_same(spec_cluster_per_pass(cluster, 0), 59 + 262);
    assert_same(spec_cluster_accepted(cluster, 5), 262);
    assert_same(spec_cluster_accepted(cluster, 3), 58 + 56 + 54);
    assert_same(spec_cluster_tested(cluster, 5), 59 + 58 + 56 + 54 + 52);
    assert_same(spec_cluster_tested(cluster, 1), 59);
    const spec_cluster_question alpha = {.passed = spec_cluster_accepted,
                                         .passed_arg = 3,
                                         .tested = spec_cluster_tested,
                                         .tested_arg = 3,
                                         .proportion = true};
    spec_cluster_ratio got;
    assert_int_equal(spec_observed_run_ratio(&got, run, &alpha, 0.1), GSL_SUCCESS);
    const double passed[] = {168, 168}, tested[] = {173, 173};
    const spec_cluster_ratio expected = spec_cluster_ratio_of(passed, tested, 2, 1, 0.1);
    assert_same(got.value, 168.0 / 173.0);
    assert_same(got.low, expected.low);
    assert_same(got.high, expected.high);
}

/* A request of 100 rounds, of which passed[j] accept at least j + 1 of 3 draft tokens. */
static void put_depths(const double passed[3])
{
    const spec_observer to = spec_observed_sums_observer(&sums);
    spec_observation o = window(100, 300, passed[0] + passed[1] + passed[2]);
    o.kind = SPEC_OBSERVED_REQUEST;
    o.K = o.depths = 3;
    for (int j = 0; j < 3; j++) o.passed[j] = passed[j];
    assert_int_equal(to.take(to.self, &o, NULL), GSL_SUCCESS);
}

/* Two requests of 100 rounds: 60 and 40 accept the first token, 30 and 10 also the second, 15 and
 * 5 the third. Without the first, m_1 = .4 and m_2 = .1; without the other, .6 and .3. */
TEST(the_excess_of_a_mixture_has_its_jackknife)
{
    static const double passed[2][3] = {{60, 30, 15}, {40, 10, 5}};
    double variance;
    for (int i = 0; i < 2; i++) put_depths(passed[i]);
    put(SPEC_OBSERVED_REQUEST, 3, 1, 0, 50); /* without depths, so it does not count */
    make_runs();
    const spec_observed_run *run = spec_observed_runs_find(&runs, 3, -1);
    assert_near(spec_observed_run_excess(&variance, run, 1), 0.2 - 0.25, 1e-12);
    assert_near(variance, (0.01 * 0.01 + 0.01 * 0.01) / 2.0, 1e-12);
    assert_near(spec_observed_run_excess(&variance, run, 2), 0.5 * 0.1 - 0.04, 1e-12);
    assert_near(variance, (0.0 + pow(0.6 * 0.15 - 0.09 - 0.01, 2.0)) / 2.0, 1e-12);
}

/* Sums of these counts are rounded, so the excess without a request differs in its last digit. */
TEST(equal_requests_have_no_spread)
{
    double variance;
    put_depths((const double[]){60.1, 30.7, 11.3});
    make_runs();
    (void)spec_observed_run_excess(&variance, spec_observed_runs_find(&runs, 3, -1), 1);
    assert_nan(variance); /* one request */
    spec_observed_runs_free(&runs);
    for (int i = 0; i < 2; i++) put_depths((const double[]){60.1, 30.7, 11.3});
    make_runs();
    (void)spec_observed_run_excess(&variance, spec_observed_runs_find(&runs, 3, -1), 1);
    assert_same(variance, 0.0);
}

SUITE(.after_each = end);
