/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/hardware.h"
#include "tests/experiments/measures/run_measure.h"
#include "tests/support/near.h"

#include <math.h>

#define LOAD "alpha = \"0.7\"; rate = 30; requests = 50; prompt = [\"100\"]; output = [\"60\"]; "
#define TARGET "roofline:card=H100,parameters=8B,efficiency=0.8,compute=0.7,overhead=1ms"
#define DRAFT "roofline:card=H100,parameters=1B,efficiency=0.8,compute=0.7,overhead=0.5ms"

static void serve(spec_result *result, const char *cost, const char *draft_cost)
{
    char grid[700];
    snprintf(grid, sizeof grid, LOAD "K = [\"0,3\"]; cost = [\"%s\"]; draft_cost = [\"%s\"]", cost,
             draft_cost);
    run(result, "serve", 1, grid);
    assert_int_equal(result->table.n_rows, 2);
}

/* Second route: the theory for two engines, at both ends of the only setting that is left open. */
TEST(one_open_setting_has_the_theory_of_its_ends)
{
    const spec_span *round = &spec_hardware_find("H100")->share->round;
    const double ends[] = {round->best, round->worst};
    OWNED(spec_result) open;
    double latency[2], speedup[2];
    serve(&open, TARGET, DRAFT);
    for (int i = 0; i < 2; i++) {
        OWNED(spec_result) end;
        char draft[200];
        snprintf(draft, sizeof draft, DRAFT ",round=%.17gs", ends[i]);
        serve(&end, TARGET, draft);
        latency[i] = number(&end, 1, "latency_ms_theory");
        speedup[i] = number(&end, 1, "speedup_theory");
        assert_nan(number(&end, 1, "speedup_least"));
        assert_nan(number(&end, 1, "latency_most_ms"));
    }
    assert_near(number(&open, 1, "latency_least_ms"), latency[0], 1e-9);
    assert_near(number(&open, 1, "latency_most_ms"), latency[1], 1e-9);
    assert_near(number(&open, 1, "speedup_least"), speedup[1], 1e-9);
    assert_near(number(&open, 1, "speedup_most"), speedup[0], 1e-9);
    assert_near(number(&open, 0, "speedup_least"), 1.0, 1e-12);
    assert_near(number(&open, 0, "speedup_most"), 1.0, 1e-12);
}

/* Two open settings with opposite effects: a slow plain step makes speculation pay more. */
TEST(the_range_holds_what_the_defaults_give)
{
    OWNED(spec_result) result;
    serve(&result, "roofline:card=RTX 4090,parameters=4B",
          "roofline:card=RTX 4090,parameters=0.3B");
    for (size_t row = 0; row < 2; row++) {
        assert_true(number(&result, row, "latency_least_ms") <
                    number(&result, row, "latency_ms_theory"));
        assert_true(number(&result, row, "latency_most_ms") >
                    number(&result, row, "latency_ms_theory"));
    }
    assert_true(number(&result, 1, "speedup_least") < number(&result, 1, "speedup_theory"));
    assert_true(number(&result, 1, "speedup_most") > number(&result, 1, "speedup_theory"));
}

/* The slowest H200 is above capacity at a rate that the usual one serves. */
TEST(a_corner_above_capacity_has_no_latency)
{
    OWNED(spec_result) result;
    run(&result, "serve", 1,
        "alpha = \"0.7\"; rate = 25; requests = 60; prompt = [\"1000\"]; output = [\"60\"]; "
        "K = [\"0\"]; cost = [\"roofline:card=H200,parameters=8B\"]");
    assert_true(number(&result, 0, "load") < 0.8);
    assert_true(isfinite(number(&result, 0, "latency_least_ms")));
    assert_true(number(&result, 0, "latency_most_ms") == INFINITY);
}

/* Long outputs have no range, because theory at every corner would take too long. */
TEST(long_outputs_have_no_range)
{
    static const struct {
        const char *output;
        bool has_range;
    } cases[] = {{"512", true}, {"513", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        OWNED(spec_result) result;
        char text[256];
        snprintf(text, sizeof text,
                 "alpha = \"0.7\"; rate = 1; requests = 20; prompt = [\"100\"]; output = [\"%s\"]; "
                 "K = [\"0\"]; cost = [\"roofline:card=H200,parameters=8B\"]",
                 cases[i].output);
        run(&result, "serve", 1, text);
        assert_int_equal(!isnan(number(&result, 0, "latency_least_ms")), cases[i].has_range);
    }
}

/* Costs without theory have no range: form=max, and limits of the engine. */
TEST(without_theory_there_is_no_range)
{
    OWNED(spec_result) result;
    serve(&result, "roofline:card=H100,parameters=8B,form=max", DRAFT);
    assert_nan(number(&result, 1, "speedup_least"));
    assert_nan(number(&result, 1, "latency_least_ms"));
}
