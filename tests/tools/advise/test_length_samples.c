/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks intervals of speeds from resampled clusters: few clusters, exact yardsticks, and
 * ranges. */
#include "tools/advise/length_speeds.h"

#include "tests/support/support.h"
#include "tests/tools/advise/observed_windows.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>

typedef struct {
    spec_observed_sums sums;
    spec_observed_runs runs;
    spec_length_plan plan;
    spec_length_samples samples;
} sampled;

static void sample(sampled *s, const spec_advice_question *question)
{
    assert_int_equal(spec_observed_runs_init(&s->runs, &s->sums, NULL), GSL_SUCCESS);
    assert_int_equal(spec_length_plan_init(&s->plan, &s->runs, question), GSL_SUCCESS);
    assert_int_equal(spec_length_samples_init(&s->samples, &s->plan), GSL_SUCCESS);
}

static void forget(sampled *s)
{
    spec_length_samples_free(&s->samples);
    spec_observed_runs_free(&s->runs);
    spec_observed_sums_free(&s->sums);
}

/* Adds n requests of 100 rounds at K whose times differ by a tenth. */
static void requests_of(sampled *s, int K, int n)
{
    for (int i = 0; i < n; i++)
        add(&s->sums,
            &(window){SPEC_OBSERVED_REQUEST, K, 100.0, {60.0, 36.0}, 1.0 + 0.1 * (i % 3 - 1), 1.0});
}

static void requests(sampled *s, int n)
{
    requests_of(s, 2, n);
}

TEST(few_clusters_have_a_wider_interval_than_their_resamples)
{
    for (int n = 2; n <= 4; n += 2) {
        sampled s = {0};
        spec_advice_question question = usual;
        double least = INFINITY, most = 0.0;
        question.plain_tokens_per_s = 100.0;
        requests(&s, n);
        sample(&s, &question);
        const spec_block_interval speed =
            spec_length_samples_interval(&s.samples, 2, SPEC_LENGTH_SPEED);
        for (int r = 0; r <= SPEC_LENGTH_RESAMPLES; r++) {
            least = fmin(least, s.samples.speed[r * SPEC_ADVICE_K + 2].speed.low);
            most = fmax(most, s.samples.speed[r * SPEC_ADVICE_K + 2].speed.high);
        }
        assert_true(speed.low < least && speed.high > most);
        assert_true(speed.low < speed.value && speed.value < speed.high);
        forget(&s);
    }
}

/* On the scale of logarithms Student's interval is symmetric, and resamples are not. */
TEST(sixteen_clusters_are_not_few)
{
    for (int n = 15; n <= 16; n++) {
        sampled s = {0};
        spec_advice_question question = usual;
        question.plain_tokens_per_s = 100.0;
        requests(&s, n);
        sample(&s, &question);
        const spec_block_interval speed =
            spec_length_samples_interval(&s.samples, 2, SPEC_LENGTH_SPEED);
        const double skew = log(speed.low * speed.high / (speed.value * speed.value));
        assert_true(n < 16 ? fabs(skew) < 1e-12 : fabs(skew) > 1e-6);
        forget(&s);
    }
}

/* Speeds relative to a plain run of few requests are as uncertain as that run, even when two of
 * them are compared. */
TEST(a_comparison_has_the_clusters_of_its_smallest_run)
{
    for (int few = 0; few <= 2; few++) {
        sampled s = {0};
        double least = INFINITY;
        for (int K = 0; K <= 2; K++) requests_of(&s, K, K == few ? 3 : 40);
        sample(&s, &usual);
        assert_int_equal(s.plan.reference, 0);
        const spec_block_interval over = spec_length_samples_ratio(&s.samples, 2, 1);
        for (int r = 0; r <= SPEC_LENGTH_RESAMPLES; r++) {
            const spec_length_speed *speed = s.samples.speed + r * SPEC_ADVICE_K;
            least = fmin(least, speed[2].speed.low / speed[1].speed.high);
        }
        if (few > 0) assert_true(over.low < least);
        if (few == 0) {
            const double low = over.low * over.high / (over.value * over.value);
            assert_near(low, 1.0, 1e-12);
        }
        forget(&s);
    }
}

