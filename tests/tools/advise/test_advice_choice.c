/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Verdicts from times whose best length is known. */
#include "tools/advise/advice.h"

#include "tests/support/support.h"
#include "tests/tools/advise/observed_windows.h"

TEST(a_length_between_measured_ones_is_recommended)
{
    OWNED(spec_observed_sums) sums = {0};
    spec_advice_question question = usual;
    question.K_high = 5;
    add_noisy(&sums, at_length(0), 30);
    add_noisy(&sums, at_length(1), 60);
    add_noisy(&sums, at_length(5), 30);
    const spec_advice advice = advise(&sums, &question);
    assert_int_equal(advice.K, 1);
    assert_near(at(&advice, 1)->speedup.value, 1.6 / 1.1, 0.01);
    assert_near(at(&advice, 3)->speedup.value, 2.176 / 1.3, 0.01);
    assert_int_equal(at(&advice, 3)->source, SPEC_ADVICE_WITHIN);
    assert_near(at(&advice, 5)->speedup.value, 2.38336 / 1.5, 0.01);
    assert_true(at(&advice, 3)->speedup.low < 2.176 / 1.3);
    assert_true(at(&advice, 3)->speedup.high > 2.176 / 1.3);
    assert_int_equal(advice.verdict, SPEC_ADVICE_CHANGE);
    assert_int_equal(advice.to_K, 3);
    assert_near(advice.gain.value, 2.176 / 1.3 / (1.6 / 1.1), 0.01);
    assert_true(advice.over_plain);
    /* with the times of likely engines, not of all engines */
    assert_true(advice.gain.low < advice.gain.value && advice.gain.high > advice.gain.value);
    assert_true(advice.gain.high <
                0.98 * at(&advice, 3)->speedup.high / at(&advice, 1)->speedup.value);
}

TEST(without_plain_decoding_nothing_is_relative_to_it)
{
    OWNED(spec_observed_sums) sums = {0};
    add_noisy(&sums, at_length(1), 60);
    add_noisy(&sums, at_length(4), 60);
    assert_false(advise(&sums, &usual).over_plain);
}

TEST(the_best_length_is_kept)
{
    OWNED(spec_observed_sums) sums = {0};
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
}

/* K = 3 is 1.6 % faster than K = 4, which is too little for a change. */
TEST(a_small_gain_changes_nothing)
{
    OWNED(spec_observed_sums) sums = {0};
    spec_advice_question question = usual;
    question.K_high = 4;
    add_noisy(&sums, at_length(0), 30);
    add_noisy(&sums, at_length(3), 30);
    add_noisy(&sums, at_length(4), 60);
    const spec_advice advice = advise(&sums, &question);
    assert_int_equal(advice.K, 4);
    assert_true(at(&advice, 3)->best);
    assert_near(at(&advice, 3)->speedup.value / at(&advice, 4)->speedup.value, 1.016, 5e-3);
    assert_int_equal(advice.verdict, SPEC_ADVICE_KEEP);
    assert_int_equal(advice.to_K, 4);
}

TEST(drafts_that_cost_more_than_they_give_are_turned_off)
{
    OWNED(spec_observed_sums) sums = {0};
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
    assert_near(advice.gain.value, 3.0 / 1.96, 0.02);
}

/* One window of each length gives no interval, but a clear difference between lengths that were run
 * is decisive. */
TEST(one_window_decides_if_the_difference_is_clear)
{
    const double slower[] = {2.0, 1.02};
    for (int i = 0; i < 2; i++) {
        OWNED(spec_observed_sums) sums = {0};
        const window plain = at_length(0);
        window two = at_length(2);
        spec_advice_question question = usual;
        question.K_high = 2;
        two.seconds *= slower[i] * 1.96 / 1.2; /* a multiple of the time of plain decoding */
        add(&sums, &plain);
        add(&sums, &two);
        const spec_advice advice = advise(&sums, &question);
        assert_near(at(&advice, 2)->speedup.value, 1.0 / slower[i], 0.01);
        assert_true(isnan(advice.gain.low));
        assert_int_equal(advice.verdict, i == 0 ? SPEC_ADVICE_OFF : SPEC_ADVICE_MEASURE);
        if (i == 0) assert_int_equal(advice.to_K, 0);
    }
}

