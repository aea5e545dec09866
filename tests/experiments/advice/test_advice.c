/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Advice from counts whose answer is known: measured lengths, lengths below and beyond them. */
#include "experiments/advice/advice.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>

static const spec_advice_question usual = {.plain_tokens_per_s = NAN,
                                           .round_over_plain = NAN,
                                           .K_low = -1,
                                           .K_high = -1,
                                           .error = 0.05,
                                           .seed = 42};

/* Rounds that accept the draft token of depth i, i = 0..K-1, and the time they take. */
typedef struct {
    spec_observation_kind kind;
    int K;
    double rounds, passed[4];
    double seconds, running;
} window;

static void add(spec_observed_sums *sums, const window *w)
{
    const spec_observer observer = spec_observed_sums_observer(sums);
    spec_observation seen = spec_observation_empty(w->kind, 1);
    seen.K = w->K;
    seen.seconds = w->seconds;
    seen.running = w->running;
    if (w->K == 0) {
        seen.emitted = seen.passes = w->rounds;
    } else {
        seen.rounds = seen.rounds_low = seen.rounds_high = w->rounds;
        seen.drafted = w->K * w->rounds;
        seen.accepted = 0.0;
        seen.depths = w->K;
        for (int i = 0; i < w->K; i++) seen.accepted += seen.passed[i] = w->passed[i];
        seen.emitted = seen.rounds + seen.accepted;
    }
    assert_int_equal(observer.take(observer.self, &seen, NULL), GSL_SUCCESS);
}

/* n windows of K with a little noise, of which the mean is `w`. */
static void add_noisy(spec_observed_sums *sums, window w, int n)
{
    for (int i = 0; i < n; i++) {
        window noisy = w;
        const double factor = 1.0 + 0.01 * (i % 2 == 0 ? 1 : -1);
        for (int j = 0; j < w.K; j++) noisy.passed[j] = round(w.passed[j] * factor);
        noisy.seconds = w.seconds * (1.0 + 0.004 * (i % 4 < 2 ? 1 : -1));
        add(sums, &noisy);
    }
}

static spec_advice advise(const spec_observed_sums *sums, const spec_advice_question *question)
{
    spec_advice advice;
    spec_error error;
    assert_int_equal(spec_advice_of(&advice, sums, NULL, question, &error), GSL_SUCCESS);
    return advice;
}

static const spec_advice_length *at(const spec_advice *advice, int K)
{
    for (int i = 0; i < advice->n; i++)
        if (advice->length[i].K == K) return &advice->length[i];
    return NULL;
}

/* Three runs with MTP drafts of llama.cpp at 79.99, 81.30 and 78.95 tokens/s beside three plain
 * ones at 55.16, 55.33 and 56.19; 51 rounds of K = 3 accept 46, 37 and 25 tokens by depth. */
static void llama_cpp(spec_observed_sums *sums)
{
    static const double drafted[] = {79.99, 81.30, 78.95}, plain[] = {55.16, 55.33, 56.19};
    for (int i = 0; i < 3; i++) {
        add(sums,
            &(window){SPEC_OBSERVED_REQUEST, 3, 51.0, {46.0, 37.0, 25.0}, 159.0 / drafted[i], 1.0});
        add(sums, &(window){SPEC_OBSERVED_REQUEST, 0, 159.0, {0}, 159.0 / plain[i], 1.0});
    }
}