/* The same drafts, relative to an exact speed and relative to as many plain requests. */
TEST(a_measured_yardstick_widens_the_interval)
{
    sampled exact = {0}, measured = {0};
    spec_advice_question question = usual;
    requests(&exact, 60);
    requests(&measured, 60);
    for (int i = 0; i < 6; i++)
        add(&measured.sums,
            &(window){SPEC_OBSERVED_REQUEST, 0, 100.0, {0}, 1.0 + 0.05 * (i % 2), 1.0});
    question.plain_tokens_per_s = 600.0 / 6.15;
    sample(&exact, &question);
    sample(&measured, &usual);
    const spec_block_interval a = spec_length_samples_interval(&exact.samples, 2,
                                                               SPEC_LENGTH_SPEED),
                              b = spec_length_samples_interval(&measured.samples, 2,
                                                               SPEC_LENGTH_SPEED);
    assert_near(a.value, b.value, 1e-12);
    assert_true(b.high - b.low > a.high - a.low);
    for (int r = 0; r <= SPEC_LENGTH_RESAMPLES; r++) /* six plain requests are few */
        assert_true(b.low < measured.samples.speed[r * SPEC_ADVICE_K + 2].speed.low);
    forget(&exact);
    forget(&measured);
}

TEST(one_cluster_has_no_interval_and_a_range_covers_both_ends)
{
    sampled s = {0};
    spec_advice_question question = usual;
    question.plain_tokens_per_s = 200.0; /* a round takes two plain tokens */
    requests(&s, 1);
    sample(&s, &question);
    assert_nan(spec_length_samples_interval(&s.samples, 2, SPEC_LENGTH_SPEED).low);
    forget(&s);
    s = (sampled){0};
    requests(&s, 30);
    sample(&s, &question);
    const spec_length_number *shorter = &s.samples.speed[1].speed;
    const spec_block_interval range =
        spec_length_samples_interval(&s.samples, 1, SPEC_LENGTH_SPEED);
    assert_same(range.value, shorter->point); /* K = 1 was not run, so its time is between two
                                               * ends */
    assert_true(range.low < shorter->low && shorter->low < shorter->high);
    assert_true(shorter->high <= range.high);
    const spec_block_interval over = spec_length_samples_ratio(&s.samples, 2, 1);
    assert_near(over.value, s.samples.speed[2].speed.point / shorter->point, 1e-12);
    assert_true(over.low <= s.samples.speed[2].speed.point / shorter->high);
    assert_true(over.high >= s.samples.speed[2].speed.point / shorter->low);
    const spec_block_interval self = spec_length_samples_ratio(&s.samples, 2, 2);
    assert_near(self.low, 1.0, 1e-12);
    assert_near(self.high, 1.0, 1e-12);
    forget(&s);
}

/* The same runs with a widening of 3: an interval is three times as long on the scale of
 * logarithms, and a length that nearly wins may lose more. */