TEST(without_plain_decoding_its_run_decides)
{
    OWNED(spec_observed_sums) sums = {0};
    add_noisy(&sums, at_length(3), 30);
    const spec_advice advice = advise(&sums, &usual);
    assert_int_equal(advice.verdict, SPEC_ADVICE_MEASURE);
    assert_int_equal(advice.decides_K, 0);
    assert_true(isnan(at(&advice, 3)->speedup.value));
    assert_near(at(&advice, 3)->tokens.value, 2.176, 1e-3);
    assert_near(at(&advice, 0)->tokens.value, 1.0, 1e-12); /* by definition */
}

TEST(two_lengths_without_plain_decoding_are_compared)
{
    OWNED(spec_observed_sums) sums = {0};
    spec_advice_question question = usual;
    question.K_low = 1;
    question.K_high = 4;
    add_noisy(&sums, at_length(1), 30);
    add_noisy(&sums, at_length(4), 20);
    const spec_advice advice = advise(&sums, &question);
    assert_int_equal(advice.verdict, SPEC_ADVICE_CHANGE);
    assert_int_equal(advice.to_K, 3);
    assert_true(isnan(at(&advice, 3)->speedup.value));
    assert_near(advice.gain.value, 2.176 / 1.3 / (1.6 / 1.1), 0.01);
}

TEST(lengths_that_did_not_run_need_a_run_of_theirs)
{
    OWNED(spec_observed_sums) sums = {0};
    spec_advice_question question = usual;
    question.K_low = 1;
    question.K_high = 2;
    add_noisy(&sums, at_length(0), 30);
    add_noisy(&sums, at_length(3), 30);
    const spec_advice advice = advise(&sums, &question);
    assert_int_equal(advice.verdict, SPEC_ADVICE_MEASURE);
    assert_int_equal(advice.decides_K, 2); /* the fastest by estimate: its time is 1.2 */
}

/* K = 4 is the fastest by estimate, and was run. K = 5 comes next by estimate, but K = 3 is the
 * fastest in more scenarios: if times are flat up to there, or if acceptance falls with depth. */
TEST(the_likeliest_rival_of_the_fastest_is_run_next)
{
    OWNED(spec_observed_sums) sums = {0};
    const spec_observer observer = spec_observed_sums_observer(&sums);
    for (int i = 0; i < 60; i++) {
        spec_observation plain = spec_observation_empty(SPEC_OBSERVED_REQUEST, 1), drafted = plain;
        spec_observation_decode_plainly(&plain, 400.0);
        plain.seconds = 400.0 / 71.2;
        drafted.K = 4;
        drafted.rounds = drafted.rounds_low = drafted.rounds_high = 112.0;
        drafted.accepted = 288.0 + (i % 2 == 0 ? 4.0 : -4.0);
        drafted.seconds = 112.0 * 3.572 / 132.8;
        assert_int_equal(observer.take(observer.self, &plain, NULL), GSL_SUCCESS);
        assert_int_equal(observer.take(observer.self, &drafted, NULL), GSL_SUCCESS);
    }
    const spec_advice advice = advise(&sums, &usual);
    assert_int_equal(advice.verdict, SPEC_ADVICE_MEASURE);
    assert_true(at(&advice, 4)->best);
    assert_true(at(&advice, 5)->speedup.value > at(&advice, 3)->speedup.value);
    assert_int_equal(advice.decides_K, 3);
}

