/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks tokens, times and speeds of draft lengths from sums that are worked out by hand. */
#include "tools/advise/length_speeds.h"

#include "analysis/capped_geometric.h"
#include "tests/support/support.h"
#include "tests/tools/advise/observed_windows.h"

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
    assert_near(w.speed[2].tokens.low, 2.1, 1e-12);
    assert_true(w.speed[2].tokens.point > 2.1 && w.speed[2].tokens.high < 2.2);
    assert_near(w.speed[3].tokens.point, 2.2, 1e-12);
    assert_near(w.speed[5].tokens.low, 2.2, 1e-12);
    assert_near(w.speed[5].tokens.high, 2.4, 1e-12);
    assert_near(w.speed[4].tokens.point, 2.2 + 0.1 * 0.25, 1e-12);
    /* K = 3 is the current length, the later one of two equals, and its round is the unit of
     * time */
    assert_int_equal(w.plan.reference, 3);
    assert_near(w.speed[1].time.point, 0.5, 1e-12);
    assert_near(w.speed[2].time.low, 0.5, 1e-12);
    assert_near(w.speed[2].time.high, 0.75, 1e-12);
    assert_near(w.speed[1].speed.point, 1.5 / 0.5 / 2.2, 1e-12);
    assert_near(w.speed[2].speed.point, w.speed[2].tokens.point / w.speed[2].time.point / 2.2,
                1e-12);
    forget(&w);
}

/* 100 rounds have depths and 300 do not, out of 500 passes: the depths represent all 400 rounds. */
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
    assert_near(w.speed[1].tokens.low, 1.0 + 0.6 * 400.0 / 500.0, 1e-12);
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
    assert_false(w.plan.linear[2]);
    forget(&w);
}

/* Requests with alpha .9 and .3 have equally many tokens, at K = 3. Computes the truth at another
 * length if alpha belongs to requests; the cut rounds if it belongs to rounds; and the ends between
 * them. */
TEST(requests_that_differ_bound_other_lengths)
{
    OWNED(spec_observed_sums) sums = {0};
    static const double alpha[] = {0.9, 0.3};
    worked w;
    double rounds[2], m[3] = {0.0}, passed[2][3], truth[8];
    for (int i = 0; i < 2; i++) {
        rounds[i] = 60000.0 / spec_capped_geometric_mean(alpha[i], 3);
        for (int j = 0; j < 3; j++) {
            passed[i][j] = rounds[i] * pow(alpha[i], j + 1);
            m[j] += passed[i][j];
        }
        add(&sums, &(window){SPEC_OBSERVED_REQUEST,
                             3,
                             rounds[i],
                             {passed[i][0], passed[i][1], passed[i][2]},
                             1.0,
                             1.0});
    }
    work_out(&w, &sums);
    double cut = 1.0;
    for (int K = 1; K <= 6; K++) {
        truth[K] = 2.0 / (1.0 / spec_capped_geometric_mean(alpha[0], K) +
                          1.0 / spec_capped_geometric_mean(alpha[1], K));
        if (K == 3) continue;
        const spec_length_number tokens = w.speed[K].tokens;
        assert_true(w.plan.linear[K]);
        assert_true(tokens.low <= truth[K] && truth[K] <= tokens.high);
        assert_within(tokens.point, truth[K], 0.02);
        if (K > 3) continue;
        cut += m[K - 1] / (rounds[0] + rounds[1]);
        assert_near(tokens.low, cut, 1e-9);
        assert_within(tokens.high, truth[K], 0.005);
    }
    assert_true(truth[2] > cut + 0.05); /* cutting is not enough */
    forget(&w);
}

/* Acceptance that falls with depth cannot come from a mixture, so longer drafts have free bounds,
 * and shorter ones the bounds of arbitrary requests. */
TEST(acceptance_that_falls_with_depth_is_no_mixture)
{
    OWNED(spec_observed_sums) sums = {0};
    worked w;
    add(&sums, &(window){SPEC_OBSERVED_REQUEST, 2, 10000.0, {6000.0, 3000.0}, 1.0, 1.0});
    work_out(&w, &sums);
    assert_false(w.plan.linear[1]);
    assert_near(w.speed[1].tokens.low, 1.6, 1e-12);
    assert_near(w.speed[1].tokens.high, 1.9 / (1.0 + 0.3 / 2.0), 1e-12);
    assert_near(w.speed[3].tokens.low, 1.9, 1e-12);
    assert_near(w.speed[3].tokens.point, 1.9 + 0.15, 1e-12);
    assert_near(w.speed[3].tokens.high, 2.2, 1e-12);
    forget(&w);
}

TEST(windows_are_joined_and_requests_are_not)
{
    OWNED(spec_observed_sums) sums = {0};
    worked w;
    for (int i = 0; i < 240; i++) {
        add(&sums, &(window){SPEC_OBSERVED_WINDOW, 1, 10.0, {5.0}, 1.0, 4.0});
        add(&sums, &(window){SPEC_OBSERVED_REQUEST, 2, 10.0, {5.0, 2.0}, 1.0, 1.0});
    }
    work_out(&w, &sums);
    const spec_observed_run *windows = spec_observed_runs_find(&w.runs, 1, -1);
    const spec_observed_run *requests = spec_observed_runs_find(&w.runs, 2, -1);
    assert_int_equal(windows->n, SPEC_OBSERVED_STRETCHES);
    assert_false(windows->requests);
    assert_int_equal(requests->n, 240);
    assert_true(requests->requests);
    assert_near(spec_observed_run_sum(windows, SPEC_SUM_ROUNDS), 2400.0, 1e-12);
    assert_null(spec_observed_runs_find(&w.runs, 3, -1));
    forget(&w);
}