TEST(the_widening_of_a_run_widens_intervals_and_losses)
{
    static const int K[] = {0, 2};
    const int lengths = 2;
    sampled s = {0};
    spec_advice_question question = usual;
    question.plain_tokens_per_s = 194.0; /* near 1.96 tokens in a round of .01 s */
    requests(&s, 60);
    sample(&s, &question);
    spec_length_loss loss[2][2];
    spec_block_interval speed[2], ratio[2];
    for (int i = 0; i < 2; i++) {
        s.plan.widening[2] = i == 0 ? 1.0 : 3.0;
        for (int m = 0; m < SPEC_SERIAL_MODELS; m++)
            s.plan.serial[2][m].widening = s.plan.widening[2];
        speed[i] = spec_length_samples_interval(&s.samples, 2, SPEC_LENGTH_SPEED);
        ratio[i] = spec_length_samples_ratio(&s.samples, 2, 0);
        assert_int_equal(spec_length_samples_losses(loss[i], &s.samples, K, lengths, 0), 60);
    }
    assert_near(log(speed[1].high / speed[1].value), 3.0 * log(speed[0].high / speed[0].value),
                1e-9);
    assert_near(log(ratio[1].low / ratio[1].value), 3.0 * log(ratio[0].low / ratio[0].value), 1e-9);
    for (int k = 0; k < lengths; k++) {
        assert_true(loss[1][k].largest > loss[0][k].largest);
        assert_true(loss[1][k].within < loss[0][k].within);
        assert_true(k == 0 || loss[1][k].gain.high > loss[0][k].gain.high);
    }
    forget(&s);
}

/* Of 40 scenarios `rare` have an engine of a kind of their own, and lose 3 %; two of the others do.
 * A kind that two of 40 have does not count alone, and its losses do. */
TEST(a_probability_holds_for_each_kind_of_engine_and_for_all)
{
    static const double right[] = {36.0 / 40.0, 0.0}; /* 2 or 3 are rare */
    for (int rare = 2; rare <= 3; rare++) {
        double loss[40];
        spec_likely_kind kind[40];
        for (int r = 0; r < 40; r++) {
            loss[r] = r < rare + 2 ? 0.03 : r % 2 == 0 ? 0.02 : 0.0;
            kind[r] = r < rare ? SPEC_LIKELY_BROKEN : SPEC_LIKELY_LINEAR;
        }
        assert_near(spec_length_within(loss, kind, 40), right[rare - 2], 1e-15);
    }
    static const double other[] = {0.0, 0.0, 0.03, 0.0};
    static const spec_likely_kind kinds[] = {SPEC_LIKELY_LINEAR, SPEC_LIKELY_LINEAR,
                                             SPEC_LIKELY_WHOLE, SPEC_LIKELY_WHOLE};
    assert_near(spec_length_within(other, kinds, 4), 0.5, 1e-15);
}

/* If only chance is open, the probability is the share of resamples, each as far from the data as
 * Student's distribution is wider than that of resamples. It is the smallest one of three thirds.
 * With a measured plain run, whose windows widen by 3, the squares of both are averaged. */
TEST(a_probability_is_a_share_of_resamples)
{
    static const int K[] = {0, 2};
    enum { N = 60, ROWS = SPEC_LENGTH_RESAMPLES + 1 };
    for (int plain = 0; plain < 2; plain++) {
        sampled s = {0};
        spec_advice_question question = usual;
        spec_length_loss loss[2];
        double share[2] = {0.0, 0.0}, speed[ROWS];
        requests(&s, N);
        if (plain == 0) question.plain_tokens_per_s = 194.0;
        for (int i = 0; i < N && plain > 0; i++) /* as fast, and a third as noisy */
            add(&s.sums,
                &(window){SPEC_OBSERVED_REQUEST, 0, 194.0, {0}, 1.0 + 0.03 * (i % 3 - 1), 1.0});
        sample(&s, &question);
        for (int m = 0; m < SPEC_SERIAL_MODELS; m++) s.plan.serial[0][m].widening = 3.0;
        const double own = s.samples.speed[2].speed.point, v = s.plan.variance[2],
                     v_0 = s.plan.variance[0],
                     wide = sqrt((v + 9.0 * v_0) / (v + v_0)) * sqrt(N / (N - 1.0)) *
                            gsl_cdf_tdist_Qinv(0.05, N - 1.0) / gsl_cdf_ugaussian_Qinv(0.05);
        assert_true(plain == 0 ? v_0 == 0.0 : v_0 > 0.05 * v);
        assert_int_equal(spec_length_samples_losses(loss, &s.samples, K, 2, 0), N);
        for (int r = 0; r < ROWS; r++) {
            const double drawn = s.samples.speed[r * SPEC_ADVICE_K + 2].speed.point;
            speed[r] = own * pow(drawn / own, wide);
            share[0] += (speed[r] <= 1.0 / 0.98) / (double)ROWS;
            share[1] += (speed[r] >= 0.98) / (double)ROWS;
        }
        for (int k = 0; k < 2; k++) {
            assert_true(share[k] > 0.2 && share[k] < 0.999);
            assert_true(loss[k].within <= share[k] + 1e-12 && loss[k].within > share[k] - 0.1);
        }
        gsl_sort(speed, 1, ROWS);
        assert_near(loss[1].gain.low, gsl_stats_quantile_from_sorted_data(speed, 1, ROWS, 0.025),
                    1e-9);
        assert_near(loss[1].gain.high, gsl_stats_quantile_from_sorted_data(speed, 1, ROWS, 0.975),
                    1e-9);
        forget(&s);
    }
}