/* K = 1 is as fast as plain decoding, for which the user's number is exact. */
TEST(a_given_speed_is_not_measured_for_longer)
{
    OWNED(spec_observed_sums) sums = {0};
    spec_advice_question question = usual;
    question.K_high = 1;
    for (int i = 0; i < 12; i++) {
        window varied = at_length(1);
        varied.seconds *= i % 3 == 0 ? 1.5 : 1.0;
        add(&sums, &varied);
    }
    question.plain_tokens_per_s = 1.0;
    const spec_advice first = advise(&sums, &question);
    question.plain_tokens_per_s = at(&first, 1)->speedup.value / 1.001;
    const spec_advice advice = advise(&sums, &question);
    assert_near(at(&advice, 1)->speedup.value, 1.001, 1e-9);
    assert_true(at(&advice, 1)->best);
    assert_int_equal(advice.verdict, SPEC_ADVICE_MEASURE);
    assert_int_equal(advice.decides_K, 1);
}

TEST(plain_decoding_at_another_batch_is_no_yardstick)
{
    OWNED(spec_observed_sums) sums = {0};
    window plain = at_length(0);
    plain.running = 1.0;
    add_noisy(&sums, plain, 30);
    add_noisy(&sums, at_length(3), 30);
    const spec_advice advice = advise(&sums, &usual);
    assert_int_equal(advice.verdict, SPEC_ADVICE_MEASURE);
    assert_int_equal(advice.decides_K, 0);
    assert_true(isnan(at(&advice, 3)->speedup.value));
}

TEST(every_range_of_batches_has_its_length)
{
    OWNED(spec_observed_sums) sums = {0};
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
    assert_near(advice.batch[1].speedup.value, 1.0, 1e-12);
}

/* K = 3 is certainly 1 % faster than K = 2 in each request, which is within the 2 % that count as
 * equal. */
TEST(a_range_of_equals_is_decided)
{
    OWNED(spec_observed_sums) sums = {0};
    for (int i = 0; i < 8; i++) {
        add(&sums, &(window){SPEC_OBSERVED_REQUEST, 2, 1000.0, {600, 360}, 1.0, 1.0});
        add(&sums,
            &(window){
                SPEC_OBSERVED_REQUEST, 3, 1000.0, {600, 360, 216}, 2176.0 / 1960.0 / 1.01, 1.0});
    }
    const spec_advice advice = advise(&sums, &usual);
    assert_int_equal(advice.n_batches, 1);
    assert_int_equal(advice.batch[0].K, 2);
    assert_true(advice.batch[0].decided);
}

/* Of rates within 2 % the smaller length is taken. Each end of its speed-up is as far away, in
 * logarithms, as the root of the sum of squares of the distances of both speeds; plain decoding is
 * exactly as fast as itself. */
TEST(a_range_takes_the_smaller_of_equals_with_its_interval)
{
    static const double factor[] = {0.9, 1.15, 1.0, 0.95};
    for (int plain = 0; plain <= 1; plain++) {
        OWNED(spec_observed_sums) sums = {0};
        double tokens[3][8], seconds[3][8], step = plain ? 1.3 : 0.5;
        const double passed[] = {600, 360, 216}, emitted[] = {1000, 1960, 2176};
        for (int i = 0; i < 8; i++)
            for (int k = 0; k < 3; k++) { /* K = 0, 2, 3; the last is 1 % faster than K = 2 */
                window w = {SPEC_OBSERVED_REQUEST, k > 0 ? k + 1 : 0, 1000.0, {0}, 0.0, 1.0};
                for (int j = 0; j < w.K; j++) w.passed[j] = passed[j];
                w.seconds =
                    (k == 0 ? 1.0 : emitted[k] / 1960.0 * 2.0 * step / (k == 1 ? 1.0 : 1.01)) *
                    factor[(i + k) % 4];
                tokens[k][i] = emitted[k];
                seconds[k][i] = w.seconds;
                add(&sums, &w);
            }
        const spec_advice advice = advise(&sums, &usual);
        assert_int_equal(advice.n_batches, 1);
        const spec_advice_batch *got = &advice.batch[0];
        const spec_cluster_ratio a = spec_cluster_ratio_of(tokens[1], seconds[1], 8, 0, 0.05),
                                 b = spec_cluster_ratio_of(tokens[0], seconds[0], 8, 0, 0.05);
        assert_int_equal(got->K, plain ? 0 : 2);
        if (plain) {
            assert_true(got->speedup.value == 1.0 && got->speedup.low == 1.0 &&
                        got->speedup.high == 1.0);
        } else {
            const double down = hypot(log(a.value / a.low), log(b.high / b.value)),
                         up = hypot(log(a.high / a.value), log(b.value / b.low));
            assert_near(got->speedup.value, a.value / b.value, 1e-12);
            assert_near(got->speedup.low, a.value / b.value * exp(-down), 1e-12);
            assert_near(got->speedup.high, a.value / b.value * exp(up), 1e-12);
        }
    }
}

