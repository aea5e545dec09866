/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/counter_differences.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

enum { WINDOWS = 16 };
static spec_observation window[WINDOWS];
static int n, fail_at;

static int keep(void *self, const spec_observation *observation, spec_error *error)
{
    (void)self;
    assert_true(n < WINDOWS);
    if (n == fail_at) return spec_fail(error, GSL_EFAILED, "the receiver fails");
    window[n++] = *observation;
    return GSL_SUCCESS;
}

static spec_counter_differences differences;

static int begin(void **state)
{
    (void)state;
    n = 0;
    fail_at = -1;
    differences = (spec_counter_differences){.to = {keep, NULL}};
    return 0;
}

static int end(void **state)
{
    (void)state;
    spec_counter_differences_free(&differences);
    return 0;
}

static void put(const spec_observation *o)
{
    const spec_observer to = spec_counter_differences_observer(&differences);
    assert_works(to.take(to.self, o, &error));
}

static void finish(void)
{
    assert_int_equal(spec_counter_differences_end(&differences, NULL), GSL_SUCCESS);
}

/* Makes counters after a number of rounds with 3 draft tokens, of which depth 1 is accepted in 3 of
 * 4 rounds and depth 2 in 1 of 2. */
static spec_observation total(uint64_t label, double rounds)
{
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_TOTAL, (uint64_t)rounds);
    o.label = label;
    o.K = 3;
    o.rounds = o.rounds_low = o.rounds_high = o.passes = rounds;
    o.drafted = 3 * rounds;
    o.accepted = 1.25 * rounds;
    o.emitted = 2.25 * rounds;
    o.depths = 3;
    o.passed[0] = 0.75 * rounds;
    o.passed[1] = 0.5 * rounds;
    o.seconds = rounds / 10;
    o.running = 8;
    o.printed_rate = 0.4;
    return o;
}

static void is_window(int i, uint64_t label, double rounds)
{
    const spec_observation *o = &window[i], e = total(label, rounds);
    assert_true(i < n);
    assert_int_equal(o->kind, SPEC_OBSERVED_WINDOW);
    assert_int_equal(o->label, label);
    assert_int_equal(o->K, 3);
    assert_same(o->rounds, rounds);
    assert_same(o->rounds_low, rounds);
    assert_same(o->rounds_high, rounds);
    assert_same(o->passes, rounds);
    assert_same(o->drafted, e.drafted);
    assert_same(o->accepted, e.accepted);
    assert_same(o->emitted, e.emitted);
    assert_near(o->seconds, e.seconds, 1e-12);
    assert_int_equal(o->depths, 3);
    for (int d = 0; d < 3; d++) assert_same(o->passed[d], e.passed[d]);
    assert_same(o->running, 8);
    assert_same(o->printed_rate, 0.4);
}

TEST(totals_become_windows_of_their_label)
{
    static const double rounds[] = {100, 140, 300};
    for (int i = 0; i < 3; i++) {
        for (uint64_t label = 3; label >= 1; label--) {
            const spec_observation o = total(label, rounds[i] * (double)label);
            put(&o);
        }
    }
    finish();
    assert_int_equal(n, 6);
    for (int i = 0; i < 3; i++) is_window(i, 3 - (uint64_t)i, 40.0 * (3 - i));
    for (int i = 0; i < 3; i++) is_window(3 + i, 3 - (uint64_t)i, 160.0 * (3 - i));
    assert_int_equal(window[5].line, 300);
    assert_int_equal(differences.resets + differences.repeated, 0);
    assert_same(differences.begin_rounds, 600); /* 100 rounds of each label are in no window */
}

TEST(other_observations_pass)
{
    spec_observation o = total(1, 50);
    o.kind = SPEC_OBSERVED_REQUEST;
    put(&o);
    o.kind = SPEC_OBSERVED_WINDOW;
    put(&o);
    finish();
    assert_int_equal(n, 2);
    assert_int_equal(window[0].kind, SPEC_OBSERVED_REQUEST);
    assert_same(window[1].rounds, 50);
}

TEST(a_single_scrape_is_an_average)
{
    spec_observation o = total(9, 100);
    put(&o);
    put(&o); /* the same again */
    o = total(2, 40);
    put(&o);
    assert_int_equal(n, 0);
    finish();
    assert_int_equal(n, 2);
    is_window(0, 9, 100); /* ordered by their first scrapes */
    is_window(1, 2, 40);
    assert_same(differences.begin_rounds, 0);
    assert_int_equal(differences.repeated, 1);
}

