/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/observed_sums.h"

#include "tests/support/near.h"
#include "tests/support/support.h"
#include "tests/tools/advise/known_window.h"

#include <string.h>

static spec_observed_sums sums;

static void put(const spec_observation *o)
{
    const spec_observer to = spec_observed_sums_observer(&sums);
    assert_works(to.take(to.self, o, &error));
}

static int end(void **state)
{
    (void)state;
    spec_observed_sums_free(&sums);
    return 0;
}

static double column(size_t series, size_t cluster, int c)
{
    assert_true(series < sums.n && cluster < sums.series[series].n);
    return sums.series[series].column[cluster * SPEC_SUM_COLUMNS + (size_t)c];
}

TEST(batches_double)
{
    static const double top[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192};
    assert_int_equal(spec_observed_sums_batch(NAN), 0);
    assert_int_equal(spec_observed_sums_batch(0.0), 0);
    assert_int_equal(spec_observed_sums_batch(-1.0), 0);
    assert_int_equal(spec_observed_sums_batch(INFINITY), 0);
    for (int b = 1; b <= 14; b++) {
        assert_int_equal(spec_observed_sums_batch(top[b - 1]), b);
        assert_int_equal(spec_observed_sums_batch(top[b - 1] + 0.5), b + 1);
    }
    assert_int_equal(spec_observed_sums_batch(1e300), SPEC_SUM_BATCHES - 1);
}

TEST(a_line_adds_its_counts)
{
    spec_observation o = known_line();
    o.seconds = 10.0;
    o.running = 3.0;
    o.printed_length = 5.44;
    o.printed_rate = 0.888;
    put(&o);
    assert_int_equal(sums.n, 1);
    assert_int_equal(sums.series[0].K, 5);
    assert_int_equal(sums.series[0].batch, 3);
    assert_int_equal(sums.series[0].depths, 5);
    const double expected[] = {59, 59, 295, 262, 321, 10, 30, 321, 59,
                               90, 1,  0,   59,  58,  56, 54, 52,  42};
    for (int c = 0; c < 18; c++) assert_same(column(0, 0, c), expected[c]);
    assert_same(sums.printed_length, 5.44);
    assert_same(sums.printed_rate, 0.888);
    assert_int_equal(sums.observations, 1);
    assert_int_equal(sums.inexact + sums.idle + sums.contradictions, 0);
}

/* Every sum of every prefix of the series equals the plain sum, in each column. */
TEST(joined_clusters_keep_the_sums_and_the_order)
{
    enum { N = 5000 };
    double rounds = 0.0, passed = 0.0;
    size_t each = 1;
    for (int i = 0; i < N; i++) {
        spec_observation o = known_line();
        o.rounds = o.rounds_low = o.rounds_high = 100 + i;
        o.drafted = 5 * o.rounds;
        put(&o);
        rounds += 100 + i;
        passed += 58;
        const spec_observed_series *s = &sums.series[0];
        double got = 0.0, got_passed = 0.0;
        if (i % 97 != 0 && i < N - 3) continue;
        for (size_t c = 0; c < s->n; c++) {
            got += column(0, c, SPEC_SUM_ROUNDS);
            got_passed += column(0, c, SPEC_SUM_PASSED);
        }
        assert_same(got, rounds);
        assert_same(got_passed, passed);
        assert_true(s->n <= SPEC_SUM_CLUSTERS && s->each >= each);
        assert_int_equal(s->observations, i + 1);
        assert_true(s->n == (s->observations + s->each - 1) / s->each);
        each = s->each;
    }
    assert_int_equal(each, 8); /* 5000 / 1024 is between 4 and 8 */
    for (size_t c = 0; c + 1 < sums.series[0].n; c++)
        assert_same(column(0, c, SPEC_SUM_ROUNDS), 8.0 * 100 + 8.0 * 8.0 * (double)c + 28);
}

TEST(requests_stay_clusters_up_to_a_limit)
{
    spec_observation o = known_line();
    o.kind = SPEC_OBSERVED_REQUEST;
    for (int i = 0; i < SPEC_SUM_MOST; i++) put(&o);
    assert_int_equal(sums.series[0].n, SPEC_SUM_MOST);
    put(&o);
    assert_int_equal(sums.series[0].n, SPEC_SUM_MOST / 2 + 1);
    assert_int_equal(sums.series[0].each, 2);
    assert_same(column(0, 0, SPEC_SUM_ROUNDS), 118);
    assert_same(column(0, SPEC_SUM_MOST / 2, SPEC_SUM_ROUNDS), 59);
    /* Another series of requests has its own clusters, up to the limit for windows. */
    o.label = 5;
    for (int i = 0; i < SPEC_SUM_MOST; i++) put(&o);
    assert_true(sums.series[0].n + sums.series[1].n <= SPEC_SUM_MOST);
    assert_int_equal(sums.observations, 2 * SPEC_SUM_MOST + 1);
}