static void one_length_bounds_the_others(void **state)
{
    (void)state;
    spec_observed_sums sums = {0};
    spec_advice_question question = usual;
    question.K_high = 3;
    llama_cpp(&sums);
    const spec_advice advice = advise(&sums, &question);
    assert_int_equal(advice.K, 3);
    assert_near(at(&advice, 3)->tokens.value, 3.1176, 5e-5);
    assert_near(at(&advice, 3)->round_over_plain.low, 2.163, 2e-3);
    assert_near(at(&advice, 3)->speedup, 1.441, 1e-3);
    /* the ends of a cost in proportion to K and of a fixed cost: no sampling beyond that of times
     * and of identical counts */
    assert_near(at(&advice, 2)->tokens.value / at(&advice, 2)->round_over_plain.high, 1.215, 1e-3);
    assert_near(at(&advice, 2)->tokens.value / at(&advice, 2)->round_over_plain.low, 1.480, 1e-3);
    assert_near(at(&advice, 1)->tokens.value / at(&advice, 1)->round_over_plain.high, 0.879, 1e-3);
    assert_near(at(&advice, 1)->tokens.value / at(&advice, 1)->round_over_plain.low, 1.371, 1e-3);
    assert_near(advice.break_even, 0.388, 1e-3);
    assert_true(isnan(at(&advice, 2)->speedup));
    assert_int_equal(advice.verdict, SPEC_ADVICE_MEASURE);
    assert_int_equal(advice.to_K, 3);
    assert_int_equal(advice.decides_K, 2);
    spec_observed_sums_free(&sums);
}

static void alpha_counts_tested_tokens(void **state)
{
    (void)state;
    spec_observed_sums sums = {0};
    llama_cpp(&sums);
    const spec_advice advice = advise(&sums, &usual);
    assert_near(advice.alpha.value, 108.0 / (51.0 + 46.0 + 37.0), 1e-12);
    assert_near(advice.accepted_over_drafted, 108.0 / 153.0, 1e-12);
    assert_near(at(&advice, 1)->conditional.value, 46.0 / 51.0, 1e-12);
    assert_near(at(&advice, 3)->conditional.value, 25.0 / 37.0, 1e-12);
    assert_within(advice.missing, 0.0, 1e-12);
    spec_observed_sums_free(&sums);
}

/* 100 rounds accept 60, 30 and 15 tokens by depth, of 260 drafted: 40 draft tokens are missing, so
 * 150 to 190 were tested. */
static void shorter_drafts_leave_alpha_a_range(void **state)
{
    (void)state;
    spec_observed_sums sums = {0};
    const spec_observer observer = spec_observed_sums_observer(&sums);
    spec_observation seen = spec_observation_empty(SPEC_OBSERVED_REQUEST, 1);
    seen.K = seen.depths = 3;
    seen.rounds = seen.rounds_low = seen.rounds_high = 100.0;
    seen.drafted = 260.0;
    seen.accepted = 105.0;
    seen.passed[0] = 60.0, seen.passed[1] = 30.0, seen.passed[2] = 15.0;
    for (int i = 0; i < 4; i++)
        assert_int_equal(observer.take(observer.self, &seen, NULL), GSL_SUCCESS);
    const spec_advice advice = advise(&sums, &usual);
    assert_near(advice.missing, 40.0 / 300.0, 1e-12);
    assert_near(advice.alpha.value, 105.0 / 190.0, 1e-12);
    assert_true(advice.alpha.high >= 105.0 / 150.0 && advice.alpha.high < 0.85);
    assert_near(at(&advice, 3)->alpha.high, advice.alpha.high, 1e-12);
    assert_true(advice.alpha.low <= advice.alpha.value);
    spec_observed_sums_free(&sums);
}

/* N-grams: half of 200 passes have a draft, and 60, 30 and 15 rounds accept a depth. All lengths
 * count tokens per pass: 1 + 60/200, 1 + 90/200 and 1 + 105/200. */
