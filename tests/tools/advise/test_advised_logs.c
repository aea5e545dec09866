/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/advise/advised_logs.h"

#include "tests/support/near.h"
#include "tests/support/support.h"

static spec_counted_case case_of(void)
{
    spec_counted_case c = {.engine = {.output = 200.0,
                                      .batch = 4,
                                      .cost = {.step = 0.04, .token = 4e-4, .draft_pass = 2e-3}}};
    assert_works(spec_counted_case_kind(&c, "one", 0.7, &error));
    return c;
}

static spec_counted_run run_of(spec_counted_log log, int K, uint64_t stream)
{
    return (spec_counted_run){log, K, 40, 10.0, 42, stream};
}

/* At alpha .7 and K = 3 a round emits 2.533 tokens and takes 1.195 plain tokens. */
TEST(the_answer_is_that_of_the_logs)
{
    const spec_counted_case c = case_of();
    for (int log = SPEC_COUNTED_VLLM; log <= SPEC_COUNTED_LLAMACPP; log++) {
        const spec_counted_run run[] = {run_of((spec_counted_log)log, 3, 1),
                                        run_of((spec_counted_log)log, 0, 2)};
        OWNED(spec_advised) advised;
        assert_works(spec_advised_case(&advised, &c, run, 2, 42, &error));
        const int row = spec_advised_row(&advised, 3);
        assert_true(row >= 0);
        const spec_advised_interval tokens =
            spec_advised_interval_of(&advised, row, "tokens_per_round");
        assert_near(tokens.value, 2.533, 0.05);
        assert_true(tokens.low < tokens.value && tokens.value < tokens.high);
        const spec_advised_interval speedup = spec_advised_interval_of(&advised, row, "speedup");
        assert_near(speedup.value, 2.533 / ((40.0 + 0.4 * 16 + 6.0) / (40.0 + 0.4 * 4)), 0.07);
        assert_true(advised.K >= 0);
    }
}

TEST(lengths_that_are_not_printed_have_no_interval)
{
    const spec_counted_case c = case_of();
    const spec_counted_run run = run_of(SPEC_COUNTED_VLLM, 2, 1);
    OWNED(spec_advised) advised;
    assert_works(spec_advised_case(&advised, &c, &run, 1, 42, &error));
    assert_int_equal(spec_advised_row(&advised, 60), -1);
    assert_nan(spec_advised_interval_of(&advised, -1, "speedup").low);
    assert_nan(spec_advised_interval_of(&advised, 0, "no_such").high);
    assert_false(advised.decided);
}

/* If a log with drafts is given as a plain one, it is refused, as a user's would be. */
TEST(logs_that_a_user_could_not_give_are_refused)
{
    const spec_counted_case c = case_of();
    const spec_counted_run drafts = run_of(SPEC_COUNTED_VLLM, 2, 1);
    spec_advised_logs logs = {0};
    OWNED(spec_advised) advised;
    for (int i = 0; i < 2; i++) {
        FILE *out = spec_advised_logs_add(&logs, i == 1, NULL);
        assert_non_null(out);
        assert_works(spec_counted_case_write(out, &c, &drafts, &error));
    }
    assert_fails_with(spec_advised_ask(&advised, &logs, -1, 42, &error), GSL_EINVAL, "--plain");
    spec_advised_logs_free(&logs);
}