/* Requests of 500 models: the total number of clusters stays bounded, and counts stay exact. */
TEST(many_series_share_the_limit)
{
    enum { MODELS = 500, EACH = 200 };
    spec_observation o = known_line();
    size_t clusters = 0;
    double rounds = 0.0;
    o.kind = SPEC_OBSERVED_REQUEST;
    for (int i = 0; i < EACH; i++)
        for (o.label = 1; o.label <= MODELS; o.label++) put(&o);
    for (size_t i = 0; i < sums.n; i++) {
        clusters += sums.series[i].n;
        assert_true(sums.series[i].n <= 64);
        for (size_t g = 0; g < sums.series[i].n; g++)
            rounds += sums.series[i].column[g * SPEC_SUM_COLUMNS + SPEC_SUM_ROUNDS];
    }
    assert_true(clusters <= 64 * MODELS);
    assert_same(rounds, 59.0 * EACH * MODELS);
}

TEST(series_differ_by_label_length_batch_and_kind)
{
    spec_observation o = known_line();
    put(&o);
    o.label = 1;
    put(&o);
    o.running = 1;
    put(&o);
    o.kind = SPEC_OBSERVED_REQUEST;
    put(&o);
    o.K = 6; /* 5 depths are given, and all accepted tokens */
    put(&o);
    put(&o);
    assert_int_equal(sums.n, 5);
    for (size_t i = 0; i < sums.n; i++) {
        const spec_observed_series *series = &sums.series[i];
        assert_int_equal(series->K, i < 4 ? 5 : 6);
        assert_int_equal(series->batch, i < 2 ? 0 : 1);
        assert_int_equal(series->n, i < 4 ? 1 : 2);
        assert_int_equal(series->depths, 5);
        assert_same(series->column[SPEC_SUM_ACCEPTED], 262);
        assert_same(series->column[SPEC_SUM_ORDER], (double)i);
    }
}

TEST(too_many_series_are_refused)
{
    spec_error error = {""};
    const spec_observer to = spec_observed_sums_observer(&sums);
    spec_observation o = known_line();
    for (o.label = 1; o.label <= SPEC_SUM_SERIES; o.label++) put(&o);
    assert_int_equal(to.take(to.self, &o, &error), GSL_EINVAL);
    assert_string_equal(
        error.text, "more than 512 sources, draft lengths and batches; give fewer files at a time");
    assert_int_equal(sums.n, SPEC_SUM_SERIES);
}

TEST(plain_decoding_is_busy_with_its_passes)
{
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_WINDOW, 1);
    o.K = 0;
    o.emitted = 400;
    o.seconds = 10;
    o.running = 4;
    put(&o);
    assert_same(column(0, 0, SPEC_SUM_ROUNDS), 0);
    assert_same(column(0, 0, SPEC_SUM_BUSY), 40);
    assert_same(column(0, 0, SPEC_SUM_BUSY_ROUNDS), 400);
    assert_same(column(0, 0, SPEC_SUM_BUSY_EMITTED), 400);
}

/* A window for which neither rounds nor passes are known. */
TEST(unknown_numbers_add_nothing)
{
    spec_observation o = window(NAN, 60, 30);
    put(&o);
    assert_int_equal(sums.n, 1);
    assert_int_equal(sums.series[0].K, -1);
    assert_same(column(0, 0, SPEC_SUM_ROUNDS), 0);
    assert_same(column(0, 0, SPEC_SUM_PASSES), 0);
    assert_same(column(0, 0, SPEC_SUM_DRAFTED), 60);
    assert_same(column(0, 0, SPEC_SUM_ACCEPTED), 30);
    assert_same(column(0, 0, SPEC_SUM_EMITTED), 0);
}

TEST(inexact_rounds_are_counted)
{
    spec_observation o = window(NAN, 60, 30);
    o.K = 3;
    put(&o);
    o = window(20, 60, 30);
    put(&o);
    assert_int_equal(sums.inexact, 1);
    assert_int_equal(sums.observations, 2);
}

/* Rounded rates may allow the first depth one round more than the likely number. */
TEST(inexact_rounds_bound_what_passed)
{
    spec_observation o = window(58, 295, 262);
    const spec_observation exact = known_line();
    memcpy(o.passed, exact.passed, sizeof o.passed);
    o.passed[0] = 59;
    o.K = o.depths = 5;
    o.rounds_high = 59;
    put(&o);
    assert_int_equal(sums.contradictions, 0);
    assert_same(column(0, 0, SPEC_SUM_PASSED), 58);
}

TEST(times_need_seconds_and_for_windows_a_batch)
{
    spec_observation o = window(20, 60, 30);
    o.seconds = 10;
    put(&o);
    o.running = 0; /* the last request ended before the line was written */
    put(&o);
    assert_same(column(0, 0, SPEC_SUM_SECONDS), 10);
    assert_same(column(0, 1, SPEC_SUM_SECONDS), 10);
    assert_same(column(0, 0, SPEC_SUM_BUSY), 0);
    assert_same(column(0, 0, SPEC_SUM_BUSY_EMITTED), 0);
    o.running = 2;
    o.seconds = -1;
    put(&o);
    o.seconds = INFINITY;
    put(&o);
    assert_same(column(1, 0, SPEC_SUM_SECONDS), 0);
    assert_same(column(1, 0, SPEC_SUM_BUSY), 0);
    assert_same(column(1, 0, SPEC_SUM_BUSY_ROUNDS), 0);
    o.kind = SPEC_OBSERVED_REQUEST; /* its seconds are its own, whatever ran beside it */
    o.seconds = 4;
    o.passes = 25;
    put(&o);
    assert_same(column(2, 0, SPEC_SUM_BUSY), 4);
    assert_same(column(2, 0, SPEC_SUM_BUSY_ROUNDS), 25);
    assert_same(column(2, 0, SPEC_SUM_BUSY_EMITTED), 55);
    o.running = NAN;
    put(&o);
    assert_same(column(3, 0, SPEC_SUM_BUSY), 4);
}