static void passes_without_a_draft_count_at_each_length(void **state)
{
    (void)state;
    spec_observed_sums sums = {0};
    const spec_observer observer = spec_observed_sums_observer(&sums);
    spec_observation seen = spec_observation_empty(SPEC_OBSERVED_REQUEST, 1);
    seen.K = seen.depths = 3;
    seen.rounds = seen.rounds_low = seen.rounds_high = 100.0;
    seen.passes = 200.0;
    seen.drafted = 300.0;
    seen.accepted = 105.0;
    seen.emitted = 305.0;
    seen.passed[0] = 60.0, seen.passed[1] = 30.0, seen.passed[2] = 15.0;
    for (int i = 0; i < 4; i++)
        assert_int_equal(observer.take(observer.self, &seen, NULL), GSL_SUCCESS);
    const spec_advice advice = advise(&sums, &usual);
    assert_near(at(&advice, 1)->tokens.value, 1.3, 1e-12);
    assert_near(at(&advice, 2)->tokens.value, 1.45, 1e-12);
    assert_near(at(&advice, 3)->tokens.value, 1.525, 1e-12);
    assert_near(at(&advice, 4)->tokens_range.high, 1.6, 1e-12);
    assert_true(at(&advice, 4)->tokens_mixture.low >= 1.525);
    assert_true(at(&advice, 4)->tokens_mixture.high <= 1.6 + 1e-12);
    spec_observed_sums_free(&sums);
}

/* A request of 4000 rounds beside short ones: the interval says little, but stays possible. */
static void tokens_per_round_stay_within_a_round(void **state)
{
    (void)state;
    spec_observed_sums sums = {0};
    const window small = {.kind = SPEC_OBSERVED_REQUEST,
                          .K = 3,
                          .rounds = 60,
                          .passed = {36, 20, 10}},
                 large = {.kind = SPEC_OBSERVED_REQUEST,
                          .K = 3,
                          .rounds = 4000,
                          .passed = {3800, 3610, 3430}};
    for (int i = 0; i < 40; i++) add(&sums, &small);
    add(&sums, &large);
    const spec_advice advice = advise(&sums, &usual);
    for (int K = 1; K <= 3; K++) {
        const spec_cluster_ratio *tokens = &at(&advice, K)->tokens;
        assert_true(tokens->low >= 1.0 && tokens->high <= 1.0 + K);
        assert_true(tokens->low < tokens->value && tokens->value < tokens->high);
    }
    spec_observed_sums_free(&sums);
}

/* 198 requests of 10 rounds accept half of their first draft tokens, and two of 495 rounds 90 %. */
static void the_longest_requests_are_left_out(void **state)
{
    (void)state;
    spec_observed_sums sums = {0};
    for (int i = 0; i < 200; i++) {
        const bool longest = i == 17 || i == 180;
        const double rounds = longest ? 495.0 : 10.0;
        add(&sums, &(window){SPEC_OBSERVED_REQUEST,
                             1,
                             rounds,
                             {longest ? 0.9 * rounds : 4.0 + i % 3},
                             1.0,
                             1.0});
    }
    const spec_advice advice = advise(&sums, &usual);
    assert_near(advice.longest_share, 990.0 / (990.0 + 1980.0), 1e-12);
    assert_within(advice.without_longest.value, 0.5, 0.01);
    assert_within(advice.alpha.value, (990.0 * 0.9 + 1980.0 * 0.5) / 2970.0, 0.01);
    spec_observed_sums_free(&sums);
}

/* A round at K takes 1 + .1 K plain tokens: with alpha .6, 1.6/1.1, 1.96/1.2, 2.176/1.3. Windows
 * of 4 requests that run 1000 rounds. */
static window at_length(int K)
{
    window w = {SPEC_OBSERVED_WINDOW, K, 1000.0, {600.0, 360.0, 216.0, 129.6}, 0.0, 4.0};
    w.seconds = K == 0 ? 2.5 : 2.5 * (1.0 + 0.1 * K);
    return w;
}

static void a_length_between_measured_ones_is_recommended(void **state)
{
    (void)state;
    spec_observed_sums sums = {0};
    spec_advice_question question = usual;
    question.K_high = 4;
    add_noisy(&sums, at_length(0), 30);
    add_noisy(&sums, at_length(1), 60);
    add_noisy(&sums, at_length(4), 30);
    const spec_advice advice = advise(&sums, &question);
    assert_int_equal(advice.K, 1);
    assert_near(at(&advice, 1)->speedup, 1.6 / 1.1, 0.01);
    assert_near(at(&advice, 3)->speedup, 2.176 / 1.3, 0.01);
    assert_int_equal(at(&advice, 3)->source, SPEC_ADVICE_WITHIN);
    assert_near(at(&advice, 4)->speedup, 2.3056 / 1.4, 0.01);
    assert_true(at(&advice, 3)->speedup_low < 2.176 / 1.3);
    assert_true(at(&advice, 3)->speedup_high > 2.176 / 1.3);
    assert_int_equal(advice.verdict, SPEC_ADVICE_CHANGE);
    assert_int_equal(advice.to_K, 3);
    assert_near(advice.gain, 2.176 / 1.3 / (1.6 / 1.1), 0.01);
    spec_observed_sums_free(&sums);
}

