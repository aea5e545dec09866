/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the measures that show how far advice on draft lengths is right. */
#include "experiments/measures/coverage.h"
#include "tests/experiments/measures/run_measure.h"
#include "tests/support/child.h"
#include "tests/support/folder.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <string.h>

/* If coverage is .93, the share of 40 intervals is above .65 except with probability 1e-6. */
#define ENOUGH 0.65

/* With a single alpha the truth is known: at alpha .7 and K = 3 a round emits 2.533 tokens. With 8
 * requests, a plain step takes 10.8 ms; a round of 4 tokens takes 13.2 ms and 3 passes of 0.5
 * ms. */
TEST(one_alpha_is_its_own_truth, SLOW)
{
    OWNED(spec_result) result;
    run(&result, "advice", 40,
        "K = 3; windows = 24; output = 1e6; cost = \"step=10ms,token=0.1ms\"; draft_cost = "
        "\"pass=0.5ms\";");
    assert_near(number(&result, 0, "alpha_true"), 0.7, 1e-12);
    assert_near(number(&result, 0, "conditional_true"), 0.7, 1e-12);
    assert_near(number(&result, 0, "tokens_true"), 1.0 + 0.7 + 0.49 + 0.343, 1e-12);
    assert_near(number(&result, 0, "speedup_true"), 2.533 / (14.7 / 10.8), 1e-5);
    assert_true(number(&result, 0, "alpha_held") > ENOUGH);
    assert_true(number(&result, 0, "tokens_held") > ENOUGH);
    assert_true(number(&result, 0, "shorter_held") > ENOUGH);
    assert_true(number(&result, 0, "speedup_held") > ENOUGH);
    assert_true(number(&result, 0, "shorter_K") < 3.0 && number(&result, 0, "longer_K") > 3.0);
}

TEST(intervals_hold_where_requests_differ, SLOW)
{
    OWNED(spec_result) result;
    run(&result, "advice", 40,
        "kind = \"requests\"; log = [\"vllm\", \"sglang\", \"llama.cpp\"]; K = 3;");
    for (size_t row = 0; row < 3; row++) {
        assert_true(number(&result, row, "tokens_held") > ENOUGH);
        assert_true(number(&result, row, "speedup_held") > ENOUGH);
    }
}

TEST(short_drafts_leave_a_range, SLOW)
{
    OWNED(spec_result) result;
    run(&result, "advice", 40, "kind = [\"stop\", \"sees\"]; K = 3; windows = 24;");
    for (size_t row = 0; row < 2; row++) {
        assert_true(number(&result, row, "tokens_held") > ENOUGH);
        assert_true(number(&result, row, "conditional_held") > ENOUGH);
    }
}

TEST(drift_raises_an_alarm_and_constant_acceptance_none, SLOW)
{
    OWNED(spec_result) result;
    run(&result, "advice", 20, "kind = [\"drift\", \"requests\"]; K = 3; windows = 40;");
    assert_true(number(&result, 0, "drift_alarms") > 0.9);
    assert_true(number(&result, 1, "drift_alarms") < 0.3);
}

/* Two of three runs predict what the third has; the longest run alone sets no bounds on a longer
 * length. */
TEST(runs_that_are_asked_for_are_those_that_are_read)
{
    OWNED(spec_result) result;
    run(&result, "advice", 4, "K = 2; second = 5; runs = \"two\"; windows = 12;");
    assert_true(isnan(number(&result, 0, "time_held")));
    assert_true(number(&result, 0, "shorter_K") < 5.0 && number(&result, 0, "shorter_K") != 2.0);
    assert_true(number(&result, 0, "longer_K") > 5.0);
}

/* Of 40 cases some are decided at once, and most after three more runs. */
TEST(decisions_are_right, SLOW)
{
    OWNED(spec_result) result;
    run(&result, "advice_choice", 40, "runs = \"plain+two\";");
    assert_true(number(&result, 0, "decided") > 0.05);
    assert_true(number(&result, 0, "decided_after") > number(&result, 0, "decided"));
    assert_true(number(&result, 0, "right_after") > ENOUGH);
    assert_true(number(&result, 0, "near") > ENOUGH);
    assert_true(number(&result, 0, "further_runs") > 0.0);
}

/* If the table has one peak, and plain decoding is far below it, a sweep has a single best
 * length. */
TEST(a_sweep_is_judged_from_each_of_its_lengths)
{
    OWNED(spec_result) result;
    run(&result, "advice_sweep", 0,
        "speed = [\"160 200 190 170\"]; tokens = [\"1.8 2.4 2.8 3.1\"]; rates = "
        "[\"0.8 0.6 0.4 0.3\"]; plain = 100; log = [\"vllm\", \"llama.cpp\"];");
    for (size_t row = 0; row < 2; row++) {
        assert_same(number(&result, row, "best"), 2.0);
        assert_same(number(&result, row, "starts"), 4.0);
        assert_true(number(&result, row, "near") >= 1.0); /* from K = 1, at most 2 is considered */
    }
    assert_same(number(&result, 0, "pairs"), 6.0);
    assert_true(isnan(number(&result, 1, "pairs")));
}

TEST(wrong_parameters_are_refused)
{
    static const char *const advice[][2] = {
        {"kind = \"request\";", "did you mean 'requests'?"},
        {"log = \"log\";", "log"},
        {"cost = \"roofline?card=H100&parameters=8e9&form=max\";", "must be affine"},
        {"K = 0;", "K"},
        {"second = 4; runs = \"two\";", "must differ from K"},
        {"phi = 1;", "phi"},
        {"log = \"llama.cpp\"; runs = \"plain+two\";", "do not say K"},
        {"windows = 1;", "windows"}};
    static const char *const choice[][2] = {
        {"runs = \"three\";", "runs"}, {"times = \"x\";", "times"}, {"further = 17;", "further"}};
    static const char *const sweep[][2] = {
        {"speed = [\"1 2\"];", "tokens: expected 2 numbers, not 3"},
        {"speed = [\"0 1 2\"];", "speed: '0' is not a number from 0.001 to"},
        {"speed = [\"\"];", "speed: expected 16 numbers, not 0"},
        {"from = 2;", "rates: expected 4 numbers, not 3"},
        {"from = 16;", "from: lengths up to 18 are over 16"},
        {"log = \"x\";", "log"}};
    assert_grids_refused("advice", advice, sizeof advice / sizeof *advice);
    assert_grids_refused("advice_choice", choice, sizeof choice / sizeof *choice);
    assert_grids_refused("advice_sweep", sweep, sizeof sweep / sizeof *sweep);
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