/* If busy seconds are given, they count even without a batch. Passes over steps give the batch; a
 * gauge gives it at one moment; the mean over time is the last resort. */
TEST(busy_seconds_and_steps_come_before_a_gauge)
{
    static const double nan = NAN;
    const struct {
        double seconds, running, busy, steps;
        int batch;
        double sum;
    } cases[] = {{nan, nan, 6.0, nan, 0, 6.0}, {nan, 8.0, 6.0, nan, 4, 6.0},
                 {nan, 8.0, 6.0, 59, 1, 6.0},  {nan, 0.0, 6.0, 59 / 3.0, 3, 6.0},
                 {3.0, 0.0, 6.0, nan, 2, 6.0}, {3.0, 8.0, 6.0, nan, 4, 6.0},
                 {3.0, 8.0, nan, 59, 1, 3.0},  {3.0, -1.0, nan, nan, 0, 0.0},
                 {-3.0, -1.0, nan, nan, 0, 0}, {3.0, 0.0, -6.0, nan, 0, 0.0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spec_observation o = known_line();
        o.seconds = cases[i].seconds;
        o.running = cases[i].running;
        o.busy = cases[i].busy;
        o.steps = cases[i].steps;
        put(&o);
        assert_int_equal(sums.series[0].batch, cases[i].batch);
        assert_same(column(0, 0, SPEC_SUM_BUSY), cases[i].sum);
        assert_same(column(0, 0, SPEC_SUM_BUSY_EMITTED), cases[i].sum > 0.0 ? 321 : 0);
        assert_same(column(0, 0, SPEC_SUM_BUSY_ROUNDS), cases[i].sum > 0.0 ? 59 : 0);
        spec_observed_sums_free(&sums);
    }
}

/* Depths after the last one are unknown, unless the given ones have all accepted tokens. */
TEST(depths_count_where_they_are_complete)
{
    spec_observation o = known_line();
    o.depths = 4;
    o.accepted = 262;
    put(&o);
    assert_same(column(0, 0, SPEC_SUM_DEPTH_ROUNDS), 0);
    assert_same(column(0, 0, SPEC_SUM_PASSED), 0);
    assert_int_equal(sums.series[0].depths, 0);
    o.accepted = 220;
    put(&o);
    assert_same(column(0, 1, SPEC_SUM_DEPTH_ROUNDS), 59);
    assert_same(column(0, 1, SPEC_SUM_PASSED + 3), 52);
    assert_int_equal(sums.series[0].depths, 4);
}

/* Idle observations are left out, and so are impossible ones; others that contradict themselves
 * count. */
TEST(observations_that_say_nothing_are_left_out)
{
    spec_observation o = window(0, 0, 0);
    put(&o);
    assert_int_equal(sums.idle, 1);
    o = window(20, 60, 70);
    put(&o);
    assert_int_equal(sums.impossible, 1);
    assert_int_equal(sums.n + sums.observations, 0);
    o = window(20, 19, 10);
    put(&o);
    assert_int_equal(sums.observations, 1);
    assert_int_equal(sums.impossible, 1);
    assert_int_equal(sums.contradictions, 2);
    assert_same(column(0, 0, SPEC_SUM_ROUNDS), 20);
}

/* 128 tokens in 2 rounds need K = 64, which contradicts 5 and an unknown length, but not 64. */
TEST(the_least_length_is_of_observations_that_contradict_it)
{
    static const int K[] = {64, 0, 5, -1};
    static const double least[] = {0.0, 0.0, 64.0, 64.0};
    for (int i = 0; i < 4; i++) {
        spec_observation o = spec_observation_empty(SPEC_OBSERVED_WINDOW, 1);
        o.K = K[i];
        o.rounds = o.rounds_low = o.rounds_high = K[i] == 0 ? 0.0 : 2.0;
        o.drafted = 64.0 * o.rounds;
        o.emitted = 40.0;
        put(&o);
        assert_same(sums.least_K, least[i]);
        end(NULL);
    }
}

TEST(two_contradictions_keep_the_first_text)
{
    spec_observation o = window(20, 60, 70);
    put(&o);
    o = window(20, 19, 10);
    o.line = 8;
    put(&o);
    assert_int_equal(sums.contradictions, 2);
    assert_int_equal(sums.contradiction_line, 7);
    assert_string_equal(sums.contradiction, "accepted exceeds drafted: 70 of 60");
}

SUITE(.after_each = end);