/* Plain decoding is surely the fastest, but not if the estimate says otherwise. */
TEST(a_sure_length_that_is_slower_by_estimate_is_no_change)
{
    sampled s = {0};
    spec_advice_question question = usual;
    spec_advice advice = {.K = 2, .n = 2, .length = {{.K = 0}, {.K = 2}}};
    question.plain_tokens_per_s = 300.0;
    requests(&s, 60);
    sample(&s, &question);
    assert_int_equal(spec_advice_choose(&advice, &s.samples), GSL_SUCCESS);
    assert_int_equal(advice.verdict, SPEC_ADVICE_OFF);
    s.samples.speed[2].speed.point = 1.001;
    assert_int_equal(spec_advice_choose(&advice, &s.samples), GSL_SUCCESS);
    assert_int_equal(advice.verdict, SPEC_ADVICE_MEASURE);
    forget(&s);
}

/* K = 1 and 4 serve equal texts. Few requests at K = 1 say less about its tokens than the many at K
 * = 4 do, cut at 1; so the gain from 1 to 4 is less uncertain than the speed at K = 1. */
TEST(runs_of_equal_texts_are_compared_as_pairs)
{
    static const int K[] = {1, 4};
    const window plain = {SPEC_OBSERVED_WINDOW, 0, 1000.0, {0}, 10.0, 1.0};
    sampled s = {0};
    spec_length_loss loss[2];
    for (int i = 0; i < 60; i++) {
        const double luck = i % 3 - 1;
        add(&s.sums, &plain);
        if (i < 8)
            add(&s.sums,
                &(window){SPEC_OBSERVED_REQUEST, 1, 100.0, {70.0 + 12.0 * luck}, 1.1, 1.0});
        add(&s.sums,
            &(window){SPEC_OBSERVED_REQUEST, 4, 100.0, {70.0, 49.0, 34.0, 24.0}, 1.4, 1.0});
    }
    sample(&s, &usual);
    spec_length_samples_losses(loss, &s.samples, K, 2, 0);
    const spec_block_interval alone = spec_length_samples_ratio(&s.samples, 4, 1);
    assert_true(alone.low > 0.0 && alone.high > alone.low);
    assert_true(log(loss[1].gain.high / loss[1].gain.low) < 0.5 * log(alone.high / alone.low));
    assert_true(loss[1].gain.low < alone.value && alone.value < loss[1].gain.high);
    forget(&s);
}

/* Rounds of K = 5 take as long as a plain token, so all shorter ones do: a gain is a ratio of
 * tokens, and its interval lies between their two ends. */