static void the_best_length_is_kept(void **state)
{
    (void)state;
    spec_observed_sums sums = {0};
    spec_advice_question question = usual;
    question.K_high = 4;
    add_noisy(&sums, at_length(0), 30);
    add_noisy(&sums, at_length(3), 60);
    add_noisy(&sums, at_length(4), 30);
    const spec_advice advice = advise(&sums, &question);
    assert_int_equal(advice.verdict, SPEC_ADVICE_KEEP);
    assert_int_equal(advice.to_K, 3);
    assert_int_equal(advice.decides_K, -1);
    assert_true(at(&advice, 3)->best);
    spec_observed_sums_free(&sums);
}

static void drafts_that_cost_more_than_they_give_are_turned_off(void **state)
{
    (void)state;
    spec_observed_sums sums = {0};
    window one = at_length(1), two = at_length(2);
    spec_advice_question question = usual;
    question.K_high = 2;
    one.seconds = 2.5 * 2.0;
    two.seconds = 2.5 * 3.0;
    add_noisy(&sums, at_length(0), 30);
    add_noisy(&sums, one, 20);
    add_noisy(&sums, two, 30);
    const spec_advice advice = advise(&sums, &question);
    assert_int_equal(advice.verdict, SPEC_ADVICE_OFF);
    assert_int_equal(advice.to_K, 0);
    assert_near(advice.gain, 3.0 / 1.96, 0.02);
    spec_observed_sums_free(&sums);
}

static void without_plain_decoding_its_run_decides(void **state)
{
    (void)state;
    spec_observed_sums sums = {0};
    add_noisy(&sums, at_length(3), 30);
    const spec_advice advice = advise(&sums, &usual);
    assert_int_equal(advice.verdict, SPEC_ADVICE_MEASURE);
    assert_int_equal(advice.decides_K, 0);
    assert_true(isnan(at(&advice, 3)->speedup));
    assert_near(at(&advice, 3)->tokens.value, 2.176, 1e-3);
    spec_observed_sums_free(&sums);
}

static void two_lengths_without_plain_decoding_are_compared(void **state)
{
    (void)state;
    spec_observed_sums sums = {0};
    spec_advice_question question = usual;
    question.K_low = 1;
    question.K_high = 4;
    add_noisy(&sums, at_length(1), 30);
    add_noisy(&sums, at_length(4), 20);
    const spec_advice advice = advise(&sums, &question);
    assert_int_equal(advice.verdict, SPEC_ADVICE_CHANGE);
    assert_int_equal(advice.to_K, 3);
    assert_true(isnan(at(&advice, 3)->speedup));
    assert_near(advice.gain, 2.176 / 1.3 / (1.6 / 1.1), 0.01);
    spec_observed_sums_free(&sums);
}

static void the_users_numbers_stand_in_for_a_plain_run(void **state)
{
    (void)state;
    spec_observed_sums sums = {0};
    spec_advice_question question = usual;
    add_noisy(&sums, at_length(3), 30);
    question.plain_tokens_per_s = 1000.0 / (4.0 * 2.5); /* of one of four requests */
    spec_advice advice = advise(&sums, &question);
    assert_near(at(&advice, 3)->speedup, 2.176 / 1.3, 0.01);
    question.plain_tokens_per_s = NAN;
    question.round_over_plain = 1.3;
    advice = advise(&sums, &question);
    assert_near(at(&advice, 3)->speedup, 2.176 / 1.3, 0.01);
    assert_near(advice.break_even, 0.1, 1e-9);
    spec_observed_sums_free(&sums);
}