/* K = 3 is certainly faster at 4 requests, and at 8 only according to windows that vary. */
TEST(joined_ranges_are_decided_if_all_are)
{
    OWNED(spec_observed_sums) sums = {0};
    for (int K = 0; K <= 3; K += 3) {
        window w = at_length(K);
        add_noisy(&sums, w, 20);
        w.running = 8.0;
        for (int i = 0; i < 12; i++) {
            window varied = w;
            varied.seconds *= 1.0 + (i % 4 == 0 ? 3.0 : 0.1 * (i % 3));
            add(&sums, &varied);
        }
    }
    const spec_advice advice = advise(&sums, &usual);
    assert_int_equal(advice.n_batches, 1);
    assert_int_equal(advice.batch[0].K, 3);
    assert_int_equal(advice.batch[0].from, 1);
    assert_int_equal(advice.batch[0].to, -1);
    assert_false(advice.batch[0].decided);
    assert_nan(advice.batch[0].speedup.value);
}

TEST(tokens_without_times_decide_nothing)
{
    OWNED(spec_observed_sums) sums = {0};
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
}

TEST(one_window_has_no_interval)
{
    OWNED(spec_observed_sums) sums = {0};
    add_noisy(&sums, at_length(3), 1);
    add_noisy(&sums, at_length(0), 1);
    const spec_advice advice = advise(&sums, &usual);
    assert_true(isnan(at(&advice, 3)->speedup.low));
    assert_same(at(&advice, 0)->speedup.low, 1.0);
    assert_true(isnan(advice.alpha.low));
    assert_near(at(&advice, 3)->speedup.value, 1.6738, 0.03);
    assert_int_equal(advice.verdict, SPEC_ADVICE_MEASURE);
}

/* --K 2:2. By estimate K = 2 is 13 % faster than K = 4, whose rounds took 2 plain tokens, so we
 * change. If these rounds take 1.2, K = 4 is faster than K = 2 can be, and we keep it. */
TEST(the_current_length_takes_part_where_it_is_not_asked_for)
{
    static const double seconds[] = {2.0, 1.2};
    for (int i = 0; i < 2; i++) {
        OWNED(spec_observed_sums) sums = {0};
        spec_advice_question question = usual;
        window four = at_length(4);
        four.seconds *= seconds[i] / 1.4;
        question.K_low = question.K_high = 2;
        add_noisy(&sums, at_length(0), 60);
        add_noisy(&sums, four, 60);
        const spec_advice advice = advise(&sums, &question);
        assert_int_equal(advice.K, 4);
        assert_near(at(&advice, 2)->speedup.value, 1.96 / (1.0 + 0.5 * (seconds[i] - 1.0)), 0.02);
        assert_int_equal(advice.verdict, i == 0 ? SPEC_ADVICE_CHANGE : SPEC_ADVICE_KEEP);
        assert_int_equal(advice.to_K, i == 0 ? 2 : 4);
    }
}

