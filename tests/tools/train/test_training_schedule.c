/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans steps that keep to a time limit, by a scripted clock, on machines whose speed changes. */
#include "tools/train/training_schedule.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>

static double now_of(void *self)
{
    return *(double *)self;
}

/* Returns the seconds of a step when this share of the limit has passed. */
static double steady(double share)
{
    (void)share;
    return 0.1;
}

static double slower_half_way(double share)
{
    return share < 0.5 ? 0.1 : 0.25;
}

static double faster_half_way(double share)
{
    return share < 0.5 ? 0.1 : 0.03;
}

static double stalls_near_the_end(double share)
{
    return share < 0.97 ? 0.1 : 0.4;
}

static double few(double share)
{
    (void)share;
    return 36.0;
}

static double restless(double share)
{
    return 0.1 + 0.06 * sin(40.0 * share);
}

typedef struct {
    spec_training_schedule schedule;
    long step;
    double took, largest_jump;
} outcome;

enum { ROWS = 10 };

/* Simulates a run of 240 s with rows of 3 s, whose first step takes `first`. */
static outcome run(double (*seconds)(double share), double first)
{
    double now = 1000.0;
    outcome out = {.schedule = spec_training_schedule_of(600)};
    spec_training_limit limit = {.clock = {now_of, &now},
                                 .begun = now - 5.0, /* texts were sampled */
                                 .seconds = 240.0,
                                 .rows = ROWS,
                                 .row = 3.0};
    double before = 0.0;
    while (out.step < spec_training_schedule_steps(&out.schedule, out.step)) {
        const double took = out.step == 0 ? first : seconds((now - limit.begun) / limit.seconds);
        now += took;
        out.step++;
        spec_training_schedule_follow(&out.schedule, &limit, out.step, took);
        const bool ends = out.step == spec_training_schedule_steps(&out.schedule, out.step);
        const double done = spec_training_schedule_done(&out.schedule, out.step);
        if ((int)(done * ROWS) > (int)(before * ROWS) || ends) now += limit.row;
        if (done - before > out.largest_jump) out.largest_jump = done - before;
        before = done;
    }
    out.took = now - limit.begun;
    return out;
}

TEST(a_training_ends_in_time_whatever_the_machine_does)
{
    static double (*const machines[])(double) = {steady, slower_half_way, faster_half_way,
                                                 stalls_near_the_end, restless};
    static const double measured[] = {0.1, 0.02, 0.5}; /* right, or wrong by a factor of 5 */
    for (int m = 0; m < 5; m++)
        for (int i = 0; i < 3; i++) {
            const outcome out = run(machines[m], measured[i]);
            assert_within(out.took, 240.0, 0.03 * 240.0);
            assert_true(out.took < 240.0 + 1.0);
            /* The rate has fallen to its end, where half a cosine is flat. */
            assert_true(spec_training_schedule_done(&out.schedule, out.step) > 0.9);
            assert_true(out.largest_jump < 0.01);
            assert_true(out.schedule.n <= 1 + 20 + 1);
        }
    const outcome quiet = run(steady, 0.1); /* one plan is enough */
    assert_int_equal(quiet.schedule.n, 1);
    assert_within((double)quiet.step, (240.0 - 5.0 - 30.0) / 0.1, 2.0);
}

TEST(an_impossible_limit_leaves_one_step)
{
    const outcome out = run(steady, 300.0);
    assert_int_equal(out.step, 1);
    assert_int_equal(out.schedule.n, 1);
}

/* A slow, cold first step suggests that only one more step fits, although more do. */
TEST(a_slow_first_step_does_not_end_a_training_of_few_steps)
{
    static const double first[] = {36.0, 70.0, 110.0};
    static const long steps[] = {6, 5, 4};
    for (int i = 0; i < 3; i++) {
        const outcome out = run(few, first[i]);
        assert_int_equal(out.step, steps[i]);
        assert_true(out.took < 240.0 + 1.0 && out.took > 240.0 - 39.0);
        assert_same(spec_training_schedule_done(&out.schedule, out.step), 1.0);
        assert_true(spec_training_schedule_is_valid(&out.schedule));
    }
}

TEST(a_schedule_comes_back_from_its_text)
{
    char text[SPEC_TRAINING_SCHEDULE_TEXT];
    spec_training_schedule again;
    const outcome out = run(slower_half_way, 0.5);
    assert_true(out.schedule.n > 2);
    spec_training_schedule_text(text, &out.schedule);
    assert_int_equal(spec_training_schedule_read(&again, text), GSL_SUCCESS);
    assert_memory_equal(&again, &out.schedule, sizeof again);

    assert_int_equal(spec_training_schedule_read(&again, "1000,760@520"), GSL_SUCCESS);
    assert_int_equal(spec_training_schedule_steps(&again, 519), 1000);
    assert_int_equal(spec_training_schedule_steps(&again, 520), 760);
    assert_same(spec_training_schedule_done(&again, 100), 0.1);
    assert_same(spec_training_schedule_done(&again, 520), 0.52);
    assert_same(spec_training_schedule_done(&again, 640), 0.52 + 0.48 / 2.0);
    assert_same(spec_training_schedule_done(&again, 760), 1.0);

    assert_int_equal(spec_training_schedule_read(&again, "4,6@4"), GSL_SUCCESS); /* went on */
    assert_same(spec_training_schedule_done(&again, 3), 0.75);
    assert_same(spec_training_schedule_done(&again, 4), 0.8);
    assert_same(spec_training_schedule_done(&again, 6), 1.0);
}

TEST(a_text_without_sense_is_refused)
{
    static const char *const texts[] = {
        "",           "0",        "-5",       "1.5",
        "10,",        "10,20",    "10,20@",   "10,20@0",
        "10,20@11",   "10,4@5",   "10@5",     "10,20@5,30@5",
        "3000000000", "10,20@5 ", "10, 20@5", "99999999999999999999",
        "10,5@5,9@5", "10,x@5"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        spec_training_schedule schedule;
        if (spec_training_schedule_read(&schedule, texts[i]) == GSL_SUCCESS)
            fail_msg("'%s' is read", texts[i]);
    }
}