static void plain_decoding_at_another_batch_is_no_yardstick(void **state)
{
    (void)state;
    spec_observed_sums sums = {0};
    window plain = at_length(0);
    plain.running = 1.0;
    add_noisy(&sums, plain, 30);
    add_noisy(&sums, at_length(3), 30);
    const spec_advice advice = advise(&sums, &usual);
    assert_int_equal(advice.verdict, SPEC_ADVICE_MEASURE);
    assert_int_equal(advice.decides_K, 0);
    assert_true(isnan(at(&advice, 3)->speedup));
    spec_observed_sums_free(&sums);
}

static void every_range_of_batches_has_its_length(void **state)
{
    (void)state;
    spec_observed_sums sums = {0};
    for (int K = 0; K <= 3; K += 3) { /* K = 3 pays at 4 and 8 requests, not at 64 */
        window w = at_length(K);
        add_noisy(&sums, w, 20);
        w.running = 8.0;
        add_noisy(&sums, w, 20);
        w.running = 64.0;
        w.seconds *= K == 0 ? 1.0 : 2.0;
        add_noisy(&sums, w, 20);
    }
    const spec_advice advice = advise(&sums, &usual);
    assert_int_equal(advice.n_batches, 2);
    assert_int_equal(advice.batch[0].from, 1);
    assert_int_equal(advice.batch[0].to, 32);
    assert_int_equal(advice.batch[0].K, 3);
    assert_true(advice.batch[0].decided);
    assert_int_equal(advice.batch[1].from, 33);
    assert_int_equal(advice.batch[1].to, -1);
    assert_int_equal(advice.batch[1].K, 0);
    assert_near(advice.batch[1].speedup, 1.0, 1e-12);
    spec_observed_sums_free(&sums);
}

static void tokens_without_times_decide_nothing(void **state)
{
    (void)state;
    spec_observed_sums sums = {0};
    window one = at_length(1), three = at_length(3);
    one.seconds = three.seconds = NAN;
    add_noisy(&sums, one, 10);
    add_noisy(&sums, three, 10);
    spec_advice_question question = usual;
    for (int i = 0; i < 2; i++) {
        const spec_advice advice = advise(&sums, &question);
        assert_int_equal(advice.verdict, SPEC_ADVICE_MEASURE);
        assert_int_equal(advice.decides_K, 0);
        assert_int_equal(advice.to_K, 3);
        question.plain_tokens_per_s = 100.0;
    }
    spec_observed_sums_free(&sums);
}

/* Two ranges of batches in turn; acceptance is .6 for 30 windows, then .4: neighbours in time are
 * of different ranges. */
static void drift_follows_time_across_batches(void **state)
{
    (void)state;
    spec_observed_sums sums = {0};
    window now = at_length(2), later = at_length(2);
    later.passed[0] = 400.0, later.passed[1] = 160.0;
    for (int i = 0; i < 60; i++) {
        window *w = i < 30 ? &now : &later;
        w->running = i % 2 == 0 ? 1.0 : 8.0;
        w->passed[0] += i % 3 == 0 ? 3.0 : i % 3 == 1 ? -3.0 : 0.0;
        add(&sums, w);
    }
    const spec_advice advice = advise(&sums, &usual);
    assert_true(advice.drift.p < 0.01);
    assert_within((double)advice.drift.from, 30.0, 1.0);
    assert_within(advice.drift.before, 0.6, 0.01);
    assert_within(advice.drift.after, 0.4, 0.01);
    spec_observed_sums_free(&sums);
}

