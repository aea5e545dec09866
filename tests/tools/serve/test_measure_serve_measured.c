/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks the measures `serve_measured` and `serve_claims`: their rows, verdicts and refusals. */
#include "tests/experiments/measures/run_measure.h"
#include "tests/support/folder.h"
#include "tests/support/near.h"
#include "tests/support/support.h"

#include <math.h>

enum { REQUESTS = 40, LEVELS = 14, ROWS = 2 * 3 * LEVELS };

#define COST "cost = \"step=10ms,token=100us,kv=1us\"; "

/* Makes requests that an engine with this cost serves alone; every second one takes `longer` times
 * as long. */
static void write_trace(const char *path, double longer)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    for (int i = 0; i < REQUESTS; i++) {
        const int prompt = 20 + 37 * i % 400, output = 2 + 53 * i % 90;
        const double slow = i % 2 == 0 ? 1.0 : longer, arrival = 100.0 * i;
        double time = 0.010 + 100e-6 * prompt;
        fprintf(out,
                "{\"arrival_time\": %.9f, \"queued_ts\": %.9f, \"input_toks\": %d, "
                "\"output_toks\": %d, \"first_token_ts\": %.9f, ",
                arrival, arrival + 7.0, prompt, output, arrival + 7.0 + slow * time);
        for (int k = 1; k < output; k++) time += 0.010 + 100e-6 + 1e-6 * (prompt + k - 1);
        fprintf(out, "\"last_token_ts\": %.9f}\n", arrival + 7.0 + slow * time);
    }
    assert_int_equal(fclose(out), 0);
}

static int enter(void **state)
{
    if (spec_folder_enter(state) != 0) return -1;
    write_trace("alone.jsonl", 1.0);
    write_trace("slower.jsonl", 1.1);
    return 0;
}

/* Returns the text of a cell; "" if it is empty. */
static const char *word(const spec_result *result, size_t row, const char *column)
{
    const char *cell = text(result, row, column);
    return cell != NULL ? cell : "";
}

TEST(every_half_and_time_has_its_rows)
{
    static const char *const times[] = {"ttft", "tpot", "latency"};
    OWNED(spec_result) result;
    run(&result, "serve_measured", 0, COST "trace = \"alone.jsonl\"; ");
    assert_int_equal(result.table.n_rows, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        assert_string_equal(text(&result, i, "half"), i < ROWS / 2 ? "first" : "second");
        assert_string_equal(text(&result, i, "time"), times[i / LEVELS % 3]);
        assert_string_equal(text(&result, i, "statistic"), i % LEVELS == 0 ? "mean" : "quantile");
        if (i % LEVELS > 1)
            assert_true(number(&result, i, "measured_ms") >= number(&result, i - 1, "measured_ms"));
        /* With a given cost there is no verdict; the engine's times are floats. */
        assert_within(number(&result, i, "error"), 0.0, 1e-5);
        assert_string_equal(word(&result, i, "verdict"), "");
        assert_nan(number(&result, i, "step_ms"));
    }
    assert_int_equal(result.holds + result.fails, 0);
}

TEST(a_fit_judges_the_other_half)
{
    static const char *const traces[] = {"trace = \"alone.jsonl\"; ", "trace = \"slower.jsonl\"; "};
    for (int slower = 0; slower < 2; slower++) {
        OWNED(spec_result) result;
        run(&result, "serve_measured", 0, traces[slower]);
        assert_int_equal(result.table.n_rows, ROWS);
        for (size_t i = 0; i < ROWS; i++) {
            const bool judged = i >= ROWS / 2 && (i % LEVELS == 0 || i % LEVELS == LEVELS - 1);
            const char *limit = i % LEVELS == 0 ? "within 3 %" : "within 5 %";
            const char *verdict = word(&result, i, "verdict");
            if (!judged)
                assert_string_equal(verdict, "");
            else
                assert_string_equal(verdict + 4 * (slower == 1), limit);
            if (judged && slower == 1) assert_memory_equal(verdict, "NOT ", 4);
            if (judged)
                assert_within(number(&result, i, "error"), slower == 1 ? 1.0 / 1.1 - 1.0 : 0.0,
                              2e-3);
        }
        assert_near(number(&result, 0, "step_ms"), 10.0, 0.01);
        assert_near(number(&result, 0, "token_us"), 100.0, 0.03);
        assert_near(number(&result, 0, "kv_ns"), 1000.0, 0.1);
        assert_int_equal(slower == 1 ? result.fails : result.holds, 6);
    }
}

TEST(a_fit_to_the_first_half_in_time_has_no_verdict)
{
    OWNED(spec_result) result;
    run(&result, "serve_measured", 0, "trace = \"alone.jsonl\"; split = \"time\"; ");
    for (size_t i = 0; i < ROWS; i++) assert_string_equal(word(&result, i, "verdict"), "");
    assert_string_equal(text(&result, ROWS - 1, "half"), "predicted");
}

TEST(claims_are_settled)
{
    static const struct {
        const char *grid, *settled;
        double value;
    } claims[] = {
        {"quantity = \"floor?alpha=0.6&K=5\"; printed = 0.397; ", "reproduced", 0.397226667},
        {"quantity = \"floor?alpha=0.6&K=5\"; printed = 0.41; ", "differs", 0.397226667},
        {"quantity = \"floor?alpha=0.6&K=5\"; printed = 0.41; within = 0.05; ", "reproduced",
         0.397226667},
        {"quantity = \"floor?alpha=0.6&K=5\"; printed = 1; relation = \"at least\"; ", "refuted",
         0.397226667},
        {"quantity = \"implied_round?alpha=0.8&K=3&speedup=1.81\"; ", "", 1.630939227},
    };
    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++) {
        OWNED(spec_result) result;
        run(&result, "serve_claims", 0, claims[i].grid);
        assert_int_equal(result.table.n_rows, 1);
        assert_string_equal(word(&result, 0, "settled"), claims[i].settled);
        assert_near(number(&result, 0, "value"), claims[i].value, 1e-8);
        assert_nan(number(&result, 0, "value_low"));
    }
}

TEST(wrong_parameters_are_refused)
{
    static const char *const measured[][2] = {
        {"trace = \"none.jsonl\"", "trace: none.jsonl"},
        {"trace = \"alone.jsonl\"; split = \"half\"", "split: 'half' is not alternate or time"},
        {"trace = \"alone.jsonl\"; cost = \"bananas\"", "cost: "},
        {"trace = \"alone.jsonl\"; asynchronous = 2", "asynchronous"},
    };
    static const char *const claims[][2] = {
        {"quantity = \"floors?K=1\"", "there is no quantity 'floors'"},
        {"quantity = \"floor?K=1&beta=3\"", "beta"},
        {"quantity = \"floor?K=1&alpha=0.5\"; relation = \"about\"", "relation: 'about'"},
        {"quantity = \"floor?K=1\"", "a number that the claim needs"},
        {"quantity = \"replayed_speedup?K=1&batch=2\"", "accepted: give a file"},
    };
    assert_grids_refused("serve_measured", measured, sizeof measured / sizeof *measured);
    assert_grids_refused("serve_claims", claims, sizeof claims / sizeof *claims);
}

SUITE(.setup = enter, .teardown = spec_folder_leave);