TEST(a_counter_that_falls_begins_again)
{
    static const double rounds[] = {100, 140, 60, 90, 8};
    for (int i = 0; i < 5; i++) {
        const spec_observation o = total(1, rounds[i]);
        put(&o);
    }
    finish();
    assert_int_equal(n, 4);
    is_window(0, 1, 40);
    is_window(1, 1, 60);
    is_window(2, 1, 30);
    is_window(3, 1, 8);
    assert_int_equal(differences.resets, 2);
    assert_same(differences.begin_rounds, 100);
}

/* A single scrape before a restart is evidence by itself. */
TEST(an_average_is_handed_on_before_a_new_start)
{
    spec_observation o = total(1, 100);
    put(&o);
    o = total(1, 60);
    put(&o);
    finish();
    assert_int_equal(n, 2);
    is_window(0, 1, 100);
    is_window(1, 1, 60);
    assert_same(differences.begin_rounds, 0);
}

TEST(every_counter_shows_a_new_start)
{
    for (int c = 0; c < 8; c++) {
        begin(NULL);
        spec_observation o = total(1, 100);
        double *const counter[] = {&o.rounds_high, &o.passes,  &o.drafted,   &o.accepted,
                                   &o.emitted,     &o.seconds, &o.passed[0], &o.passed[1]};
        put(&o);
        o = total(1, 200);
        if (c == 0) o.rounds = o.rounds_low = 99;
        *counter[c] = c >= 5 ? 0.5 : 99;
        put(&o);
        assert_int_equal(differences.resets, 1);
        assert_int_equal(n, 2);
        spec_counter_differences_free(&differences);
    }
    spec_observation o = total(1, 100); /* fewer depths */
    begin(NULL);
    put(&o);
    o = total(1, 200);
    o.depths = 1;
    put(&o);
    assert_int_equal(differences.resets, 1);
}

TEST(equal_scrapes_leave_out_their_time)
{
    spec_observation o = total(1, 100);
    put(&o);
    o.seconds = 1000; /* idle since */
    put(&o);
    o = total(1, 140);
    o.seconds = 1004;
    put(&o);
    assert_int_equal(n, 1);
    is_window(0, 1, 40);
    assert_int_equal(differences.repeated, 1);
}

TEST(a_counter_is_given_in_both_scrapes_or_not_at_all)
{
    spec_observation o = total(1, 100);
    o.passes = NAN;
    o.depths = 0;
    put(&o);
    o = total(1, 140);
    o.seconds = NAN;
    o.K = 4;
    put(&o);
    o = total(1, 200);
    o.K = 4;
    put(&o);
    assert_int_equal(n, 2);
    assert_nan(window[0].passes);
    assert_nan(window[0].seconds);
    assert_int_equal(window[0].depths, 0);
    assert_int_equal(window[0].K, -1); /* 3, then 4 */
    assert_same(window[1].passes, 60);
    assert_nan(window[1].seconds);
    assert_int_equal(window[1].depths, 3);
    assert_int_equal(window[1].K, 4);
    assert_int_equal(differences.resets, 0);
}

/* Rounds are between 95 and 105, then between 94 and 104: that is not a restart, but 0 to 9
 * rounds. */
TEST(rounded_counters_give_a_range)
{
    spec_observation o = total(1, 100);
    o.rounds_low = 95;
    o.rounds_high = 105;
    put(&o);
    o.rounds = 99;
    o.rounds_low = 94;
    o.rounds_high = 104;
    o.passed[0] = 70;
    put(&o);
    assert_int_equal(differences.resets, 0);
    assert_int_equal(n, 1);
    assert_same(window[0].rounds, 0);
    assert_same(window[0].rounds_low, 0);
    assert_same(window[0].rounds_high, 9);
    assert_same(window[0].passed[0], 0);
    o.rounds = 93;
    o.rounds_low = 93;
    o.rounds_high = 93.5; /* below all of 94 to 104 */
    put(&o);
    assert_int_equal(differences.resets, 1);
}

