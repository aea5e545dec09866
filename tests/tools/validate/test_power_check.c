/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks that the TV which reports call detectable is detected: at every place, in both directions,
 * by finite and by endless runs. */
#include "tools/validate/power_check.h"

#include "tests/support/contexts.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <gsl/gsl_cdf.h>
#include <string.h>

/* A place fails if such a small count has a probability below UNLIKELY at power .9, which is 1e-6
 * over five places. */
#define UNLIKELY 2e-7

static void check(const char *const *only, uint64_t draws, int runs, bool endless, int least_lines)
{
    spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
    plan.opt_pool = spec_test_pool(0);
    spec_power_check_result result;
    int found[SPEC_PLACES] = {0}, all[SPEC_PLACES] = {0}, lines = 0;
    plan.opt_only = only;
    plan.draws = draws;
    plan.seed = spec_test_seed();
    plan.endless = endless;
    assert_works(spec_power_check(&result, runs, &plan, &error));
    for (int i = 0; i < result.n; i++) {
        const spec_power_check_line *line = &result.line[i];
        found[line->bias.place] += line->found;
        all[line->bias.place] += line->runs;
        lines += line->runs > 0;
        assert_true(line->bias.tv > 0.0 && line->bias.tv < 1.0 && line->low <= line->high);
    }
    assert_true(lines >= least_lines);
    for (int place = 0; place < SPEC_PLACES; place++) {
        printf("%-10s found in %d of %d runs\n", spec_place_names[place], found[place], all[place]);
        if (all[place] == 0) continue;
        assert_true(gsl_cdf_binomial_P((unsigned)found[place], 0.9, (unsigned)all[place]) >
                    UNLIKELY);
    }
    spec_power_check_free(&result);
}

/* If tokens that complete texts were counted, later places would be found in only 20 of 60 runs;
 * without the share of corrections among a state's tokens, corrections would be found in 17 of
 * 50. */
TEST(the_reported_tv_is_detected, SLOW)
{
    static const char *const only[] = {"plain-4", "fixed-4", "blind-zeros-8", NULL};
    check(only, 20000, 10, false, 24);
}

TEST(endless_runs_find_what_they_say, SLOW)
{
    static const char *const only[] = {"blind-zeros-8", NULL};
    check(only, 20000, 10, true, 8);
}

TEST(the_result_is_the_same_for_any_number_of_threads)
{
    static const char *const only[] = {"two-2", NULL};
    spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
    plan.opt_pool = spec_test_pool(0);
    spec_power_check_result one, more;
    plan.opt_only = only;
    plan.draws = 10000;
    plan.opt_pool = spec_test_pool(1);
    assert_int_equal(spec_power_check(&one, 3, &plan, NULL), GSL_SUCCESS);
    plan.opt_pool = spec_test_pool(3);
    assert_int_equal(spec_power_check(&more, 3, &plan, NULL), GSL_SUCCESS);
    assert_int_equal(one.n, more.n);
    for (int i = 0; i < one.n; i++) {
        assert_int_equal(one.line[i].found, more.line[i].found);
        assert_same(one.line[i].bias.tv, more.line[i].bias.tv);
    }
    spec_power_check_free(&one);
    spec_power_check_free(&more);
}

/* 83 of 100 has the interval .742 to .898, so a single line is short of .9, but one of eight lines
 is not. */
TEST(a_line_among_many_is_judged_with_the_others)
{
    spec_power_check_line line[8];
    for (int i = 0; i < 8; i++) line[i] = (spec_power_check_line){.runs = 100, .found = 92};
    line[3].found = 83;
    assert_int_equal(spec_power_check_short(line, 8, 0.9), 0);
    assert_int_equal(spec_power_check_short(&line[3], 1, 0.9), 1);
    for (int i = 0; i < 8; i++)
        if (i != 3) line[i].runs = 0;
    assert_int_equal(spec_power_check_short(line, 8, 0.9), 1);
    line[3].found = 90;
    assert_int_equal(spec_power_check_short(line, 8, 0.9), 0);
}

static volatile sig_atomic_t stop;

static void stop_after_five(void *self, const char *what, uint64_t done, uint64_t all, double log_e)
{
    (void)self;
    (void)what;
    (void)all;
    (void)log_e;
    if (done >= 5) stop = 1;
}

TEST(a_stopped_check_has_the_runs_that_ended)
{
    static const char *const only[] = {"two-2", NULL};
    spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
    spec_power_check_result result;
    stop = 0;
    plan.opt_only = only;
    plan.draws = 10000;
    plan.opt_pool = spec_test_pool(1);
    plan.progress = stop_after_five;
    plan.limits.opt_stop = &stop;
    assert_works(spec_power_check(&result, 3, &plan, &error));
    assert_int_equal(result.done, 5);
    assert_true(result.all > 5);
    assert_int_equal(result.n, 2);
    assert_int_equal(result.line[0].runs, 3);
    assert_int_equal(result.line[1].runs, 2);
    spec_power_check_free(&result);
}

TEST(unknown_names_are_errors)
{
    static const char *const only[] = {"plain-5", NULL};
    spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
    plan.opt_pool = spec_test_pool(0);
    spec_power_check_result result;
    plan.opt_only = only;
    assert_fails_with(spec_power_check(&result, 1, &plan, &error), GSL_EINVAL, "'plain-5'");
    assert_int_equal(result.n, 0);
}
