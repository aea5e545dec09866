/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the runs of a calibration as texts. tests/tools/validate/test_validate_report.c checks its
 * numbers. */
#include "tests/support/contexts.h"
#include "tests/support/support.h"
#include "tools/validate/calibrate.h"

#include <stdlib.h>
#include <string.h>

enum { RUNS = 5 };

static const char *const only[] = {"two-2", "plain-4", NULL};

static spec_validate_plan made(void)
{
    spec_validate_plan plan = SPEC_VALIDATE_PLAN_DEFAULT;
    plan.draws = 4000;
    plan.opt_only = only;
    return plan;
}

/* Returns the texts of the runs, which the caller frees. */
static void make_texts(char *text[RUNS], const spec_validate_plan *plan)
{
    OWNED(spec_calibration) c;
    assert_int_equal(spec_calibration_init(&c, "rule:token", RUNS, plan, NULL), GSL_SUCCESS);
    const spec_groups runs = spec_calibration_runs(&c);
    for (uint64_t i = RUNS; i-- > 0;) /* in any order */
        assert_int_equal(runs.compute(runs.self, &text[i], i, NULL), GSL_SUCCESS);
}

TEST(texts_of_other_machines_give_the_same_calibration)
{
    const spec_validate_plan plan = made();
    spec_calibration whole, merged;
    char *text[RUNS];
    make_texts(text, &plan);
    assert_int_equal(spec_calibrate(&whole, "rule:token", RUNS, &plan, NULL), GSL_SUCCESS);
    assert_int_equal(spec_calibration_init(&merged, NULL, RUNS, NULL, NULL), GSL_SUCCESS);
    const spec_groups runs = spec_calibration_runs(&merged);
    for (int i = 0; i < RUNS; i++) {
        assert_int_equal(runs.add(runs.self, text[i], NULL), GSL_SUCCESS);
        free(text[i]);
    }
    spec_calibration_finish(&merged);
    assert_int_equal(merged.failed, whole.failed);
    assert_int_equal(merged.inconclusive, whole.inconclusive);
    assert_memory_equal(merged.p, whole.p, RUNS * sizeof *merged.p);
    assert_memory_equal(merged.log_e, whole.log_e, RUNS * sizeof *merged.log_e);
    assert_true(whole.n_tests > 3);
    assert_int_equal(merged.n_tests, whole.n_tests);
    for (int k = 0; k < whole.n_tests; k++) {
        const spec_calibration_test *a = &whole.test[k], *b = &merged.test[k];
        assert_string_equal(a->name, b->name);
        assert_true(a->n == b->n && a->n >= RUNS && a->ks == b->ks && a->ks_p == b->ks_p);
        assert_true(a->largest_e == b->largest_e);
        assert_memory_equal(a->p, b->p, a->n * sizeof *a->p);
    }
    spec_calibration_free(&whole);
    spec_calibration_free(&merged);
}

TEST(another_text_is_no_run)
{
    const spec_validate_plan plan = made();
    OWNED(spec_calibration) c;
    char *text[RUNS], wrong[100];
    make_texts(text, &plan);
    assert_int_equal(spec_calibration_init(&c, NULL, 1, NULL, NULL), GSL_SUCCESS);
    const spec_groups runs = spec_calibration_runs(&c);
    const size_t n = strlen(text[0]);
    snprintf(wrong, sizeof wrong, "9%.50s", text[0] + 1); /* an unknown verdict, cut off */
    assert_int_equal(runs.add(runs.self, wrong, NULL), GSL_EINVAL);
    for (size_t i = 0; i < n; i++) {
        FREED char *copy = strdup(text[0]);
        copy[i] = '!';
        if (runs.add(runs.self, copy, NULL) != GSL_EINVAL) fail_msg("added: %s", copy);
    }
    text[0][0] = '9';
    spec_error error;
    assert_int_equal(runs.add(runs.self, text[0], &error), GSL_EINVAL);
    assert_string_equal(error.text, "not a run of a calibration");
    assert_int_equal(runs.add(runs.self, text[1], NULL), GSL_SUCCESS);
    assert_int_equal(runs.add(runs.self, text[2], NULL), GSL_EINVAL); /* one too many */
    for (int i = 0; i < RUNS; i++) free(text[i]);
}

static volatile sig_atomic_t stop;

static void stop_after_three(void *self, const char *what, uint64_t done, uint64_t all,
                             double log_e)
{
    (void)self;
    (void)what;
    (void)all;
    (void)log_e;
    if (done >= 3) stop = 1;
}

TEST(a_stopped_calibration_has_the_runs_that_ended)
{
    spec_validate_plan plan = made();
    OWNED(spec_calibration) c;
    stop = 0;
    plan.opt_pool = spec_test_pool(1);
    plan.progress = stop_after_three;
    plan.limits.opt_stop = &stop;
    assert_works(spec_calibrate(&c, "rule:token", 50, &plan, &error));
    assert_int_equal(c.n, 3);
    assert_true(c.n_tests > 0);
}