TEST(a_gain_stays_within_what_tokens_leave_open)
{
    static const int K[] = {2, 5};
    const window plain = {SPEC_OBSERVED_WINDOW, 0, 1000.0, {0}, 10.0, 1.0},
                 five = {SPEC_OBSERVED_WINDOW, 5, 1000.0, {600, 450, 380, 340, 310}, 10.0, 1.0};
    sampled s = {0};
    spec_length_loss loss[2];
    for (int i = 0; i < 60; i++) add(&s.sums, &plain), add(&s.sums, &five);
    sample(&s, &usual);
    spec_length_samples_losses(loss, &s.samples, K, 2, 1);
    const spec_length_speed *two = &s.samples.speed[2], *now = &s.samples.speed[5];
    assert_near(two->time.low, two->time.high, 1e-12);
    assert_true(two->tokens.high > 1.05 * two->tokens.low);
    assert_true(loss[0].gain.low > two->tokens.low / now->tokens.point - 1e-9);
    assert_true(loss[0].gain.high > 1.02 * loss[0].gain.low);
    assert_true(loss[0].gain.high < two->tokens.high / now->tokens.point + 1e-9);
    forget(&s);
}

/* Half of the passes have no draft, and emit one token at all lengths. So K = 10 gains less over 5
 * than in a run whose passes all have one: with an alpha of .7 the tokens are 2.134 and 1.971. */
TEST(passes_without_a_draft_gain_nothing_from_longer_ones)
{
    static const int K[] = {5, 10};
    const window plain = {SPEC_OBSERVED_WINDOW, 0, 1000.0, {0}, 10.0, 1.0};
    double low[2], high[2];
    for (int i = 0; i < 2; i++) {
        sampled s = {0};
        spec_length_loss loss[2];
        for (int n = 0; n < 60; n++) {
            const spec_observer observer = spec_observed_sums_observer(&s.sums);
            spec_observation seen = spec_observation_empty(SPEC_OBSERVED_WINDOW, 1);
            seen.K = seen.depths = 5;
            seen.seconds = 14.0;
            seen.running = 1.0;
            seen.passes = 1000.0;
            seen.rounds = seen.rounds_low = seen.rounds_high = i == 0 ? 1000.0 : 500.0;
            seen.drafted = 5.0 * seen.rounds;
            seen.accepted = 0.0;
            for (int j = 0; j < 5; j++)
                seen.accepted += seen.passed[j] = seen.rounds * pow(0.7, j + 1);
            seen.emitted = seen.passes + seen.accepted;
            add(&s.sums, &plain);
            assert_int_equal(observer.take(observer.self, &seen, NULL), GSL_SUCCESS);
        }
        sample(&s, &usual);
        spec_length_samples_losses(loss, &s.samples, K, 2, 0);
        low[i] = loss[1].gain.low;
        high[i] = loss[1].gain.high;
        forget(&s);
    }
    assert_near(low[1] / low[0], 2.1338 / 1.9706 / (3.2675 / 2.9412), 0.01);
    assert_near(high[1] / high[0], 2.1338 / 1.9706 / (3.2675 / 2.9412), 0.01);
}

/* Times that fall from K = 2 to 4 fit no engine, so the likely ones are cut to the bounds. */
TEST(likely_times_stay_within_the_bounds)
{
    static const int K[] = {3, 4};
    const window plain = {SPEC_OBSERVED_WINDOW, 0, 1000.0, {0}, 10.0, 1.0},
                 two = {SPEC_OBSERVED_WINDOW, 2, 1000.0, {800, 640}, 20.0, 1.0},
                 four = {SPEC_OBSERVED_WINDOW, 4, 1000.0, {800, 640, 512, 410}, 12.0, 1.0};
    sampled s = {0};
    spec_length_loss loss[2];
    for (int i = 0; i < 60; i++) add(&s.sums, &plain), add(&s.sums, &two), add(&s.sums, &four);
    sample(&s, &usual);
    spec_length_samples_losses(loss, &s.samples, K, 2, 1);
    const spec_length_speed *three = &s.samples.speed[3], *now = &s.samples.speed[4];
    assert_true(loss[0].gain.low > 0.99 * three->speed.low / now->speed.point);
    assert_true(loss[0].gain.high < 1.01 * three->speed.high / now->speed.point);
    forget(&s);
}
