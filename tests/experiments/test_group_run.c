/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A team of one process: checks what the leader asks for and what a member returns. */
#include "experiments/group_run.h"
#include "tests/support/support.h"

#include <stdlib.h>
#include <string.h>

static char said[4096]; /* a log of what the team, or the groups, were asked for and returned */

static void say(const char *format, unsigned long long a, unsigned long long b)
{
    sprintf(said + strlen(said), format, a, b);
}

static int take(void *self, char **ret_bytes, size_t *ret_size, const spec_task *task, uint64_t end,
                const volatile int *opt_stop, spec_error *error)
{
    (void)self;
    (void)opt_stop;
    say("take %llu.%llu", task->list, task->item);
    say(" of %llu; ", end, 0);
    if (task->item == 3) return spec_fail(error, GSL_EFAILED, "a rank left");
    *ret_bytes = strdup("sum");
    *ret_size = 3;
    return *ret_bytes != NULL ? GSL_SUCCESS : GSL_ENOMEM;
}

/* These are what the leader hands out. */
static const spec_task dealt[] = {{5, 0}, {5, 2}, {6, 0}};

static bool next(void *self, spec_task *ret)
{
    size_t *at = self;
    if (++*at == sizeof dealt / sizeof *dealt) return false;
    *ret = dealt[*at];
    return true;
}

static void give(void *self, const char *bytes, size_t size)
{
    (void)self;
    assert_true(strlen(bytes) == size);
    strcat(strcat(said, bytes), "; ");
}

static int compute(void *self, char **ret_text, uint64_t group, spec_error *error)
{
    (void)self;
    if (group == 9) return spec_fail(error, GSL_EDOM, "no group 9");
    return asprintf(ret_text, "sum of %llu", (unsigned long long)group) > 0 ? GSL_SUCCESS
                                                                            : GSL_ENOMEM;
}

static int add(void *self, const char *text, spec_error *error)
{
    (void)self;
    (void)error;
    strcat(strcat(said, text), "; ");
    return GSL_SUCCESS;
}

static const spec_grid no_grid;
static const spec_point point = {.grid = &no_grid, .index = 4};

static spec_groups groups(uint64_t n)
{
    return (spec_groups){.n = n, .compute = compute, .add = add};
}

TEST(without_a_team_the_groups_are_computed_here)
{
    const spec_groups three = groups(3);
    spec_group_run run = {.opt_team = NULL};
    said[0] = '\0';
    assert_int_equal(spec_group_run_point(&run, &three, &point, NULL), GSL_SUCCESS);
    assert_string_equal(said, "sum of 0; sum of 1; sum of 2; ");
}

TEST(groups_may_be_counted_alone)
{
    const spec_groups three = groups(3);
    spec_group_run run = {.counts = true};
    said[0] = '\0';
    assert_int_equal(spec_group_run_point(&run, &three, &point, NULL), GSL_CONTINUE);
    assert_true(run.counted == 3);
    assert_string_equal(said, "");
}

/* In shard 2/3 of the grid, point 4 is the second one. */
TEST(a_leader_adds_what_members_give)
{
    const spec_groups three = groups(3), four = groups(4);
    const spec_team team = {.leads = true, .take = take};
    spec_group_run run = {.opt_team = &team, .shard = {2, 3}};
    said[0] = '\0';
    assert_int_equal(spec_group_run_point(&run, &three, &point, NULL), GSL_SUCCESS);
    assert_string_equal(said, "take 2.0 of 3; sum; take 2.1 of 3; sum; take 2.2 of 3; sum; ");
    run.shard = (spec_shard){0};
    said[0] = '\0';
    assert_fails(spec_group_run_point(&run, &four, &point, &error), GSL_EFAILED, "a rank left");
    assert_non_null(strstr(said, "take 5.3 of 4; "));
}

/* It stops at the groups of another point. */
TEST(a_member_computes_the_groups_that_are_dealt)
{
    const spec_groups ten = groups(10);
    size_t at = 0;
    const spec_team team = {.self = &at, .next = next, .give = give};
    spec_group_run run = {.opt_team = &team, .task = dealt[0], .more = true};
    said[0] = '\0';
    assert_true(spec_group_run_task_point(&run.task) == 4);
    assert_int_equal(spec_group_run_point(&run, &ten, &point, NULL), GSL_CONTINUE);
    assert_string_equal(said, "sum of 0; sum of 2; ");
    assert_true(run.more && run.task.list == 6);
    run.writer.part = (spec_shard){2, 4}; /* groups 1, 5 and 9 */
    said[0] = '\0';
    run.task = (spec_task){6, 1};
    at = 0;
    assert_int_equal(spec_group_run_point(&run, &ten, &point, NULL), GSL_CONTINUE);
    assert_string_equal(said, "sum of 5; ");
    run.task = (spec_task){6, 2};
    assert_fails(spec_group_run_point(&run, &ten, &point, &error), GSL_EDOM, "no group 9");
    assert_true(spec_group_run_task_point(&(spec_task){0, 7}) == 7);
}

TEST(more_parts_than_groups_are_refused)
{
    const spec_groups three = groups(3);
    spec_group_run run = {.writer = {.part = {1, 4}}};
    assert_fails(spec_group_run_point(&run, &three, &point, &error), GSL_EINVAL,
                 "--batches 1/4: this point has 3 batches; use at most that many parts");
}