static void a_change_of_acceptance_is_tested(void **state)
{
    (void)state;
    spec_observed_sums before = {0}, after = {0};
    spec_advice advice;
    window worse = at_length(3);
    worse.passed[0] = 500.0, worse.passed[1] = 250.0, worse.passed[2] = 125.0;
    add_noisy(&before, at_length(3), 20);
    add_noisy(&after, worse, 20);
    assert_int_equal(spec_advice_of(&advice, &after, &before, &usual, NULL), GSL_SUCCESS);
    assert_true(advice.compared);
    assert_true(advice.change.p < 0.001);
    assert_near(advice.change.before, 0.6, 2e-3);
    assert_near(advice.change.after, 0.5, 2e-3);
    assert_int_equal(spec_advice_of(&advice, &after, &after, &usual, NULL), GSL_SUCCESS);
    assert_true(advice.change.p > 0.5);
    spec_observed_sums_free(&before);
    spec_observed_sums_free(&after);
}

static void one_window_has_no_interval(void **state)
{
    (void)state;
    spec_observed_sums sums = {0};
    add_noisy(&sums, at_length(3), 1);
    add_noisy(&sums, at_length(0), 1);
    const spec_advice advice = advise(&sums, &usual);
    assert_true(isnan(at(&advice, 3)->speedup_low));
    assert_true(isnan(advice.alpha.low));
    assert_near(at(&advice, 3)->speedup, 1.6738, 0.03);
    assert_int_equal(advice.verdict, SPEC_ADVICE_MEASURE);
    spec_observed_sums_free(&sums);
}

static void nothing_is_said_without_rounds(void **state)
{
    (void)state;
    spec_observed_sums sums = {0};
    spec_advice advice = advise(&sums, &usual);
    assert_int_equal(advice.verdict, SPEC_ADVICE_NOTHING);
    add_noisy(&sums, at_length(0), 3);
    advice = advise(&sums, &usual);
    assert_int_equal(advice.verdict, SPEC_ADVICE_NOTHING);
    assert_near(advice.plain_seconds, 0.01, 2e-3);
    spec_observed_sums_free(&sums);
}

static void questions_outside_the_domain_are_refused(void **state)
{
    (void)state;
    const spec_observed_sums sums = {0};
    spec_advice advice;
    spec_error error;
    spec_advice_question wrong[6] = {usual, usual, usual, usual, usual, usual};
    wrong[0].error = 0.0;
    wrong[1].error = NAN;
    wrong[2].plain_tokens_per_s = 0.0;
    wrong[3].round_over_plain = -1.0;
    wrong[4].K_high = SPEC_ADVICE_K;
    wrong[5].K_low = 3, wrong[5].K_high = 2;
    for (int i = 0; i < 6; i++)
        assert_int_equal(spec_advice_of(&advice, &sums, NULL, &wrong[i], &error), GSL_EDOM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_length_bounds_the_others),
        cmocka_unit_test(alpha_counts_tested_tokens),
        cmocka_unit_test(passes_without_a_draft_count_at_each_length),
        cmocka_unit_test(tokens_per_round_stay_within_a_round),
        cmocka_unit_test(shorter_drafts_leave_alpha_a_range),
        cmocka_unit_test(the_longest_requests_are_left_out),
        cmocka_unit_test(a_length_between_measured_ones_is_recommended),
        cmocka_unit_test(the_best_length_is_kept),
        cmocka_unit_test(drafts_that_cost_more_than_they_give_are_turned_off),
        cmocka_unit_test(without_plain_decoding_its_run_decides),
        cmocka_unit_test(two_lengths_without_plain_decoding_are_compared),
        cmocka_unit_test(the_users_numbers_stand_in_for_a_plain_run),
        cmocka_unit_test(plain_decoding_at_another_batch_is_no_yardstick),
        cmocka_unit_test(every_range_of_batches_has_its_length),
        cmocka_unit_test(tokens_without_times_decide_nothing),
        cmocka_unit_test(drift_follows_time_across_batches),
        cmocka_unit_test(a_change_of_acceptance_is_tested),
        cmocka_unit_test(one_window_has_no_interval),
        cmocka_unit_test(nothing_is_said_without_rounds),
        cmocka_unit_test(questions_outside_the_domain_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
