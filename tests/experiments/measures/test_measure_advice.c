/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The measures that show how far advice on draft lengths is right. */
#include "experiments/measures/coverage.h"
#include "tests/experiments/measures/run_measure.h"
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

/* A share of 40 intervals with coverage .93 is above .65 but for a chance of 1e-6. */
#define ENOUGH 0.65

TEST(intervals_hold_where_independent_ones_fail)
{
    OWNED(spec_result) result;
    run(&result, "advice", 40,
        "kind = \"requests\"; source = [\"windows\", \"requests\"]; K = 3; windows = 30; "
        "seconds = 2; requests = 60;");
    for (size_t row = 0; row < 2; row++) {
        assert_true(number(&result, row, "alpha_held") > ENOUGH);
        assert_true(number(&result, row, "tokens_held") > ENOUGH);
        assert_true(number(&result, row, "conditional_held") > ENOUGH);
        assert_true(number(&result, row, "speedup_held") > ENOUGH);
        assert_true(number(&result, row, "alpha_independent") < 0.6);
        assert_true(number(&result, row, "design_effect") > 5.0);
    }
}

/* The truth of one alpha is known: at alpha .7 and K 3 a round emits 2.533 tokens. */
TEST(one_alpha_is_its_own_truth)
{
    OWNED(spec_result) result;
    run(&result, "advice", 40, "source = \"rounded\"; K = 3; windows = 24; output = 1e6;");
    assert_near(number(&result, 0, "alpha_true"), 0.7, 1e-12);
    assert_near(number(&result, 0, "conditional_true"), 0.7, 1e-12);
    assert_near(number(&result, 0, "tokens_true"), 1.0 + 0.7 + 0.49 + 0.343, 1e-12);
    /* 8 requests: plain 10.8 ms; a round of 4 tokens 13.2 ms and 3 passes of 0.5 ms */
    assert_near(number(&result, 0, "speedup_true"), 2.533 / (14.7 / 10.8), 1e-5);
    assert_true(number(&result, 0, "alpha_held") > ENOUGH);
    assert_true(number(&result, 0, "alpha_independent") > ENOUGH);
    assert_within(number(&result, 0, "design_effect"), 1.0, 0.2);
    assert_same(number(&result, 0, "unread"), 0.0);
}

TEST(short_drafts_leave_a_range)
{
    OWNED(spec_result) result;
    run(&result, "advice", 40, "kind = [\"stop\", \"sees\"]; K = 3; windows = 24;");
    for (size_t row = 0; row < 2; row++) {
        assert_true(number(&result, row, "tokens_held") > ENOUGH);
        assert_true(number(&result, row, "conditional_held") > ENOUGH);
        assert_true(number(&result, row, "conditional_independent") < 0.5);
    }
}

TEST(drift_raises_an_alarm_and_constant_acceptance_none)
{
    OWNED(spec_result) result;
    run(&result, "advice", 20, "kind = [\"drift\", \"requests\"]; K = 3; windows = 40;");
    assert_true(number(&result, 0, "drift_alarms") > 0.9);
    assert_true(isnan(number(&result, 0, "alpha_held")));
    assert_true(number(&result, 1, "drift_alarms") < 0.3);
}

TEST(decisions_are_right, SLOW)
{
    OWNED(spec_result) result;
    run(&result, "advice_choice", 40, "runs = [\"K\", \"plain+two\"]; windows = 40; steps = 100;");
    assert_same(number(&result, 0, "decided"), 0.0);
    assert_true(number(&result, 0, "undecided_right") < 0.7);
    assert_true(number(&result, 0, "decided_after") > 0.5);
    assert_true(number(&result, 0, "further_runs") >= 1.0);
    assert_true(number(&result, 1, "decided") > 0.3);
    assert_true(number(&result, 1, "right") > ENOUGH);
    assert_true(number(&result, 1, "right_after") > ENOUGH);
    assert_true(number(&result, 1, "decided_after") >= number(&result, 1, "decided"));
}

/* 40 requests of alpha near .9 and near .4: their own files say so. */
TEST(halves_of_requests_predict_each_other)
{
    OWNED(spec_result) result;
    FILE *file = fopen("accepted.txt", "w");
    assert_non_null(file);
    for (int r = 0; r < 40; r++)
        for (int i = 0; i < 30; i++)
            fprintf(file, "%d%c", (r % 2 == 0 ? 3 : 0) + (i * 7 + r) % 3, i < 29 ? ' ' : '\n');
    fclose(file);
    run(&result, "advice_halves", 200, "accepted = \"accepted.txt\"; K = [2, 5];");
    assert_int_equal(result.table.n_rows, 2);
    /* of drafts of 2 tokens, even requests accept 2 and odd ones 0, 1 or 2 in turn */
    assert_near(number(&result, 0, "emitted"), 1.0 + 0.5 * (2.0 + 1.0), 1e-12);
    for (size_t row = 0; row < 2; row++) {
        assert_same(number(&result, row, "requests"), 40.0);
        assert_true(number(&result, row, "alpha_held") > 0.85);
        assert_true(number(&result, row, "tokens_held") > 0.85);
        assert_true(number(&result, row, "alpha_independent") < 0.7);
    }
}

TEST(wrong_parameters_are_refused)
{
    static const char *const advice[][2] = {
        {"kind = \"request\";", "did you mean 'requests'?"},
        {"source = \"log\";", "source"},
        {"cost = \"roofline?card=H100&parameters=8e9&form=max\";", "must be affine"},
        {"K = 0;", "K"},
        {"windows = 1;", "windows"}};
    static const char *const choice[][2] = {{"runs = \"three\";", "runs"},
                                            {"further = 17;", "further"}};
    static const char *const halves[][2] = {{"accepted = \"none.txt\";", "accepted"},
                                            {"accepted = \"few.txt\";", "halves need 4"}};
    spec_file_write("few.txt", "1 2\n0 1\n");
    assert_grids_refused("advice", advice, sizeof advice / sizeof *advice);
    assert_grids_refused("advice_choice", choice, sizeof choice / sizeof *choice);
    assert_grids_refused("advice_halves", halves, sizeof halves / sizeof *halves);
}

TEST(coverage_is_compared_with_a_band)
{
    assert_same(spec_coverage_z(0.95, false, 1000.0), 0.0);
    assert_near(spec_coverage_z(0.90, false, 1000.0), -0.03 / sqrt(0.93 * 0.07 / 1000.0), 1e-12);
    assert_near(spec_coverage_z(1.0, false, 1000.0), 0.03 / sqrt(0.97 * 0.03 / 1000.0), 1e-12);
    assert_same(spec_coverage_z(1.0, true, 1000.0), 0.0);
    assert_nan(spec_coverage_z(NAN, false, 1000.0));
    assert_same(spec_coverage_holds(0.1, 0.3, 0.3), 1.0);
    assert_same(spec_coverage_holds(0.1, 0.3, 0.4), 0.0);
    assert_nan(spec_coverage_holds(NAN, 0.3, 0.4));
}

SUITE(.setup = spec_folder_enter, .teardown = spec_folder_leave);
