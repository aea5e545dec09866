/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tokens, times and speeds of draft lengths, from sums that are worked by hand. */
#include "experiments/advice/length_speeds.h"

#include "tests/experiments/advice/observed_windows.h"
#include "tests/support/support.h"

typedef struct {
    spec_observed_runs runs;
    spec_length_plan plan;
    double *sum; /* (runs.n, SPEC_SUM_COLUMNS) */
    spec_length_speed speed[SPEC_ADVICE_K];
} worked;

static void work_out(worked *w, const spec_observed_sums *sums)
{
    assert_int_equal(spec_observed_runs_init(&w->runs, sums, NULL), GSL_SUCCESS);
    assert_int_equal(spec_length_plan_init(&w->plan, &w->runs, &usual), GSL_SUCCESS);
    w->sum = calloc(w->runs.n * SPEC_SUM_COLUMNS, sizeof *w->sum);
    assert_non_null(w->sum);
    for (size_t i = 0; i < w->runs.n; i++)
        for (int c = 0; c < SPEC_SUM_COLUMNS; c++)
            w->sum[i * SPEC_SUM_COLUMNS + (size_t)c] = spec_observed_run_sum(&w->runs.run[i], c);
    spec_length_speeds(w->speed, &w->plan, w->sum);
}

static void forget(worked *w)
{
    spec_observed_runs_free(&w->runs);
    free(w->sum);
}

TEST(a_length_takes_its_tokens_from_its_own_run_or_the_next_longer)
{
    OWNED(spec_observed_sums) sums = {0};
    worked w;
    add(&sums, &(window){SPEC_OBSERVED_REQUEST, 1, 100.0, {50.0}, 2.0, 1.0});
    add(&sums, &(window){SPEC_OBSERVED_REQUEST, 3, 100.0, {70.0, 40.0, 10.0}, 4.0, 1.0});
    work_out(&w, &sums);
    assert_int_equal(spec_length_plan_base(&w.plan, 1)->K, 1);
    assert_int_equal(spec_length_plan_base(&w.plan, 2)->K, 3);
    assert_int_equal(spec_length_plan_base(&w.plan, 6)->K, 3);
    assert_near(w.speed[1].tokens.point, 1.5, 1e-12);
    assert_near(w.speed[2].tokens.point, 2.1, 1e-12);
    assert_near(w.speed[3].tokens.point, 2.2, 1e-12);
    assert_near(w.speed[5].tokens.low, 2.2, 1e-12);
    assert_near(w.speed[5].tokens.high, 2.4, 1e-12);
    assert_near(w.speed[4].tokens.point, 2.2 + 0.1 * 0.25, 1e-12);
    /* K = 3 is the current length, the later one of equals, and its round the unit of time */
    assert_int_equal(w.plan.reference, 3);
    assert_near(w.speed[1].time.point, 0.5, 1e-12);
    assert_near(w.speed[2].time.point, 0.75, 1e-12);
    assert_near(w.speed[1].speed.point, 1.5 / 0.5 / 2.2, 1e-12);
    assert_near(w.speed[2].speed.point, 2.1 / 0.75 / 2.2, 1e-12);
    forget(&w);
}

/* 100 rounds with depths and 300 without, of 500 passes in all: depths stand for all 400 rounds. */
TEST(depths_of_some_rounds_stand_for_all)
{
    OWNED(spec_observed_sums) sums = {0};
    worked w;
    const spec_observer observer = spec_observed_sums_observer(&sums);
    spec_observation seen = spec_observation_empty(SPEC_OBSERVED_REQUEST, 1);
    add(&sums, &(window){SPEC_OBSERVED_REQUEST, 2, 100.0, {60.0, 30.0}, NAN, NAN});
    seen.K = 2;
    seen.rounds = seen.rounds_low = seen.rounds_high = 300.0;
    seen.passes = 400.0;
    seen.drafted = 600.0;
    seen.accepted = 270.0;
    assert_int_equal(observer.take(observer.self, &seen, NULL), GSL_SUCCESS);
    work_out(&w, &sums);
    assert_near(w.speed[2].tokens.point, 1.0 + 360.0 / 500.0, 1e-12);
    assert_near(w.speed[1].tokens.point, 1.0 + 0.6 * 400.0 / 500.0, 1e-12);
    forget(&w);
}

TEST(without_depths_lengths_have_two_ends)
{
    OWNED(spec_observed_sums) sums = {0};
    worked w;
    const spec_observer observer = spec_observed_sums_observer(&sums);
    spec_observation seen = spec_observation_empty(SPEC_OBSERVED_REQUEST, 1);
    seen.K = 3;
    seen.rounds = seen.rounds_low = seen.rounds_high = 100.0;
    seen.drafted = 300.0;
    seen.accepted = 150.0;
    assert_int_equal(observer.take(observer.self, &seen, NULL), GSL_SUCCESS);
    work_out(&w, &sums);
    assert_near(w.speed[1].tokens.low, 1.5, 1e-12);
    assert_near(w.speed[1].tokens.high, 2.0, 1e-12);
    assert_near(w.speed[2].tokens.low, 2.0, 1e-12);
    assert_near(w.speed[2].tokens.high, 2.5, 1e-12);
    assert_near(w.speed[5].tokens.low, 2.5, 1e-12);
    assert_near(w.speed[5].tokens.high, 3.5, 1e-12);
    assert_true(w.speed[2].tokens.low < w.speed[2].tokens.point);
    assert_true(w.speed[2].tokens.point < w.speed[2].tokens.high);
    assert_nan(spec_length_mixture(&w.runs.run[0], w.sum, 5).low);
    forget(&w);
}

/* From m_1 = .6 and m_2 = .45 the third moment lies in [m_2^2/m_1, m_2 - (m_1 - m_2)^2/(1 - m_1)].
 */
TEST(a_mixture_bounds_longer_drafts)
{
    OWNED(spec_observed_sums) sums = {0};
    worked w;
    add(&sums, &(window){SPEC_OBSERVED_REQUEST, 2, 100.0, {60.0, 45.0}, 1.0, 1.0});
    work_out(&w, &sums);
    const spec_bounds bounds = spec_length_mixture(&w.runs.run[0], w.sum, 3);
    assert_near(bounds.low, 2.05 + 0.45 * 0.45 / 0.6, 1e-9);
    assert_near(bounds.high, 2.05 + 0.45 - 0.15 * 0.15 / 0.4, 1e-9);
    forget(&w);
}

TEST(windows_are_joined_and_requests_are_not)
{
    OWNED(spec_observed_sums) sums = {0};
    worked w;
    for (int i = 0; i < 40; i++) {
        add(&sums, &(window){SPEC_OBSERVED_WINDOW, 1, 10.0, {5.0}, 1.0, 4.0});
        add(&sums, &(window){SPEC_OBSERVED_REQUEST, 2, 10.0, {5.0, 2.0}, 1.0, 1.0});
    }
    work_out(&w, &sums);
    const spec_observed_run *windows = spec_observed_runs_find(&w.runs, 1, -1);
    const spec_observed_run *requests = spec_observed_runs_find(&w.runs, 2, -1);
    assert_int_equal(windows->n, SPEC_OBSERVED_STRETCHES);
    assert_false(windows->requests);
    assert_int_equal(requests->n, 40);
    assert_true(requests->requests);
    assert_near(spec_observed_run_sum(windows, SPEC_SUM_ROUNDS), 400.0, 1e-12);
    assert_null(spec_observed_runs_find(&w.runs, 3, -1));
    forget(&w);
}