/* Adds windows of K with this many requests at a time, and 400 rounds each; seconds are those of a
 * request. */
static void add_at(spec_observed_sums *sums, int K, double running, double each)
{
    window w = {SPEC_OBSERVED_WINDOW, K, 400.0, {240.0}, each * 400.0 / running, running};
    if (K == 0) w.rounds = 640.0, w.seconds = each * 640.0 / running;
    add(sums, &w);
}

/* 5 and 8 requests are in one range of batches but are not compared; 7.6 and 8 are. */
TEST(runs_of_other_batches_are_not_compared)
{
    for (int i = 0; i < 2; i++) {
        OWNED(spec_observed_sums) sums = {0};
        worked w;
        for (int k = 0; k < 4; k++) {
            add_at(&sums, 0, i == 0 ? 5.0 : 7.6, 0.1);
            add_at(&sums, 1, 8.0, 0.12);
        }
        work_out(&w, &sums);
        assert_int_equal(w.plan.reference, i == 0);
        assert_false(w.plan.equal_rate);
        if (i == 1) assert_near(w.speed[1].time.point, 1.2, 1e-9);
        forget(&w);
    }
}

/* A response does not say how many requests ran with it; plain decoding had one at a time. */
TEST(an_unknown_batch_is_taken_to_be_that_of_plain_decoding)
{
    OWNED(spec_observed_sums) sums = {0};
    worked w;
    for (int i = 0; i < 4; i++) {
        add(&sums, &(window){SPEC_OBSERVED_REQUEST, 1, 400.0, {240.0}, 48.0, NAN});
        add_at(&sums, 0, 1.0, 0.1);
    }
    work_out(&w, &sums);
    assert_int_equal(w.plan.reference, 0);
    assert_near(w.speed[1].time.point, 1.2, 1e-9);
    assert_near(w.speed[1].speed.point, 1.6 / 1.2, 1e-9);
    forget(&w);
}

/* 12 requests at a time and 4 have the same tokens/s of wall time, so a token takes a third; also
 * if the requests of plain decoding were read one by one. */
TEST(equal_rates_of_requests_are_compared_by_the_time_of_a_token)
{
    for (int single = 0; single < 2; single++) {
        OWNED(spec_observed_sums) sums = {0};
        worked w;
        for (int i = 0; i < 4; i++) {
            add_at(&sums, 1, 4.0, 0.16);
            if (single)
                add(&sums, &(window){SPEC_OBSERVED_REQUEST, 0, 640.0, {0.0}, 0.3 * 640.0, 12.0});
            else
                add_at(&sums, 0, 12.0, 0.3);
        }
        work_out(&w, &sums);
        assert_true(w.plan.equal_rate);
        assert_int_equal(w.plan.reference, 0);
        assert_near(w.speed[1].speed.point, 3.0, 1e-9);
        assert_near(spec_length_plan_running(&w.plan, 0, -1), 12.0, 1e-9);
        forget(&w);
    }
}

/* 160 tokens are counted in 100 rounds, and 136 come out; a length that was not run loses as many
 * per draft token. */
TEST(trimmed_outputs_count_at_lengths_that_were_not_run)
{
    OWNED(spec_observed_sums) sums = {0};
    spec_advice_question question = usual;
    spec_observed_runs runs;
    spec_length_plan plan;
    spec_length_speed speed[SPEC_ADVICE_K];
    const spec_observer observer = spec_observed_sums_observer(&sums);
    spec_observation seen = spec_observation_empty(SPEC_OBSERVED_REQUEST, 1);
    seen.K = seen.depths = 2;
    seen.rounds = seen.rounds_low = seen.rounds_high = seen.passes = 100.0;
    seen.drafted = 200.0;
    seen.accepted = 60.0;
    seen.passed[0] = 45.0, seen.passed[1] = 15.0;
    seen.emitted = 136.0;
    seen.seconds = 1.0;
    question.round_over_plain = 1.5;
    assert_int_equal(observer.take(observer.self, &seen, NULL), GSL_SUCCESS);
    assert_int_equal(spec_observed_runs_init(&runs, &sums, NULL), GSL_SUCCESS);
    assert_int_equal(spec_length_plan_init(&plan, &runs, &question), GSL_SUCCESS);
    spec_length_speeds(speed, &plan, runs.run[0].column);
    assert_near(speed[1].speed.point,
                (1.0 - 0.15 / 2.0) * speed[1].tokens.point / speed[1].time.point, 1e-12);
    spec_observed_runs_free(&runs);
}

/* Drafts that end early look like rejections, so these counters do not show one alpha. */
TEST(drafts_that_end_early_have_free_bounds)
{
    OWNED(spec_observed_sums) sums = {0};
    worked w;
    const spec_observer observer = spec_observed_sums_observer(&sums);
    spec_observation seen = spec_observation_empty(SPEC_OBSERVED_REQUEST, 1);
    seen.K = seen.depths = 2;
    seen.rounds = seen.rounds_low = seen.rounds_high = 1000.0;
    seen.drafted = 1800.0;
    seen.accepted = 1050.0;
    seen.passed[0] = 600.0, seen.passed[1] = 450.0; /* as from a mixture of alphas */
    assert_int_equal(observer.take(observer.self, &seen, NULL), GSL_SUCCESS);
    work_out(&w, &sums);
    assert_false(w.plan.linear[1]);
    forget(&w);
}