/* K = 3 gains 1 % by estimate, and 19 % if the time is flat up to 3: K = 2 may lose too much. */
TEST(a_small_gain_is_taken_where_it_may_be_a_large_one)
{
    OWNED(spec_observed_sums) sums = {0};
    spec_advice_question question = usual;
    window plain = at_length(0), two = at_length(2), four = at_length(4);
    double passed = 1000.0;
    for (int j = 0; j < 4; j++) {
        passed *= 0.81;
        if (j < 2) two.passed[j] = round(passed);
        four.passed[j] = round(passed);
    }
    two.rounds = four.rounds = 1000.0;
    two.seconds = 10.0;
    four.seconds = 13.97;
    question.K_low = 1;
    question.K_high = 4;
    plain.rounds = 1000.0;
    plain.seconds = 7.8;
    add_noisy(&sums, plain, 1200);
    add_noisy(&sums, two, 1200);
    add_noisy(&sums, four, 900);
    const spec_advice advice = advise(&sums, &question);
    assert_int_equal(advice.K, 2);
    assert_int_equal(advice.verdict, SPEC_ADVICE_CHANGE);
    assert_int_equal(advice.to_K, 3);
    assert_true(advice.gain.value > 1.0 && advice.gain.value < 1.02);
}

/* K = 1 and 2 take the time of a plain token, so by any estimate a longer length is faster; but
 * none was run. */
TEST(a_longer_length_is_run_before_it_is_chosen)
{
    OWNED(spec_observed_sums) sums = {0};
    window plain = at_length(0), one = at_length(1), two = at_length(2);
    one.seconds = plain.seconds;
    two.seconds = plain.seconds;
    add_noisy(&sums, plain, 300);
    add_noisy(&sums, one, 300);
    add_noisy(&sums, two, 300);
    spec_advice_question question = usual;
    question.K_low = 1;
    question.K_high = 3;
    const spec_advice advice = advise(&sums, &question);
    assert_int_equal(advice.verdict, SPEC_ADVICE_MEASURE);
    assert_int_equal(advice.decides_K, 3);
    assert_int_equal(advice.to_K, 2); /* for now, among those that were run */
}

/* Two lengths in the range 5-8 are compared if their numbers of requests are similar, but not at 5
 * and 8. */
TEST(ranges_compare_like_numbers_of_requests)
{
    for (int i = 0; i < 2; i++) {
        OWNED(spec_observed_sums) sums = {0};
        window one = at_length(1), three = at_length(3);
        one.running = i == 0 ? 8.0 : 5.0;
        three.running = 8.0;
        add_noisy(&sums, one, 30);
        add_noisy(&sums, three, 60);
        assert_int_equal(advise(&sums, &usual).n_batches, i == 0);
    }
}

/* Plain decoding reaches these tokens per second of wall time from 7 requests at a time on, and
 * drafts from 5 on; windows of 4 and of 8 requests are in both. */
TEST(at_equal_request_rate_no_range_is_compared)
{
    OWNED(spec_observed_sums) sums = {0};
    for (int i = 0; i < 40; i++) {
        window plain = at_length(0), three = at_length(3);
        plain.running = i % 4 == 0 ? 4.0 : 8.0;
        three.running = i % 4 == 0 ? 8.0 : 4.0;
        plain.seconds = plain.rounds / 100.0;
        three.seconds =
            (three.rounds + three.passed[0] + three.passed[1] + three.passed[2]) / 100.0;
        add(&sums, &plain);
        add(&sums, &three);
    }
    const spec_advice advice = advise(&sums, &usual);
    assert_true(advice.equal_rate);
    assert_int_equal(advice.n_batches, 0);
    assert_near(at(&advice, 3)->speedup.value, 7.0 / 5.0, 0.01);
    assert_near(at(&advice, 1)->round_over_plain.low, 0.98 * 2.176 * 5.0 / 7.0 / 3.0, 0.01);
}