TEST(many_labels_are_refused)
{
    spec_error error = {""};
    for (uint64_t i = 0; i < SPEC_COUNTER_LABELS; i++) {
        const spec_observation o = total(i * 0x9e3779b97f4a7c15, 5);
        put(&o);
    }
    const spec_observation o = total(1, 5);
    const spec_observer to = spec_counter_differences_observer(&differences);
    assert_int_equal(to.take(to.self, &o, &error), GSL_EINVAL);
    assert_string_equal(error.text, "counters of more than 4096 engines, models and slots; "
                                    "give fewer files at a time");
}

TEST(errors_of_the_receiver_come_back)
{
    spec_error error = {""};
    spec_observation o = total(1, 5);
    put(&o);
    fail_at = 0;
    assert_fails(spec_counter_differences_end(&differences, &error), GSL_EFAILED,
                 "the receiver fails");
    const spec_observer to = spec_counter_differences_observer(&differences);
    put(&o);
    o = total(1, 7);
    assert_int_equal(to.take(to.self, &o, &error), GSL_EFAILED);
    o = total(1, 4);
    assert_int_equal(to.take(to.self, &o, &error), GSL_EFAILED);
}

TEST(times_busy_seconds_and_steps_are_differences)
{
    spec_observation from = total(1, 100), to = total(1, 140);
    from.seconds = to.seconds = NAN;
    from.time = 1732690000.0, to.time = 1732690002.5;
    from.busy = 10.0, to.busy = 14.5;
    from.steps = 60, to.steps = 85;
    put(&from);
    put(&to);
    assert_int_equal(n, 1);
    assert_same(window[0].seconds, 2.5);
    assert_same(window[0].busy, 4.5);
    assert_same(window[0].steps, 25);
    /* Without a later time no seconds are known; counters that fall mean a restart. */
    from = to;
    to = total(1, 160);
    to.seconds = NAN;
    to.time = from.time, to.busy = 20.0, to.steps = 90;
    put(&to);
    assert_nan(window[1].seconds);
    to = total(1, 170);
    to.seconds = NAN;
    to.busy = 19.0, to.steps = 95;
    put(&to);
    assert_int_equal(differences.resets, 1);
    assert_same(window[2].rounds, 170);
    assert_same(window[2].busy, 19);
    to = total(1, 180);
    to.seconds = NAN;
    to.busy = 19.5, to.steps = 94;
    put(&to);
    assert_int_equal(differences.resets, 2);
}

TEST(a_window_without_a_draft_is_of_plain_decoding)
{
    spec_observation o = total(1, 100);
    put(&o);
    o.emitted += 50;
    o.passes = NAN;
    put(&o);
    assert_int_equal(n, 1);
    assert_int_equal(window[0].K, 0);
    assert_int_equal(window[0].depths, 0);
    assert_same(window[0].emitted, 50);
    /* A single scrape whose counters of drafts are 0. */
    o = total(2, 0);
    o.emitted = 30;
    put(&o);
    finish();
    assert_int_equal(n, 2);
    assert_int_equal(window[1].K, 0);
    /* If nothing was emitted, nothing is known. */
    o = total(3, 100);
    put(&o);
    o.passes += 1;
    put(&o);
    assert_int_equal(window[2].K, 3);
}

/* Before its first request an engine looks as if it decoded plainly. */
TEST(a_length_that_comes_after_no_draft_is_that_of_all_rounds)
{
    spec_observation o = spec_observation_empty(SPEC_OBSERVED_TOTAL, 1);
    o.label = 1;
    o.K = 0;
    o.rounds = o.rounds_low = o.rounds_high = o.passes = o.drafted = o.accepted = o.emitted = 0.0;
    o.seconds = 0.0;
    put(&o);
    o = total(1, 40);
    put(&o);
    assert_int_equal(n, 1);
    is_window(0, 1, 40);
}

/* The times of scrapes give their order; after a restart they are later. */
TEST(scrapes_out_of_order_are_an_error)
{
    const spec_observer to = spec_counter_differences_observer(&differences);
    spec_observation later = total(1, 400), earlier = total(1, 100);
    later.time = 1770000060.0;
    earlier.time = 1770000000.0;
    put(&later);
    assert_fails(to.take(to.self, &earlier, &error), GSL_EINVAL,
                 "scrapes are out of order: # time 1770000000 follows 1770000060; give them in "
                 "order of time");
}

SUITE(.before_each = begin, .after_each = end);
