/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/groups.h"
#include "tests/support/child.h"
#include "tests/support/contexts.h"
#include "tests/support/support.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 1000 };

typedef struct {
    uint64_t fails_at, refuses_at; /* the first group whose _compute fails, and the first one
                                    * refused */
    uint64_t slow, fast; /* with threads, the slow group ends after the fast one; both may be 0 */
    atomic_uint computed[MOST];
    bool misplaced;
    char taken[16 * MOST]; /* the results, in the order in which they are taken */
    double share;
} work;

static int compute(void *self, char **ret_text, uint64_t group, spec_error *error)
{
    work *w = self;
    atomic_fetch_add(&w->computed[group], 1);
    if (w->slow != w->fast && (group == w->slow || group == w->fast)) {
        const uint64_t other = group == w->slow ? w->fast : w->slow;
        for (int i = 0; i < 20 && w->computed[other] == 0; i++) spec_pause(2);
        spec_pause(group == w->slow ? 40 : 5);
    }
    if (group >= w->fails_at)
        return spec_fail(error, GSL_EDOM, "group %llu", (unsigned long long)group);
    return asprintf(ret_text, "%llu ", (unsigned long long)group) > 0 ? GSL_SUCCESS : GSL_ENOMEM;
}

static int add(void *self, const char *text, spec_error *error)
{
    work *w = self;
    if (strtoull(text, NULL, 10) == w->refuses_at)
        return spec_fail(error, GSL_EINVAL, "not %s", text);
    strcat(w->taken, text);
    return GSL_SUCCESS;
}

static int take(void *self, uint64_t group, const char *text, spec_error *error)
{
    work *w = self;
    w->misplaced = w->misplaced || strtoull(text, NULL, 10) != group;
    return add(self, text, error);
}

static void hear(void *self, double share)
{
    work *w = self;
    w->misplaced = w->misplaced || !(share > w->share);
    w->share = share;
}

static spec_groups groups_of(work *w, const spec_listener *listener, uint64_t n, int threads)
{
    return (spec_groups){.n = n,
                         .opt_pool = spec_test_pool(threads),
                         .opt_listener = listener,
                         .self = w,
                         .compute = compute,
                         .add = add};
}

TEST(results_are_taken_in_order_by_any_number_of_threads)
{
    for (int threads = 1; threads <= 4; threads++) {
        work w = {.fails_at = MOST, .refuses_at = MOST, .slow = 2, .fast = 3};
        spec_listener listener = {hear, &w};
        char expected[16 * MOST] = "";
        const spec_groups groups = groups_of(&w, &listener, MOST, threads);
        assert_int_equal(spec_groups_add_all(&groups, NULL), GSL_SUCCESS);
        for (int i = 0; i < MOST; i++) {
            sprintf(expected + strlen(expected), "%d ", i);
            assert_int_equal(w.computed[i], 1);
        }
        assert_string_equal(w.taken, expected);
        assert_true(w.share == 1.0 && !w.misplaced);
    }
}

TEST(every_third_group_may_be_left_to_others)
{
    for (int threads = 1; threads <= 2; threads++) {
        work w = {.fails_at = MOST, .refuses_at = MOST};
        const spec_groups groups = groups_of(&w, NULL, 11, threads);
        assert_int_equal(spec_groups_run(&groups, 1, 3, take, &w, NULL), GSL_SUCCESS);
        assert_string_equal(w.taken, "1 4 7 10 ");
        assert_int_equal(spec_groups_run(&groups, 11, 3, take, &w, NULL), GSL_SUCCESS);
        assert_string_equal(w.taken, "1 4 7 10 ");
        assert_false(w.misplaced);
    }
}

/* If many groups fail, the one with the lowest number is reported; all groups before it are
 * taken. */
TEST(the_first_failure_is_returned)
{
    for (int threads = 1; threads <= 5; threads++) {
        const bool later = threads == 5; /* a later group fails after the first one, or before it */
        work w = {.fails_at = 3, .refuses_at = MOST, .slow = later ? 4 : 3, .fast = later ? 3 : 4};
        const spec_groups groups = groups_of(&w, NULL, MOST, threads);
        assert_fails(spec_groups_add_all(&groups, &error), GSL_EDOM, "group 3");
        assert_string_equal(w.taken, "0 1 2 ");
        assert_int_equal(w.computed[MOST - 1], 0); /* a failure ends the run */
    }
}

TEST(a_result_that_is_not_taken_ends_the_run)
{
    for (int threads = 1; threads <= 4; threads++) {
        work w = {.fails_at = MOST, .refuses_at = 5, .slow = 5, .fast = 6};
        const spec_groups groups = groups_of(&w, NULL, MOST, threads);
        assert_fails(spec_groups_add_all(&groups, &error), GSL_EINVAL, "not 5 ");
        assert_string_equal(w.taken, "0 1 2 3 4 ");
    }
}
